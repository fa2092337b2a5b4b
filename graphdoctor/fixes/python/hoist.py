"""A value that needs no argument of the function is computed once, when the file is imported."""

from __future__ import annotations

import builtins
from collections import Counter

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import is_read
from graphdoctor.fixes.analysis.purity import PURE_BUILTINS, called, words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.core.scope import bound_names, names, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: Functions that give another value in each call, or at another place.
_VARYING = words("""
    _current_frames _getframe choice choices clock currentframe default_rng eval exc_info exec getframeinfo globals id
    input locals monotonic monotonic_ns now open perf_counter perf_counter_ns process_time rand randint randn random
    randrange read sample shuffle sleep stack time time_ns today token_bytes token_hex token_urlsafe urandom utcnow
    uuid1 uuid4 vars
    _get_tracing_state _is_tracing current_device current_process current_stream current_thread get_ident
    get_num_threads get_rank get_worker_info get_world_size getpid is_initialized is_tracing
    POINTER byref c_bool c_char_p c_double c_float c_int c_int64 c_long c_longlong c_size_t c_uint c_uint64 c_ulong
    c_void_p create_string_buffer
""")


#: Functions that ask which hardware there is, or how torch was built: the answer is the same in each call.
_PROBES = words("""
    cudnn_is_acceptable device_count get_device_capability get_device_name get_device_properties is_available
    is_bf16_supported is_built is_macos_or_newer is_tf32_supported
""")


