"""What a round of a loop assigns, where data decides whether the round counts: if not, ``torch.where`` keeps the old
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.conditions import tight
from graphdoctor.fixes.analysis.held_before import is_bound_before
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import is_number, is_other
from graphdoctor.fixes.branches.finite_gradients import divisor_unless, finite_unless
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import LINE_LENGTH
from graphdoctor.fixes.core.scope import assignments, names, parameters
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import is_tensor
from graphdoctor.syntax.walk import find, walk

#: Characters of an expression above which it is not written twice.
LONG = 40
#: The operators of ``n += 1`` and the like.
OPERATORS: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
}  # fmt: skip


#: Functions and methods after which what they were given has one item less.
_TAKES_AWAY = ("next", "pop", "popitem", "popleft")
#: Functions that join a tensor with others, so that it gets longer.
_JOINS = ("cat", "concat", "concatenate", "hstack", "vstack")


@dataclass(frozen=True)
class Appended:
    """``losses.append(value)`` for a list of the function."""

    statement: cst.Expr
    listed: str
    value: cst.BaseExpression


@dataclass(frozen=True)
class Step:
    """An assignment, and what it assigns that keeps its old value: a name, several of a tuple, or ``out[:, t]``."""

    statement: cst.Assign | cst.AugAssign
    kept: tuple[str, ...]

    @property
    def is_name(self) -> bool:
        """Whether one plain name is assigned, and nothing else."""
        target = self.statement.target if isinstance(self.statement, cst.AugAssign) else _target(self.statement)
        return isinstance(target, cst.Name)


def kept_steps(lines: Sequence[cst.CSTNode], loop: cst.For, editor: Editor, leaves: bool = False) -> list[Step]:
    """The assignments of ``lines`` whose old value is kept: those of what lives on after a round.

    Where data ``leaves`` the loop, also names that only the loop makes. Raises Refuse where it does not fit.
    """
    steps, appended = steps_in(lines, loop, editor, leaves)
    if appended:
        raise Refuse(f"line {editor.location(appended[0].statement).line} of the loop does more than assign a name")
    if not steps:
        raise Refuse("nothing that the loop computes is kept")
    return steps


def steps_in(
    lines: Sequence[cst.CSTNode], loop: cst.For, editor: Editor, leaves: bool = False, checked: bool = False
) -> tuple[list[Step], list[Appended]]:
    """The same, with what is appended to lists; ``checked`` lines may also raise where no data says so.

    Raises Refuse where ``lines`` do more.
    """
    function = editor.function_of(loop)
    if function is None:
        raise Refuse("the code is not in a function")
    start, inside = editor.location(loop), set(walk(loop))
    outside = [n for n in find(function.body, cst.Name) if n not in inside]
    after = {n.value for n in outside if editor.location(n) > start}
    steps: list[Step] = []
    appended: list[Appended] = []
    for small in _statements(lines, loop, editor, checked):
        taken = next((call for call in find(small, cst.Call) if called(call) in _TAKES_AWAY), None)
        if taken is not None:
            raise Refuse(f"`{editor.code(taken)}` takes an item away, also in a round that does not count")
        if isinstance(small, cst.Expr):
            appended.append(_appended(small, lines, editor))
            continue
        stored = _stored(small, editor)
        if stored:
            steps.append(Step(small, (stored,)))
            continue
        bound = _names(small, editor)
        if set(bound) & set(parameters(function)) and isinstance(small, cst.AugAssign):
            raise Refuse(f"the loop changes the argument `{bound[0]}` in place")
        kept = [n for n in bound if is_bound_before(n, loop, editor) or (leaves and n in after)]
        lost = [n for n in bound if n not in kept and (n in after or _is_read_before(n, small, loop, editor))]
        if lost:
            raise Refuse(f"`{lost[0]}` has no value before the loop")
        if kept:
            steps.append(_checked(Step(small, tuple(kept)), editor))
    return steps, appended


def _checked(step: Step, editor: Editor) -> Step:
    """``step``, unless it gives a name what is no tensor: ``states = states + (x,)``."""
    value = step.statement.value
    sides = (value.left, value.right) if isinstance(value, cst.BinaryOperation) else (value,)
    if step.is_name and (is_other(value, editor) or any(isinstance(side, (cst.List, cst.Tuple)) for side in sides)):
        raise Refuse(f"`torch.where` cannot keep the old value of `{step.kept[0]}`, which is no tensor")
    return step


def _is_read_before(name: str, small: cst.CSTNode, loop: cst.For, editor: Editor) -> bool:
    """Whether a round reads what the round before has assigned to ``name``."""
    function = editor.function_of(loop)
    inside = set(walk(loop))
    first = min(editor.location(n).line for n in (small, *assignments(loop, name)))
    mentions = editor.mentions(function, name) if function is not None else ()
    return any(n in inside and not editor.is_label(n) and editor.location(n).line < first for n in mentions)


def _appended(small: cst.Expr, lines: Sequence[cst.CSTNode], editor: Editor) -> Appended:
    """``small`` as a line of its own that appends to a list. Refuses other calls."""
    call = small.value
    owner = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None
    is_line = editor.parent(small) in lines and isinstance(call, cst.Call) and len(call.args) == 1
    if not isinstance(owner, cst.Name) or not isinstance(call, cst.Call) or not is_line:
        raise Refuse(f"line {editor.location(small).line} of the loop does more than assign a name")
    return Appended(small, owner.value, call.args[0].value)


def check_sizes(lines: Sequence[cst.CSTNode], editor: Editor) -> None:
    """Refuse a loop that data leaves and that makes something longer in each round."""
    for node in (n for line in lines for n in walk(line)):
        name = ""
        if isinstance(node, cst.Expr) and _appends(node):
            name = editor.code(node.value.func).removesuffix(".append")  # type: ignore[attr-defined]
        elif isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name):
            target = node.targets[0].target.value
            name = target if any(target in names(call) for call in _joins(node.value)) else ""
        if name:
            raise Refuse(
                f"`{name}` grows in each round, so its size depends on when data ends the loop: compile a function of "
                "one round, and keep the loop in eager code"
            )


def _joins(value: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls that join tensors, where ``value`` or a side of it is one."""
    if isinstance(value, cst.IfExp):
        yield from (*_joins(value.body), *_joins(value.orelse))
    elif isinstance(value, cst.Call) and called(value) in _JOINS:
        yield value


