"""Host work that no tensor depends on, such as clocks and probes: it stays in eager and is left out under compile."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.effects import trace
from graphdoctor.fixes.analysis.namespaces import READS_LOCALS, dotted_name, is_read
from graphdoctor.fixes.analysis.once_only import is_given_once
from graphdoctor.fixes.analysis.outputs import may_be_caught, more_than_output
from graphdoctor.fixes.analysis.purity import called, calls, is_own
from graphdoctor.fixes.analysis.quiet_calls import READING
from graphdoctor.fixes.analysis.uses import is_elsewhere
from graphdoctor.fixes.branches.output_blocks import called_in, guard_branch
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import EAGER_ONLY
from graphdoctor.fixes.core.scope import parameters, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import ArgumentCall, Call
from graphdoctor.static.domain.values import External
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

#: Functions that run a string as code: nothing is known of what it does.
_RUNS_TEXT = frozenset({"exec", "eval"})
#: Functions that make a folder.
_FOLDERS = frozenset({"makedirs", "mkdir"})
_JUMPS = (cst.Return, cst.Break, cst.Continue, cst.Raise, cst.Yield, cst.Await, cst.Global, cst.Nonlocal)
_NOT_LEFT_OUT = frozenset((*_JUMPS, cst.NamedExpr))


def guard_host(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Put the statement of the hit, and those that only serve it, under ``if not torch.compiler.is_compiling():``.

    ``t0 = time.time()`` goes together with ``dt = time.time() - t0``, as long as nothing else reads the two.
    """
    block = _with_block(hit.place, editor)
    if block is not None:
        return _guard_block(block, editor)
    first = editor.statement_of(hit.place)
    if any(called(call) in _FOLDERS for call in find(first, cst.Call)):
        raise Refuse("what is written to the folder later needs it")
    group, branches = _group(first, editor)
    needed = _read_elsewhere(group, editor)
    lost = next(filter(None, (_lost(statement, hit, editor) for statement in group)), "")
    if lost and needed:
        raise Refuse(needed)
    edits: list[Edit] = []
    guard = editor.guard if lost or len(group) > 1 else editor.shortest_guard
    for statement in group:
        edits += [edit for edit in guard(statement) if edit not in edits]
    for plan in branches:
        edits += [edit for edit in plan.edits if edit not in edits]
    if not lost and any(is_given_once(statement, editor) for statement in group):
        reason = "Under compile these lines are left out, and noted as done, so a later eager call leaves them out too."
        return FixPlan(tuple(edits), "unsafe", reason)
    if not lost:
        reason = "In eager nothing changes; under compile these lines are left out, and no tensor depends on them."
        return FixPlan(tuple(edits), "safe", reason)
    return FixPlan(tuple(edits), "unsafe", f"In eager nothing changes; under compile `{lost}` is left out.")


def _read_elsewhere(group: list[cst.CSTNode], editor: Editor) -> str:
    """Which attribute that ``group`` gives a value another statement reads, as the reason of a refusal; else empty."""
    # By place: a method that was written anew meanwhile has other nodes.
    places = [editor.location(statement) for statement in group]
    for target in (target for statement in group for target in _targets(statement)):
        owner = target.value if isinstance(target, cst.Subscript) else target
        name = owner.attr.value if isinstance(owner, cst.Attribute) else ""
        readers = [n for n in editor.every(cst.Attribute) if n.attr.value == name and is_read(n, editor)]
        for reader in readers:
            is_known = editor.location(editor.statement_of(reader)) in places or _is_stored_in(reader, editor)
            if not is_known and not _is_report(editor.function_of(reader), editor):
                line = editor.location(reader).line
                return f"`{editor.code(target)}` is read in line {line}, which runs under compile too"
    return ""