def hoist_probe(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.cuda.device_count()`` in compiled code is asked when the file is imported."""
    if not isinstance(hit.place, cst.Call) or called(hit.place) not in _PROBES:
        return Refusal(
            "The answer may change from call to call; query it in the code that calls the compiled function."
        )
    return hoist_constant(hit, editor)


def hoist_constant(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``n = zlib.crc32(b"abc")`` in a function becomes a constant of the module, which the function reads."""
    top = top_statement(hit.place, editor)
    local_imports = _local_imports(hit.place, editor)
    known = known_names(top, editor) | set(local_imports)
    known -= _local_names(hit.place, editor) - set(local_imports)
    value = hit.place
    problem = _problem(value, known, editor)
    if problem:
        return Refusal(problem)
    for outer in editor.ancestors(hit.place):
        if isinstance(outer, cst.Arg):
            continue
        if not isinstance(outer, (cst.Attribute, cst.Call, cst.Subscript)) or not _extends(outer, value):
            break
        if _problem(outer, known, editor):
            break
        value = outer
    _unchanged(value, editor)
    name = _fresh_name(value, editor)
    imports = [local_imports[n] for n in sorted(names(value) & set(local_imports))]
    lines = "".join(line + editor.newline for line in (*imports, f"{name} = {on_one_line(value, editor)}"))
    return FixPlan(
        (insert_above(top, lines, editor), editor.replace(value, name)),
        "unsafe",
        "It is computed once, when the file is imported, and not in each call.",
    )


def _unchanged(value: cst.CSTNode, editor: Editor) -> None:
    """Refuse a value that the function goes on to change: all calls would share it."""
    assign, function = editor.parent(value), editor.function_of(value)
    if not isinstance(assign, cst.Assign) or function is None:
        return
    for kept in (target.target for target in assign.targets):
        if isinstance(kept, (cst.Attribute, cst.Subscript)):
            raise Refuse(f"`{editor.code(kept)}` keeps what is made, and all objects would share it")
    for name in (n for target in assign.targets for n in target_names(target.target)):
        for node in editor.mentions(function, name):
            outer = editor.parent(node)
            call = editor.parent(outer) if isinstance(outer, cst.Attribute) and outer.value is node else None
            is_statement = isinstance(call, cst.Call) and isinstance(editor.parent(call), cst.Expr)
            is_stored = isinstance(outer, (cst.Attribute, cst.Subscript)) and not is_read(outer, editor)
            if is_statement or is_stored or isinstance(outer, cst.AugAssign):
                raise Refuse(f"`{name}` is changed in line {editor.location(node).line}, and all calls would share it")


def _problem(value: cst.CSTNode, known: set[str], editor: Editor) -> str:
    """Why ``value`` cannot be computed at import; empty when it can."""
    if not isinstance(value, cst.BaseExpression):
        return "What breaks is no expression, so it cannot be computed at import."
    for node in walk(value):
        if isinstance(node, (cst.Await, cst.Yield, cst.NamedExpr, cst.Lambda, cst.BaseComp)):
            return f"`{editor.code(value)}` is more than a plain call, so it is not moved."
        if isinstance(node, cst.Call) and called(node) in _VARYING:
            return f"`{editor.code(node)}` gives another value in each call or place, so it is not moved."
        if isinstance(node, cst.Name) and node.value not in known and not editor.is_label(node):
            return f"`{editor.code(value)}` needs `{node.value}`, which is not known when the file is imported."
    return ""


def _extends(outer: cst.Attribute | cst.Call | cst.Subscript, value: cst.CSTNode) -> bool:
    """``outer`` only goes on from ``value``: ``value.digest()``, ``value[0]``, ``len(value)``."""
    if isinstance(outer, cst.Call):
        return outer.func is value or (isinstance(outer.func, cst.Name) and called(outer) in PURE_BUILTINS)
    return outer.value is value


def top_statement(place: cst.CSTNode, editor: Editor) -> cst.CSTNode:
    """The function or class at module level around ``place``. Raises Refuse where there is none."""
    for node in editor.ancestors(place):
        if isinstance(editor.parent(node), cst.Module):
            if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                raise Refuse("the code is not in a function or class at module level")
            return node
    raise Refuse("the code is not in a function")


def known_names(top: cst.CSTNode, editor: Editor) -> set[str]:
    """The names that statements above ``top`` bind, each once, and builtins that mean the same everywhere."""
    bound: list[str] = []
    imported: set[str] = set()
    for statement in editor.module.tree.body:
        if statement is top:
            break
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            bound.append(statement.name.value)
        elif isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                imported.update(_import_names(small))
                if isinstance(small, cst.Assign):
                    bound += [n for t in small.targets for n in target_names(t.target)]
    bound += _rebound(top, editor)
    bound_once = {name for name, count in Counter(bound).items() if count == 1 and name not in imported}
    return bound_once | (imported - set(bound)) | (set(dir(builtins)) - {"locals", "globals", "vars"})


def _rebound(top: cst.CSTNode, editor: Editor) -> list[str]:
    """The names that statements from ``top`` on, blocks at module level and functions bind at module level."""
    found: list[str] = []
    above = True
    for statement in editor.module.tree.body:
        above = above and statement is not top
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            found += [] if above else [statement.name.value]
        elif not above or not isinstance(statement, cst.SimpleStatementLine):
            found += bound_names(statement)
    declared = 2 * [item.name.value for node in editor.every(cst.Global) for item in node.names]
    return [*found, *found, *declared]


def _import_names(statement: cst.CSTNode) -> list[str]:
    if isinstance(statement, (cst.Import, cst.ImportFrom)) and not isinstance(statement.names, cst.ImportStar):
        nodes = [a.asname.name if a.asname is not None else a.name for a in statement.names]
        return [next(n.value for n in walk(node) if isinstance(n, cst.Name)) for node in nodes]
    return []


def _local_imports(place: cst.CSTNode, editor: Editor) -> dict[str, str]:
    """The plain imports of the function around ``place``, by the name they bind."""
    function = editor.function_of(place)
    found: dict[str, str] = {}
    for node in walk(function) if function is not None else ():
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            found.update({name: editor.code(node) for name in _import_names(node)})
    return found


def _local_names(place: cst.CSTNode, editor: Editor) -> set[str]:
    """The names that the functions around ``place`` bind."""
    functions = (n for n in editor.ancestors(place) if isinstance(n, (cst.FunctionDef, cst.Lambda)))
    return {name for function in functions for name in bound_names(function)}


def _fresh_name(value: cst.CSTNode, editor: Editor) -> str:
    """A name for the constant: that of the variable it goes to, else that of what is called."""
    outer = editor.parent(value)
    label = called(value) if isinstance(value, cst.Call) else ""
    if isinstance(value, cst.Attribute):
        label = value.attr.value
    if isinstance(outer, cst.Assign) and isinstance(outer.targets[0].target, cst.Name):
        label = outer.targets[0].target.value
    return editor.fresh("_" + (label.strip("_") or "value").upper())


def insert_above(top: cst.CSTNode, lines: str, editor: Editor) -> Edit:
    """Put ``lines`` above ``top``, its decorators and the comments right above it."""
    first = editor.first_line(top)
    return Edit(editor.path, (first, 1), (first, 1), lines + editor.newline * 2)
