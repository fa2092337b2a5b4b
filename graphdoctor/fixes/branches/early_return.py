"""An early return by tensor data: what it gives is computed too, and chosen where the function ends.

``if t: return a`` and a last ``return b`` become ``condition = t``, ``early = a`` and
``return torch.where(condition, early, b)``. The lines between them now always run.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.flatten import Flat
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def choose_at_the_end(branch: cst.CSTNode | None, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if t: log.warning("bad"); return a`` in the outermost block of a function that ends in a return."""
    if not isinstance(branch, cst.If) or branch.orelse is not None or editor.code(branch).startswith("elif"):
        return Refusal("This is no branch without another side.")
    *body, last = branch_arms.statements(branch.body)
    if not isinstance(last, cst.Return) or last.value is None:
        return Refusal("The branch does not return a value.")
    between, end = _rest(branch, editor)
    flat = Flat(hit, editor, branch)
    under = flat.condition(branch)
    flat.statements(body, branch.body, under)
    values = [last.value, end, *(statement.value for statement in between)]
    for value in values:
        branch_arms.check_calls(value, editor)
        flat.risks.extend(branch_arms.risks(value, editor))
    for value in (last.value, end):
        branch_arms.check_tensor(value, editor)
    if is_number(last.value, editor) and is_number(end, editor):
        flat.risks.append("Python numbers become tensors of torch's default dtype")
    early = editor.code(last.value)
    if between:
        name = editor.fresh("early")
        flat.bind(0, name, early)
        flat.risks.append("the lines up to the last return always run")
        early = name
    chosen = editor.replace(end, under.choose(early, editor.code(end)))
    reason = f"Both results are computed: {'; '.join(dict.fromkeys(flat.risks))}."
    edits = (*editor.torch_import(branch), flat.edit(), chosen)
    return FixPlan(edits, "unsafe", reason, known=("zero_gradients",), guards_output=not flat.is_lossy)


def _rest(branch: cst.If, editor: Editor) -> tuple[Sequence[cst.Assign], cst.BaseExpression]:
    """The assignments behind ``branch``, and the value of the return behind them. Refuses other statements."""
    function, block = editor.function_of(branch), editor.parent(branch)
    if function is None or block is not function.body or not isinstance(block, cst.IndentedBlock):
        raise Refuse("the return stands in a loop or a block of its own")
    behind = block.body[list(block.body).index(branch) + 1 :]
    small = [s for line in behind for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]
    if not small or not isinstance(small[-1], cst.Return) or small[-1].value is None:
        raise Refuse("the function does not end in the return of a value")
    between: list[cst.Assign] = []
    for statement in small[:-1]:
        if not isinstance(statement, cst.Assign) or not all(_is_name(t.target) for t in statement.targets):
            raise Refuse(f"line {editor.location(statement).line} does more than assign a name")
        between.append(statement)
    return between, small[-1].value


def _is_name(target: cst.BaseExpression) -> bool:
    if isinstance(target, cst.Tuple):
        return all(isinstance(element.value, cst.Name) for element in target.elements)
    return isinstance(target, cst.Name)