def guard_shown(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``n = x.sum().item()`` that is only printed stays in eager with its print, and with ``if n > 9:`` around that."""
    plan = guard_host(hit, editor)
    is_proved = isinstance(plan, FixPlan) and plan.safety == "safe"
    return plan if is_proved else Refusal("The value is used for more than output.")


def _lost(statement: cst.CSTNode, hit: Hit, editor: Editor) -> str:
    """What in ``statement`` does more than read the clock or the machine, or show what was read."""
    known = []
    if isinstance(hit.place, cst.Call) and isinstance(hit.event, Call):
        known.append(ArgumentCall(hit.place, External(hit.event.qualname), hit.event.args, hit.event.kwargs))
    known += called_in(statement, editor)
    for target in _targets(statement):
        if not target_names(target):
            return editor.code(statement)
    if may_be_caught(statement, [statement.value], editor):  # type: ignore[attr-defined]
        return editor.code(statement)
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        call = statement.value
        name = dotted_name(call.func, editor)
        if name not in READING:
            more = more_than_output(name, call, editor)
            return editor.code(call) if more else trace(call.args, (), known, editor)
    return trace([statement.value], (), known, editor)  # type: ignore[attr-defined]


def _group(first: cst.CSTNode, editor: Editor) -> tuple[list[cst.CSTNode], list[FixPlan]]:
    """``first`` and the statements that read what it binds, and so on; those in branches that do nothing but write
    output are in the plans for these. Refuses when one of them is needed.
    """
    group: list[cst.CSTNode] = []
    branches: dict[cst.CSTNode, FixPlan] = {}
    waiting = [first]
    while waiting:
        statement = waiting.pop()
        group.append(statement)
        function = editor.function_of(statement)
        if function is None:
            raise Refuse("the code is not in a function")
        for reader in _other_readers(statement, editor):
            if reader not in group and reader not in waiting:
                waiting.append(_simple(reader, editor.code(_targets(statement)[0]), editor))
        for name in sorted(_bound(statement, editor)):
            if name in parameters(function):
                raise Refuse(f"`{name}` is an argument of the function")
            if is_elsewhere(name, statement, editor):
                raise Refuse(f"`{name}` is stored where other code may read it")
            for node in editor.mentions(function, name):
                if editor.is_label(node) or _is_bound(node, editor):
                    continue
                if editor.function_of(node) is not function:
                    raise Refuse(f"`{name}` is read in an inner function, which may run later")
                reader = editor.statement_of(node)
                branch = _decided_by(name, node, editor)
                if branch is not None:
                    branches[branch] = branches.get(branch) or _only_output(branch, name, editor)
                elif reader not in group and reader not in waiting:
                    waiting.append(_simple(reader, name, editor))
    for statement in group:
        _check_text(statement)
        function = editor.function_of(statement)
        assert function is not None
        if any(editor.mentions(function, word) for word in READS_LOCALS) and any(_bound(s, editor) for s in group):
            raise Refuse("the function reads its variables by name")
        _check_receiver(statement, group, function, editor)
    return sorted(group, key=editor.location), [branches[branch] for branch in sorted(branches, key=editor.location)]


def _check_text(node: cst.CSTNode) -> None:
    """Refuse to leave out text that is run: ``exec(f"model.{name}(x)")`` is the model."""
    for call in calls(node):
        if isinstance(call.func, cst.Name) and call.func.value in _RUNS_TEXT:
            raise Refuse(f"what `{call.func.value}` runs may be a part of the model, which must run under compile too")


def _other_readers(statement: cst.CSTNode, editor: Editor) -> list[cst.CSTNode]:
    """The statements of other functions that read ``self.start``, where nothing but ``statement`` gives it a value."""
    targets = _targets(statement)
    target = targets[0] if len(targets) == 1 else None
    if target is None or not is_own(target):
        return []
    found = [n for n in editor.every(cst.Attribute) if n.attr.value == target.attr.value and n is not target]
    read = [n for n in found if is_read(n, editor)]
    return [editor.statement_of(n) for n in read] if len(read) == len(found) else []


def _check_receiver(
    statement: cst.CSTNode, group: list[cst.CSTNode], function: cst.FunctionDef, editor: Editor
) -> None:
    """Refuse ``parts.append(n)`` where the function goes on to use ``parts``, which would lack what is left out."""
    receiver = _receiver(statement)
    if receiver is None or not (receiver.value in parameters(function) or editor.assignments(function, receiver.value)):
        return
    for node in editor.mentions(function, receiver.value):
        reader = editor.statement_of(node)
        if editor.is_label(node) or _is_bound(node, editor) or reader in group or _receiver(reader) is node:
            continue
        line = editor.location(node).line
        raise Refuse(f"`{receiver.value}` is changed, and used in line {line}, which runs under compile too")


def _receiver(statement: cst.CSTNode) -> cst.Name | None:
    """``parts`` of the statement ``parts.append(n)``."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    name = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None
    return name if isinstance(name, cst.Name) and name.value != "self" else None


def _decided_by(name: str, node: cst.CSTNode, editor: Editor) -> cst.If | None:
    """The outermost branch around ``node`` whose test reads ``name``."""
    around = [n for n in editor.ancestors(node) if isinstance(n, cst.If) and editor.mentions(n.test, name)]
    return around[-1] if around else None


def _only_output(branch: cst.If, name: str, editor: Editor) -> FixPlan:
    plan = guard_branch(branch, editor)
    if isinstance(plan, Refusal) or plan.safety != "safe":
        raise Refuse(f"`{name}` decides the branch in line {editor.location(branch).line}, which does more than output")
    return plan


def _is_bound(node: cst.Name, editor: Editor) -> bool:
    """Whether ``node`` only binds its name: the target of a plain assignment."""
    return not is_read(node, editor) and not isinstance(editor.parent(node), (cst.AugAssign, cst.Del, cst.Global))


def _bound(statement: cst.CSTNode, editor: Editor) -> frozenset[str]:
    """The names that ``statement`` binds. Refuses what does more than bind names or call something."""
    if any(type(node) in _NOT_LEFT_OUT for node in walk(statement)):
        raise Refuse(f"line {editor.location(statement).line} must run under compile too")
    if isinstance(statement, cst.Expr):
        return frozenset()
    if isinstance(statement, cst.AnnAssign) and statement.value is None:
        raise Refuse(f"line {editor.location(statement).line} does more than assign")
    if not isinstance(statement, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
        raise Refuse(f"line {editor.location(statement).line} does more than assign")
    for target in _targets(statement):
        if isinstance(target, cst.Subscript) and editor.code(target.value) == "os.environ":
            continue
        if _is_own_store(target, editor):
            continue
        if any(isinstance(node, (cst.Attribute, cst.Subscript)) for node in walk(target)):
            raise Refuse(f"`{editor.code(target)}` is stored where other code may read it")
    return _bound_by(statement) | {name for target in _targets(statement) if (name := _local_dict(target, editor))}


def _is_report(function: cst.FunctionDef | None, editor: Editor) -> bool:
    """Whether nothing in the file names ``function``, a plain method: ``def report(self)``, which a program calls."""
    if function is None or not isinstance(editor.parent(editor.parent(function) or function), cst.ClassDef):
        return False
    name = function.name.value
    mentioned = sum(node.value == name for node in editor.every(cst.Name))
    return not function.decorators and name != "forward" and not name.startswith("__") and mentioned == 1


def _is_own_store(target: cst.CSTNode, editor: Editor) -> bool:
    """``self.elapsed`` that the function does not read, also of the function itself, or an entry of a dict that the
    function makes, or of ``self.timings`` that it does not read.
    """
    if _local_dict(target, editor):
        return True
    owner = target
    if isinstance(target, cst.Subscript):
        owner = target.value
        if any(calls(part) for part in target.slice):
            return False
    own = [o.name.value for o in editor.ancestors(target) if isinstance(o, cst.FunctionDef)][:1]
    if not isinstance(owner, cst.Attribute) or editor.code(owner.value) not in ("self", *own):
        return False
    function = editor.function_of(target)
    reads = editor.mentions(function, owner.attr.value) if function is not None else []
    places = [editor.parent(name) for name in reads]
    return all(isinstance(p, cst.Attribute) and (not is_read(p, editor) or _is_stored_in(p, editor)) for p in places)


def _is_stored_in(place: cst.Attribute, editor: Editor) -> bool:
    """Whether ``place`` is ``self.timings`` of the statement ``self.timings["a"] = value`` or ``+= value``."""
    entry = editor.parent(place)
    return isinstance(entry, cst.Subscript) and entry.value is place and not is_read(entry, editor)


def _local_dict(target: cst.CSTNode, editor: Editor) -> str:
    """``times`` of ``times["a"]`` where the function makes it a new dict; else empty."""
    function = editor.function_of(target)
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name) or function is None:
        return ""
    bound = editor.assignments(function, target.value.value)
    new = [b for b in bound if isinstance(b, cst.Assign) and isinstance(b.value, (cst.Dict, cst.DictComp))]
    return target.value.value if bound and len(new) == len(bound) else ""


def _bound_by(statement: cst.CSTNode) -> frozenset[str]:
    return frozenset(name for target in _targets(statement) for name in target_names(target))


def _targets(statement: cst.CSTNode) -> list[cst.CSTNode]:
    if isinstance(statement, cst.Assign):
        return [t.target for t in statement.targets]
    return [statement.target] if isinstance(statement, (cst.AnnAssign, cst.AugAssign)) else []


def _simple(reader: cst.CSTNode, name: str, editor: Editor) -> cst.CSTNode:
    if isinstance(reader, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Expr)):
        return reader
    raise Refuse(f"`{name}` is read in line {editor.location(reader).line}, which runs under compile too")


