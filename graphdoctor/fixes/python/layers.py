"""What a module makes in its forward pass, or hides from the compiler, made in ``__init__`` or written plainly."""

from __future__ import annotations

import builtins

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import bound_names, names
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_SCRIPTED = ("torch.jit.script", "torch.jit.trace", "jit.script", "jit.trace")
_CACHED = ("functools.cached_property", "cached_property")


def build_in_init(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if self.proj is None: self.proj = nn.Linear(8, 8)`` moves to where ``__init__`` says ``self.proj = None``.

    Raises Refuse where it does not fit.
    """
    statement = editor.statement_of(hit.place)
    target = editor.code(statement.targets[0].target) if isinstance(statement, cst.Assign) else ""
    test = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.If)), None)
    if not target.startswith("self.") or test is None or test.orelse is not None:
        return Refusal("The layer is not kept on the module behind a test that it is missing.")
    if editor.code(test.test) != f"{target} is None":
        return Refusal(f"`{editor.code(test.test)}` does not test whether `{target}` is None.")
    function = editor.function_of(test)
    local = (bound_names(function) if function is not None else frozenset()) - {"self"}
    needed = {n.value for n in walk(test.body) if isinstance(n, cst.Name) and not editor.is_label(n)} & local
    if needed:
        raise Refuse(f"the layer needs `{min(needed)}`, which only the call knows; use a lazy layer, as nn.LazyLinear")
    placeholder = _placeholder(target, test, editor)
    small = [statement for line in test.body.body for statement in _small(line)]
    for made in small:
        reads = [editor.code(n) for n in walk(made) if isinstance(n, cst.Attribute)]
        if not isinstance(made, (cst.Assign, cst.Expr)) or target not in reads or _stores_other(made, target, editor):
            raise Refuse(f"line {editor.location(made).line} does more than make the layer")
        _check_order(reads, target, placeholder, editor)
    indent = editor.indent_of(placeholder)
    lines = [editor.code(statement) for statement in small]
    edits = (editor.replace(placeholder, editor.lines(indent, *lines)), editor.delete(test))
    reason = (
        "The layer is built with the module: its weights are initialised then, and its state_dict has them at once."
    )
    return FixPlan(edits, "unsafe", reason, known=("early",))


def layer_in_init(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``lin = nn.Linear(8, 8)`` in a method of a module is made at the end of ``__init__``, as ``self.lin``."""
    call = hit.place
    owner = next((n for n in editor.ancestors(call) if isinstance(n, cst.ClassDef)), None)
    if not isinstance(call, cst.Call) or owner is None or not _is_layer(hit):
        return Refusal(
            "Build it in `__init__`: its weights, which each call initialises anew, would be initialised once."
        )
    if any(isinstance(n, (cst.For, cst.While, cst.CompFor)) for n in editor.ancestors(call)):
        raise Refuse("each round of the loop makes a layer of its own")
    local = bound_names(editor.function_of(call) or call)
    needed = {n.value for n in walk(call) if isinstance(n, cst.Name) and not editor.is_label(n)} & local
    if needed - {"self"}:
        raise Refuse(f"the layer needs `{min(needed - {'self'})}`, which only the call knows; use a lazy layer")
    outer = editor.parent(call)
    target = outer.targets[0].target if isinstance(outer, cst.Assign) and len(outer.targets) == 1 else None
    name = editor.fresh(f"{target.value if isinstance(target, cst.Name) else called(call).lower()}_layer")
    line = f"self.{name} = {editor.code(call)}"
    edits = (at_end_of_init(owner, line, editor), editor.replace(call, f"self.{name}"))
    reason = "Its weights are initialised once, when the module is built, are trained, and are part of its state_dict."
    return FixPlan(edits, "unsafe", reason, known=("early", "gradients"))


def _is_layer(hit: Hit) -> bool:
    name = hit.event.qualname if isinstance(hit.event, Call) else getattr(hit.event, "qualname", "")
    return name.startswith("torch.nn.") and not name.startswith(("torch.nn.functional.", "torch.nn.parameter."))


def at_end_of_init(owner: cst.ClassDef, line: str, editor: Editor) -> Edit:
    """The edit that adds ``line`` to ``__init__``. Refuses a class without one that is plain."""
    block = owner.body
    inits = [n for n in block.body if isinstance(n, cst.FunctionDef) and n.name.value == "__init__"]
    if not inits and isinstance(block, cst.IndentedBlock):
        methods = [n for n in block.body if isinstance(n, cst.FunctionDef)]
        bases = [editor.code(base.value) for base in owner.bases]
        if not methods or bases not in (["nn.Module"], ["torch.nn.Module"]):
            raise Refuse("the class has no `__init__`")
        first = methods[0]
        start, indent = (editor.first_line(first), 1), editor.indent_of(first)
        body = ["def __init__(self):", "\tsuper().__init__()", f"\t{line}"]
        text = indent + editor.lines(indent, *body) + editor.newline * 2
        return Edit(editor.path, start, start, text)
    if len(inits) != 1 or not isinstance(inits[0].body, cst.IndentedBlock):
        raise Refuse("the class has no `__init__` of its own")
    last = inits[0].body.body[-1]
    if any(isinstance(n, cst.Return) for n in walk(inits[0])):
        raise Refuse("`__init__` returns early")
    place = editor.location(last)
    end = (place.end_line, place.end_column)
    return Edit(editor.path, end, end, editor.newline + editor.indent_of(last) + line)


def plain_module(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``self.sub = torch.jit.script(Sub())`` becomes ``self.sub = Sub()``."""
    call = hit.place
    if not isinstance(call, cst.Call):
        return Refusal("This is no call of a scripted module.")
    module = editor.code(call.func)
    made = [(a, a.value) for a in editor.every(cst.Assign) if type(a.value) is cst.Call]
    scripted = [value for a, value in made if _is_scripted(value, editor) and _binds(a, module, editor)]
    if len(scripted) != 1:
        return Refusal(f"Where `{module}` is scripted or traced is not shown in this file.")
    edit = editor.replace(scripted[0], editor.code(scripted[0].args[0].value))
    reason = "The plain module runs, in eager too; a traced module always took the path of its example."
    return FixPlan((edit,), "unsafe", reason)


def plain_property(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``@functools.cached_property`` becomes ``@property``, which Dynamo traces.

    Raises Refuse where it does not fit.
    """
    place = hit.place
    name = place.attr.value if isinstance(place, cst.Attribute) else ""
    found = [
        d.decorator for n in editor.every(cst.FunctionDef) if n.name.value == name
        for d in n.decorators if editor.code(d.decorator) in _CACHED
    ]  # fmt: skip
    if len(found) != 1:
        return Refusal("This is no cached property of this file.")
    stores = [
        *(n.target for n in editor.every(cst.AssignTarget)),
        *(n.target for n in editor.every(cst.AnnAssign)),
        *(n.target for n in editor.every(cst.AugAssign)),
        *(n.target for n in editor.every(cst.Del)),
    ]
    if any(isinstance(target, cst.Attribute) and target.attr.value == name for target in stores):
        raise Refuse(f"`{name}` is stored or deleted, which a property does not allow")
    reason = "The value is computed in each call, and is another object each time."
    return FixPlan((editor.replace(found[0], "property"),), "unsafe", reason, known=("anew",))


def compile_too(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A function under ``@torch.compiler.disable`` loses the decorator."""
    call = hit.place
    name = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) else ""
    found = [n for n in editor.module.tree.body if isinstance(n, cst.FunctionDef) and n.name.value == name]
    disabling = [d for n in found for d in n.decorators if _disables(editor.code(d.decorator))]
    if len(disabling) != 1:
        return Refusal("The function that is kept out of compilation is not defined at the top of this file.")
    place = editor.location(disabling[0])
    edit = Edit(editor.path, (place.line, 1), (place.end_line + 1, 1), "")
    return FixPlan((edit,), "unsafe", "The function was kept out on purpose; now it is compiled with its callers.")


def _disables(code: str) -> bool:
    return code.partition("(")[0] in ("torch.compiler.disable", "torch._dynamo.disable", "dynamo.disable")


def _placeholder(target: str, test: cst.If, editor: Editor) -> cst.CSTNode:
    """The statement ``self.proj = None`` in ``__init__``."""
    owner = next((n for n in editor.ancestors(test) if isinstance(n, cst.ClassDef)), None)
    inits = [n for n in walk(owner) if isinstance(n, cst.FunctionDef) and n.name.value == "__init__"] if owner else []
    bound = [n for i in inits for n in walk(i) if isinstance(n, cst.Assign) and _binds(n, target, editor)]
    found = [n for n in bound if editor.code(n.value) == "None"]
    if len(found) != 1:
        raise Refuse(f"`__init__` does not set `{target}` to None")
    known = bound_names(inits[0]) | _module_level(editor)
    unknown = {n.value for n in walk(test.body) if isinstance(n, cst.Name) and not editor.is_label(n)} - known
    if unknown:
        raise Refuse(f"`{min(unknown)}` is not known in `__init__`")
    return found[0]


def _stores_other(statement: cst.CSTNode, target: str, editor: Editor) -> bool:
    return isinstance(statement, cst.Assign) and not _binds(statement, target, editor)


def _check_order(reads: list[str], target: str, placeholder: cst.CSTNode, editor: Editor) -> None:
    """Refuse where the layer needs what the class sets after the placeholder, or in another method."""
    owner = next((n for n in editor.ancestors(placeholder) if isinstance(n, cst.ClassDef)), None)
    stored = (
        [n for n in walk(owner) if isinstance(n, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign))] if owner else []
    )
    for node in stored:
        name = editor.code(node.target)
        is_late = editor.location(node.target) > editor.location(placeholder)
        if (
            name != target
            and name in reads
            and (is_late or editor.function_of(node) is not editor.function_of(placeholder))
        ):
            raise Refuse(f"`{name}`, which the layer needs, is not set yet where `{target}` is")


def _binds(node: cst.CSTNode, target: str, editor: Editor) -> bool:
    return isinstance(node, cst.Assign) and [editor.code(t.target) for t in node.targets] == [target]


def _is_scripted(call: cst.Call, editor: Editor) -> bool:
    # The name first: code is only at hand where the file was parsed.
    return called(call) in ("script", "trace") and bool(call.args) and editor.code(call.func) in _SCRIPTED


def _module_level(editor: Editor) -> frozenset[str]:
    """Builtins, and the names that statements at module level mention: more than they bind, but no locals."""
    found = set(dir(builtins))
    for statement in editor.module.tree.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            found.add(statement.name.value)
        elif isinstance(statement, cst.SimpleStatementLine):
            found |= names(statement)
    return frozenset(found)


def _small(line: cst.CSTNode) -> list[cst.CSTNode]:
    if not isinstance(line, cst.SimpleStatementLine):
        raise Refuse("the layer is made by more than plain statements")
    return list(line.body)
