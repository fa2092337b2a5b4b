"""A while loop on tensor data becomes ``torch.while_loop``, which runs it inside the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions, negate, tight
from graphdoctor.fixes.analysis.purity import RANDOM, called, calls, is_pure
from graphdoctor.fixes.analysis.types import ReadNames
from graphdoctor.fixes.branches.branch_arms import check_tensor, does
from graphdoctor.fixes.branches.loop_steps import OPERATORS
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.loops.while_parts import WhileLoop, counters, while_loop_at
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


@dataclass(frozen=True)
class _Step:
    """What a round assigns: a name, or several at once."""

    names: tuple[str, ...]
    value: str
    #: The value is another name, of which a round must return a copy.
    is_name: bool


@dataclass(frozen=True)
class _Round:
    """One round of the loop: its condition as code, and what it assigns before and after the condition."""

    condition: str
    before: Sequence[_Step]
    after: Sequence[_Step]
    #: The names that go from round to round, and those of them that count.
    carried: Sequence[str]
    counted: Sequence[str]

    @property
    def steps(self) -> Sequence[_Step]:
        """All that it assigns."""
        return (*self.before, *self.after)


def loop_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``while t(x): x = f(x)`` and ``while True: ... if t(x): break``, whose names are tensors that keep their shape.

    Raises Refuse where it does not fit.
    """
    found = while_loop_at(hit.place, editor)
    if found is None:
        return Refusal("This is not the condition of a while loop.")
    if any(isinstance(n, cst.NamedExpr) for n in walk(found.node)):
        raise Refuse("the loop assigns inside an expression")
    counted = counters(found, editor)
    hit = replace(hit, data=ReadNames(dict.fromkeys(counted, "tensor")))
    text = Conditions(editor, hit).boolean(found.test)
    for call in calls(found.test):
        if not is_pure(call, editor):
            raise Refuse(f"`{editor.code(call)}` may have side effects")
    text = negate(text) if found.leaves else text
    before, after = _steps(found.before, editor), _steps(found.after, editor)
    one = _Round(text, before, after, _carried(found, [*before, *after], editor), counted)
    if len(after) == 1 and not before and not counted and found.returned is None:
        ((name,), value) = after[0].names, after[0].value
        edit = editor.replace(
            found.node, f"({name},) = torch.while_loop(lambda {name}: {text}, lambda {name}: ({value},), ({name},))"
        )
    else:
        edit = editor.replace(found.node, _with_functions(found, one, editor))
    # Measured on torch 2.13: a loop of no rounds gives half of the gradient.
    names = " and ".join(f"`{name}`" for name in one.carried)
    reason = (
        f"The body must keep the shape and dtype of {names}; in eager `torch.while_loop` compiles the loop, and "
        "gradients are wrong where it does not run at all."
    )
    return FixPlan((*editor.torch_import(found.node), edit), "unsafe", reason, known=("eager", "gradients"))


def _steps(body: Sequence[cst.CSTNode], editor: Editor) -> Sequence[_Step]:
    """What the statements assign, in order. Refuses a body that does anything else."""
    return [_step(statement, len(body) == 1, editor) for statement in body]


def _step(step: cst.CSTNode, is_alone: bool, editor: Editor) -> _Step:
    if isinstance(step, cst.AugAssign) and isinstance(step.target, cst.Name) and type(step.operator) in OPERATORS:
        _check(step.value, is_alone, editor)
        name, value = step.target.value, tight(on_one_line(step.value, editor))
        return _Step((name,), f"{name} {OPERATORS[type(step.operator)]} {value}", False)
    target = step.targets[0].target if isinstance(step, cst.Assign) and len(step.targets) == 1 else None
    if not isinstance(step, cst.Assign) or target is None:
        raise Refuse(f"the loop {does(step)}, and does more than assign names")
    values = [step.value]
    elements: Sequence[cst.BaseExpression] = [target]
    if isinstance(target, cst.Tuple) and isinstance(step.value, cst.Tuple):
        elements, values = ([e.value for e in node.elements] for node in (target, step.value))
    if not all(isinstance(e, cst.Name) for e in elements):
        raise Refuse(f"the loop {does(step)}, and does more than assign names")
    for one in values:
        _check(one, is_alone, editor)
    names = tuple(e.value for e in elements if isinstance(e, cst.Name))
    return _Step(names, on_one_line(step.value, editor), any(isinstance(v, cst.Name) for v in values))


def _check(value: cst.BaseExpression, is_alone: bool, editor: Editor) -> None:
    check_tensor(value, editor)
    for call in calls(value):
        is_function = isinstance(call.func, cst.Name) and not is_alone
        if not is_pure(call, editor) and (not is_function or called(call) in RANDOM):
            raise Refuse(f"`{editor.code(call)}` may have side effects")


def _carried(found: WhileLoop, steps: Sequence[_Step], editor: Editor) -> Sequence[str]:
    """The names that go from round to round. Refuses one that the body makes and code after the loop reads."""
    start, inside = editor.location(found.node), set(walk(found.node))
    later = [*found.after, found.test, *([found.returned] if found.returned is not None else [])]
    read_later = {n.value for node in later for n in walk(node) if isinstance(n, cst.Name)}
    carried = []
    for name in dict.fromkeys(name for step in steps for name in step.names):
        bound = [n for n in editor.assignments(found.function, name) if n not in inside]
        is_argument = any(p.name.value == name for p in _params(found.function))
        if is_argument or any(editor.location(node) < start for node in bound):
            carried.append(name)
        elif any(n not in inside for n in editor.mentions(found.function, name)):
            raise Refuse(f"`{name}` has no value before the loop and is read after it")
        elif name in read_later and found.before:
            carried.append(name)
    return carried


def _params(function: cst.FunctionDef) -> Sequence[cst.Param]:
    """The parameters of ``function``."""
    return [node for node in walk(function.params) if isinstance(node, cst.Param)]


def _with_functions(found: WhileLoop, one: _Round, editor: Editor) -> str:
    """The loop by two local functions. A round must not return one of its inputs, so what may be one is copied."""
    goes_on, one_round = editor.fresh("goes_on"), editor.fresh("one_round")
    carried, arguments = one.carried, ", ".join(one.carried)
    copied = {name for step in one.steps if step.is_name for name in step.names}
    returned = ", ".join(f"{name}.clone()" if name in copied else name for name in carried)
    comma = "," if len(carried) == 1 else ""
    tensors = [name for name in carried if name not in one.counted]
    if one.counted and not tensors:
        raise Refuse("only a counter is carried from iteration to iteration")
    first = [f"{name} = torch.tensor({name}, device={tensors[0]}.device)" for name in one.counted]
    first += [
        f"{line}.clone()" if step.is_name else line for step, line in zip(one.before, _lines(one.before), strict=True)
    ]
    lines = [
        *first,
        *([""] if first else []),
        f"def {goes_on}({arguments}):",
        f"\treturn {one.condition}",
        "",
        f"def {one_round}({arguments}):",
        *(f"\t{line}" for line in (*_lines(one.after), *_lines(one.before))),
        f"\treturn {returned}{comma}",
        "",
        f"{arguments}{comma} = torch.while_loop({goes_on}, {one_round}, ({arguments}{comma}))",
    ]
    if found.returned is not None:
        lines.append(f"return {editor.code(found.returned)}")
    return editor.lines(editor.indent_of(found.node), *lines)


def _lines(steps: Sequence[_Step]) -> Sequence[str]:
    return [f"{', '.join(step.names)} = {step.value}" for step in steps]
