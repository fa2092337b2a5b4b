"""A while loop on tensor data becomes ``torch.while_loop``, which runs it inside the graph."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions
from graphdoctor.fixes.analysis.purity import RANDOM, called, calls, is_pure
from graphdoctor.fixes.branches.branch_arms import check_tensor, does, statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def loop_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``while t(x): x = f(x)`` whose names are tensors that keep their shape and dtype.

    Raises Refuse where it does not fit.
    """
    loop = editor.parent(hit.place)
    function = editor.function_of(hit.place)
    if not isinstance(loop, cst.While) or loop.test is not hit.place or function is None:
        return Refusal("This is not the condition of a while loop.")
    if loop.orelse is not None:
        raise Refuse("the loop has an else branch")
    if any(isinstance(n, cst.NamedExpr) for n in walk(loop)):
        raise Refuse("the loop assigns inside an expression")
    text = Conditions(editor, hit).boolean(loop.test)
    for call in calls(loop.test):
        if not is_pure(call, editor):
            raise Refuse(f"`{editor.code(call)}` may have side effects")
    steps = _steps(loop, editor)
    carried = _carried(loop, function, steps, editor)
    if len(steps) == 1:
        ((name, value),) = steps
        step = on_one_line(value, editor)
        edit = editor.replace(
            loop, f"({name},) = torch.while_loop(lambda {name}: {text}, lambda {name}: ({step},), ({name},))"
        )
    else:
        edit = editor.replace(loop, _with_functions(loop, text, steps, carried, editor))
    names = " and ".join(f"`{name}`" for name in carried)
    # Measured on torch 2.13: a loop of no rounds gives half of the gradient.
    reason = (
        f"The body must keep the shape and dtype of {names}; in eager `torch.while_loop` compiles the loop, and "
        "gradients are wrong where it does not run at all."
    )
    return FixPlan((*editor.torch_import(loop), edit), "unsafe", reason, known=("eager", "gradients"))


def _steps(loop: cst.While, editor: Editor) -> Sequence[tuple[str, cst.BaseExpression]]:
    """The names that the body assigns, in order, and their values. Refuses a body that does anything else."""
    steps = []
    for step in statements(loop.body):
        if (
            not isinstance(step, cst.Assign)
            or len(step.targets) != 1
            or not isinstance(step.targets[0].target, cst.Name)
        ):
            raise Refuse(f"the loop {does(step)}, and does more than assign names")
        _check(step.value, len(loop.body.body) == 1, editor)
        steps.append((step.targets[0].target.value, step.value))
    return steps


def _check(value: cst.BaseExpression, is_alone: bool, editor: Editor) -> None:
    check_tensor(value, editor)
    for call in calls(value):
        is_function = isinstance(call.func, cst.Name) and not is_alone
        if not is_pure(call, editor) and (not is_function or called(call) in RANDOM):
            raise Refuse(f"`{editor.code(call)}` may have side effects")


def _carried(
    loop: cst.While, function: cst.FunctionDef, steps: Sequence[tuple[str, cst.BaseExpression]], editor: Editor
) -> Sequence[str]:
    """The names that go from round to round. Refuses one that the body makes and code behind the loop reads."""
    start, inside = editor.location(loop), set(walk(loop))
    carried = []
    for name in dict.fromkeys(name for name, _ in steps):
        bound = [n for n in editor.assignments(function, name) if n not in inside]
        is_argument = any(p.name.value == name for p in _params(function))
        if is_argument or any(editor.location(node) < start for node in bound):
            carried.append(name)
        elif any(n not in inside for n in editor.mentions(function, name)):
            raise Refuse(f"`{name}` has no value before the loop and is read behind it")
    return carried


def _params(function: cst.FunctionDef) -> Sequence[cst.Param]:
    """The parameters of ``function``."""
    return [node for node in walk(function.params) if isinstance(node, cst.Param)]


def _with_functions(
    loop: cst.While, text: str, steps: Sequence[tuple[str, cst.BaseExpression]], carried: Sequence[str], editor: Editor
) -> str:
    """The loop by two local functions. A round must not return one of its inputs, so what may be one is copied."""
    goes_on, one_round = editor.fresh("goes_on"), editor.fresh("one_round")
    arguments = ", ".join(carried)
    copied = {name for name, value in steps if isinstance(value, cst.Name)}
    returned = ", ".join(f"{name}.clone()" if name in copied else name for name in carried)
    comma = "," if len(carried) == 1 else ""
    return editor.lines(
        editor.indent_of(loop),
        f"def {goes_on}({arguments}):",
        f"\treturn {text}",
        "",
        f"def {one_round}({arguments}):",
        *(f"\t{name} = {on_one_line(value, editor)}" for name, value in steps),
        f"\treturn {returned}{comma}",
        "",
        f"{arguments}{comma} = torch.while_loop({goes_on}, {one_round}, ({arguments}{comma}))",
    )