def _appends(statement: cst.Expr) -> bool:
    return isinstance(statement.value, cst.Call) and called(statement.value) == "append"


def _statements(
    lines: Iterable[cst.CSTNode], loop: cst.For, editor: Editor, checked: bool = False
) -> Iterator[cst.Assign | cst.AugAssign | cst.Expr]:
    """What ``lines`` assign and append, also under flags that the loop does not change. Refuses what does more."""
    for line in lines:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if checked and isinstance(line, cst.If) and is_check(line):
            continue
        if isinstance(line, cst.If) and is_flag(line.test):
            check_unchanged(line.test, loop)
            other: cst.If | cst.Else | None = line.orelse
            yield from _statements(line.body.body, loop, editor, checked)
            if other is not None:
                others = [other] if isinstance(other, cst.If) else other.body.body
                yield from _statements(others, loop, editor, checked)
        elif (
            isinstance(small, cst.Assign)
            or (isinstance(small, cst.AugAssign) and type(small.operator) in OPERATORS)
            or (isinstance(small, cst.Expr) and _appends(small))
        ):
            yield small
        else:
            raise Refuse(f"line {editor.location(line).line} of the loop does more than assign a name")


def _names(small: cst.Assign | cst.AugAssign, editor: Editor) -> Sequence[str]:
    """The plain names that ``small`` binds. Refuses other targets."""
    target = small.target if isinstance(small, cst.AugAssign) else _target(small)
    if isinstance(target, cst.Name):
        return (target.value,)
    elements = target.elements if isinstance(target, cst.Tuple) else ()
    if not elements or not all(isinstance(e, cst.Element) and isinstance(e.value, cst.Name) for e in elements):
        raise Refuse(f"line {editor.location(small).line} of the loop does more than assign a name")
    return [e.value.value for e in elements if isinstance(e.value, cst.Name)]


def _target(assign: cst.Assign) -> cst.BaseExpression | None:
    return assign.targets[0].target if len(assign.targets) == 1 else None


def _stored(small: cst.Assign | cst.AugAssign, editor: Editor) -> str:
    """``out[:, t]`` of a tensor, at slices and numbers of Python; empty for another target."""
    target = small.target if isinstance(small, cst.AugAssign) else _target(small)
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
        return ""
    is_plain = is_tensor(editor.value(target.value)) and all(is_place(e.slice, editor) for e in target.slice)
    return editor.code(target) if is_plain else ""


def is_place(index: cst.BaseSlice, editor: Editor) -> bool:
    """Whether ``index`` is a slice, or one whole number of Python, whatever the data is."""
    parts = [index.lower, index.upper, index.step] if isinstance(index, cst.Slice) else []
    if isinstance(index, cst.Index):
        if isinstance(index.value, cst.Ellipsis):
            return True
        parts = [index.value] if index.star is None else []
        return bool(parts) and _is_python(index.value, editor)
    return all(part is None or _is_python(part, editor) for part in parts)


def _is_python(node: cst.BaseExpression, editor: Editor) -> bool:
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    return isinstance(inner, cst.Integer) or is_number(node, editor)


