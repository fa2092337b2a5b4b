"""Where the one name that an assignment binds is read."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import is_own
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, parameters
from graphdoctor.syntax.walk import walk


def uses(assign: cst.Assign, editor: Editor) -> Sequence[cst.Name]:
    """The places in the function that read what ``assign`` binds. Refuses where other code may read or bind it."""
    target, function = assign.targets[0].target, editor.function_of(assign)
    if len(assign.targets) != 1 or not isinstance(target, cst.Name) or function is None:
        raise Refuse("the value is stored where other code may read it")
    if is_elsewhere(target.value, assign, editor):
        raise Refuse("the value is stored where other code may read it")
    bound = editor.assignments(function, target.value)
    read = [n for n in editor.mentions(function, target.value) if n is not target and not editor.is_label(n)]
    if target.value not in parameters(function):
        if bound == [assign]:
            return read
        bounded = _bounded_by(assign, target.value, editor)
        if bounded is not None and set(bound) == {assign, bounded}:
            inside = set(walk(bounded))
            return [node for node in read if node not in inside]
    found = _until_next(assign, bound, read, function, editor)
    if found is None:
        lines = ", ".join(str(editor.location(b).line) for b in bound)
        raise Refuse(f"`{target.value}` is assigned more than once (lines {lines})")
    return found


def _bounded_by(assign: cst.Assign, name: str, editor: Editor) -> cst.Assign | None:
    """The assignment of ``if n < 1: n = 1`` right after ``assign`` of ``n``."""
    line = editor.parent(assign)
    branch = editor.following(line) if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(branch, cst.If) or branch.orelse is not None or name not in names(branch.test):
        return None
    small = branch.body.body[0] if len(branch.body.body) == 1 else None
    inner = small.body[0] if isinstance(small, cst.SimpleStatementLine) and len(small.body) == 1 else small
    return inner if isinstance(inner, cst.Assign) else None


def _until_next(
    assign: cst.Assign,
    bound: Sequence[cst.CSTNode],
    read: Sequence[cst.Name],
    function: cst.FunctionDef,
    editor: Editor,
) -> Sequence[cst.Name] | None:
    """What reads the name after ``assign``, up to the next assignment to it and in that.

    None unless both always run, one after the other.
    """
    here = editor.location(assign)
    later = [other for other in bound if other is not assign and editor.location(other) > here]
    end = min(later, key=editor.location, default=None)
    if not all(_always_runs(one, function, editor) for one in (assign, *later)):
        return None
    # What an inner function reads is what the name has when that runs.
    if any(editor.function_of(node) is not function or _is_deferred(node, editor) for node in read):
        return None
    own = set(walk(assign.value))
    after = [node for node in read if node not in own and editor.location(node) > here]
    if not isinstance(end, cst.Assign):
        return after
    line, last = editor.location(end).line, set(walk(end.value))
    return [node for node in after if node in last or editor.location(node).line < line]


def _always_runs(bound: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> bool:
    """Whether ``bound`` is an assignment on a line of the body of ``function``."""
    line = editor.parent(bound)
    return isinstance(bound, cst.Assign) and line is not None and editor.parent(line) is function.body


def _is_deferred(node: cst.CSTNode, editor: Editor) -> bool:
    return any(isinstance(outer, (cst.Lambda, cst.GeneratorExp)) for outer in editor.ancestors(node))


def empty_list(name: cst.Name, editor: Editor) -> cst.List:
    """The empty list that is all that the function binds to ``name``. Raises Refuse where it binds something else."""
    function = editor.function_of(name)
    bound = editor.assignments(function, name.value) if function is not None else []
    only = bound[0].value if len(bound) == 1 and isinstance(bound[0], cst.Assign) else None
    if not isinstance(only, cst.List):
        raise Refuse(f"`{name.value}` is not shown to be a list of this function")
    if only.elements:
        raise Refuse(f"`{name.value}` holds other values too")
    return only


def is_only_written(assign: cst.Assign | cst.AugAssign, editor: Editor) -> bool:
    """Whether ``assign`` writes one attribute of the module, ``self.last = value``, that no code of the file reads but
    what writes it again: ``self.mean = 0.9 * self.mean + 0.1 * value``.
    """
    target = assign.target if isinstance(assign, cst.AugAssign) else assign.targets[0].target
    is_one = isinstance(assign, cst.AugAssign) or len(assign.targets) == 1
    if not is_one or not is_own(target):
        return False
    places = editor.every(cst.Assign), editor.every(cst.AugAssign)
    writes = [a for found in places for a in found if target.attr.value in _written_attributes(a)]
    inside = {n for a in writes for n in walk(a)}
    return all(n in inside for n in editor.every(cst.Attribute) if n.attr.value == target.attr.value)


def _written_attributes(assign: cst.Assign | cst.AugAssign) -> set[str]:
    """The attributes that are all that ``assign`` gives a value."""
    targets = [assign.target] if isinstance(assign, cst.AugAssign) else [t.target for t in assign.targets]
    found = {t.attr.value for t in targets if isinstance(t, cst.Attribute)}
    return found if len(found) == len(targets) else set()


def is_only_appended(append: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``append`` is that of a list of the module, ``self.losses.append``, that the code of the file only makes,
    appends to, clears and counts.
    """
    place = append.value if isinstance(append, cst.Attribute) else None
    if place is None or not is_own(place):
        return False
    return all(_is_kept(n, editor) for n in editor.every(cst.Attribute) if n.attr.value == place.attr.value)


def _is_kept(place: cst.Attribute, editor: Editor) -> bool:
    user = editor.parent(place)
    if isinstance(user, cst.Attribute):
        return user.attr.value in ("append", "clear")
    if isinstance(user, cst.AssignTarget):
        made = editor.parent(user)
        return isinstance(made, cst.Assign) and editor.code(made.value) == "[]"
    if isinstance(user, cst.AnnAssign):
        return user.value is not None and editor.code(user.value) == "[]"
    call = editor.parent(user) if isinstance(user, cst.Arg) else None
    return isinstance(call, cst.Call) and editor.code(call.func) == "len"


def is_elsewhere(name: str, statement: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``name``, as ``statement`` binds it, is no local of its function: of the module, or of a class in it."""
    declares = editor.has_word("global") or editor.has_word("nonlocal")
    for outer in editor.ancestors(statement):
        if isinstance(outer, cst.ClassDef):
            return True
        if isinstance(outer, cst.FunctionDef):
            declared: list[cst.Global | cst.Nonlocal] = []
            if declares:
                declared = [*editor.within(outer, cst.Global), *editor.within(outer, cst.Nonlocal)]
            return any(item.name.value == name for node in declared for item in node.names)
    return True