def _with_block(place: cst.CSTNode, editor: Editor) -> cst.With | None:
    """The ``with`` statement that enters ``place``: ``with open(path) as f:``."""
    for node in editor.ancestors(place):
        if isinstance(node, cst.With):
            return node if any(place in set(walk(item)) for item in node.items) else None
        if isinstance(node, cst.BaseSuite):
            return None
    return None


def _guard_block(block: cst.With, editor: Editor) -> FixPlan:
    function = editor.function_of(block)
    if function is None or any(isinstance(node, _JUMPS) for node in walk(block)):
        raise Refuse("the block leaves the function or the loop around it, so it must run under compile too")
    _check_text(block)
    made = {n for node in walk(block) for t in _targets(node) for n in target_names(t)}
    made |= {n for item in block.items if item.asname is not None for n in target_names(item.asname.name)}
    inside = set(walk(block))
    outside = {n.value for n in walk(function) if isinstance(n, cst.Name) and n not in inside}
    if made & outside:
        raise Refuse(f"`{min(made & outside)}` is also used outside the block")
    if any(isinstance(t, (cst.Attribute, cst.Subscript)) for node in walk(block) for t in _targets(node)):
        raise Refuse("the block stores values where other code may read them")
    text = editor.lines(editor.indent_of(block), f"if {EAGER_ONLY}:", "\t" + editor.deepen(block))
    edits = (*editor.torch_import(block), editor.replace(block, text))
    return FixPlan(edits, "unsafe", "In eager nothing changes; under compile the whole block is left out.")