def is_flag(test: cst.BaseExpression) -> bool:
    """Names, attributes and numbers, compared or joined by ``and``: asking twice in a round gives the same."""
    if isinstance(test, cst.UnaryOperation):
        return isinstance(test.operator, cst.Not) and is_flag(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return isinstance(test.operator, cst.And) and is_flag(test.left) and is_flag(test.right)
    if isinstance(test, cst.Comparison):
        return is_flag(test.left) and all(is_flag(c.comparator) for c in test.comparisons)
    while isinstance(test, cst.Attribute):
        test = test.value
    return isinstance(test, (cst.Name, cst.Integer, cst.Float))


def is_check(branch: cst.If) -> bool:
    """``if len(classes) > 1: raise ValueError("...")``: nothing but a raise, where flags or lengths say so."""
    raised = branch.body.body[0]
    small = raised.body if isinstance(raised, cst.SimpleStatementLine) else ()
    if branch.orelse is not None or len(branch.body.body) > 1 or [type(each) for each in small] != [cst.Raise]:
        return False
    test = branch.test.visit(_WithoutLengths())
    return isinstance(test, cst.BaseExpression) and is_flag(test)


class _WithoutLengths(cst.CSTTransformer):
    """``len(x)`` becomes ``x``."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        is_length = called(original_node) == "len" and len(updated_node.args) == 1
        return updated_node.args[0].value if is_length else updated_node


def check_unchanged(flag: cst.BaseExpression, loop: cst.For) -> None:
    """Refuse a ``flag`` of which the loop assigns a part."""
    labels = {n.attr for n in walk(flag) if isinstance(n, cst.Attribute)}
    read = {n.value for n in walk(flag) if isinstance(n, cst.Name) and n not in labels}
    if any(bound is not loop for name in read for bound in assignments(loop, name)):
        raise Refuse("the flag around the branch changes in the loop")


def numbers(steps: Sequence[Step], loop: cst.For, editor: Editor) -> Sequence[str]:
    """The names in ``steps`` that hold Python numbers, before the loop and in it: counters."""
    found: list[str] = []
    for name in dict.fromkeys(name for step in steps for name in step.kept):
        values = [s.statement.value for s in steps if name in s.kept and s.is_name]
        if len(values) == sum(name in s.kept for s in steps) and all(is_number(value, editor) for value in values):
            first = start_value(name, loop, editor)
            if first is not None and is_number(first, editor):
                found.append(name)
    return found


def start_value(name: str, loop: cst.For, editor: Editor) -> cst.BaseExpression | None:
    """What ``name`` was given last in front of the loop, alone or as one of a tuple."""
    function, start = editor.function_of(loop), editor.location(loop)
    bound = editor.assignments(function, name) if function is not None else []
    before = [n for n in bound if editor.location(n) < start]
    last = before[-1] if before else None
    if not isinstance(last, cst.Assign) or len(last.targets) != 1:
        return None
    target, value = last.targets[0].target, last.value
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        pairs = zip(target.elements, value.elements, strict=True)
        return next((v.value for t, v in pairs if isinstance(t.value, cst.Name) and t.value.value == name), None)
    return value if isinstance(target, cst.Name) else None


def keep(step: Step, test: str, python: str, editor: Editor) -> Edit:
    """The step keeps the old value where ``test`` is true; after the Python part, if there is one."""
    return editor.replace(step.statement, kept_text(step, test, python, editor.indent_of(step.statement), editor))


def kept_text(step: Step, test: str, python: str, indent: str, editor: Editor) -> str:
    """The code of ``step`` after ``indent``, keeping the old values where ``test`` is true."""
    statement = step.statement
    written = editor.code(statement.value)
    is_division = isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.DivideAssign)
    finite = divisor_unless if is_division else finite_unless
    value = written if python else finite(test, statement.value, editor)
    if isinstance(statement, cst.AugAssign):
        value = f"{step.kept[0]} {OPERATORS[type(statement.operator)]} {tight(value)}"
    elif editor.newline in value and value == written:
        value = _assigned_value(statement, indent, editor)
    if isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Tuple):
        new = {name: editor.fresh(f"new_{name}") for name in step.kept}
        target = ", ".join(new.get(name, name) for name in _names(statement, editor))
        first = editor.statement(indent, f"{target} = ", value)
        lines = (kept(name, new[name], test, python, indent, editor) for name in step.kept)
        return (editor.newline + indent).join([first, *lines])
    return kept(step.kept[0], value, test, python, indent, editor)


def _assigned_value(statement: cst.CSTNode, indent: str, editor: Editor) -> str:
    """What ``name = value`` assigns, with its lines as they stand after ``indent``."""
    return editor.dedented(statement, indent).strip().partition("=")[2].lstrip()


def kept(name: str, value: str, test: str, python: str, indent: str, editor: Editor) -> str:
    """The statement that keeps ``name`` where ``test`` is true; a long ``value`` that is needed twice has a name."""
    if not python:
        return editor.statement(indent, f"{name} = ", f"torch.where({test}, {name}, {value})")
    first = ""
    if editor.newline in value or len(value) > LONG:
        new = editor.fresh(f"new_{name}" if name.isidentifier() else "new")
        first, value = editor.statement(indent, f"{new} = ", value) + editor.newline + indent, new
    rows = (f"torch.where({test}, {name}, {value})", f"if {python}", f"else {value}")
    line = f"{name} = {' '.join(rows)}"
    if len(indent) + len(line) > LINE_LENGTH:
        line = editor.lines(indent, f"{name} = (", *(f"\t{row}" for row in rows), ")")
    return first + line
