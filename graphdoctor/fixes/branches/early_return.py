"""An early return by tensor data: what it gives is computed too, and chosen where the function ends.

``if t: return a`` and a last ``return b`` become ``condition = t``, ``early = a`` and
``return torch.where(condition, early, b)``. The lines between them now always run. Of ``if limit is not None and t``
the condition is None where the tensor is not asked, and ``b`` is returned then.

``if self.initted: return`` and ``self.embed.copy_(x)`` become ``condition = self.initted.clone()`` and
``self.embed.copy_(torch.where(condition, self.embed, x))``.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.selected_rows import masks_in
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.branch_arms import Under
from graphdoctor.fixes.branches.flatten import Flat
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import LINE_LENGTH
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.proof.last_lines import Rest, rest_of
from graphdoctor.model.findings import Edit, Known
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def choose_at_the_end(branch: cst.CSTNode | None, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if t: log.warning("bad"); return a`` in the outermost block of a function that ends in a return."""
    if not isinstance(branch, cst.If) or isinstance(branch.orelse, cst.If) or editor.code(branch).startswith("elif"):
        return Refusal("This is no branch with one other side at most.")
    *body, last = branch_arms.statements(branch.body)
    if not isinstance(last, cst.Return) or last.value is None:
        return Refusal("The branch does not return a value.")
    rest = rest_of(branch, editor) if branch.orelse is None else Rest((), frozenset(), _returned(branch.orelse))
    between, end = rest.values, rest.end
    flat = Flat(hit, editor, branch)
    under = flat.condition(branch)
    flat.statements(body, branch.body, under)
    for value in (last.value, end):
        branch_arms.check_calls(value, editor)
        branch_arms.check_size(value, editor)
    edits = [edit for value in between for edit in _kept_finite(value, flat, replace(under, holds=False))]
    if between:
        flat.risks.append("the lines up to the last return always run")
    pairs = _pairs(last.value, end, editor)
    chosen = [_chosen(one, other, rest, flat, under) for one, other in pairs]
    indent = flat.indent + editor.indent if under.depth else flat.indent
    if isinstance(end, cst.Tuple):
        returned = f"return ({', '.join(chosen)})"
        if len(indent + returned) > LINE_LENGTH:
            returned = editor.lines(indent, "return (", *(f"\t{one}," for one in chosen), ")")
    else:
        is_long = editor.newline in chosen[0] and bool(end.lpar)
        returned = _on_lines(chosen[0], indent, editor) if is_long else editor.statement(indent, "return ", chosen[0])
    edits = [*editor.torch_import(branch), *_ends(flat, under, branch, end, returned), *edits]
    reason = f"Both results are computed: {'; '.join(dict.fromkeys(flat.risks))}."
    is_leaf = any(_constant(one, editor) and "requires_grad" in editor.code(one) for one, _ in pairs)
    known: tuple[Known, ...] = ("zero_gradients", "requires_grad") if is_leaf else ("zero_gradients",)
    return FixPlan(tuple(edits), "unsafe", reason, known=known, guards_output=not flat.is_lossy)


def _kept_finite(value: cst.BaseExpression, flat: Flat, under: Under) -> Sequence[Edit]:
    """What a line computes that always runs from now on. Where a bool decides, its gradients stay finite."""
    branch_arms.check_calls(value, flat.editor)
    if under.depth or any(True for _ in masks_in(value, flat.editor)):
        flat.risks.extend(branch_arms.risks(value, flat.editor))
        return ()
    code = flat.computed(value, under)
    return () if code == flat.editor.code(value) else (flat.editor.replace(value, code),)


def _ends(flat: Flat, under: Under, branch: cst.If, end: cst.BaseExpression, returned: str) -> Sequence[Edit]:
    """The edits that put ``returned`` in place of the last return, or before it, where the tensor may not be asked."""
    editor = flat.editor
    lines = [returned]
    if under.depth:
        lines = [f"if {under.name} is not None:", f"\t{returned}", f"return {editor.code(end)}"]
    if branch.orelse is not None:
        for line in lines:
            flat.add(line)
        return (flat.edit(),)
    last = editor.statement_of(end)
    if not under.depth and end.lpar and not isinstance(end, cst.Tuple) and editor.newline in editor.code(end):
        # Its parentheses and lines go: the choice has lines of its own.
        return flat.edit(), editor.replace(last, returned)
    if not under.depth:
        return flat.edit(), editor.replace_whole(end, returned.removeprefix("return "))
    return flat.edit(), editor.replace(last, editor.lines(editor.indent_of(last), *lines))


def _pairs(
    one: cst.BaseExpression, other: cst.BaseExpression, editor: Editor
) -> Sequence[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The values to choose between: of two tuples, element by element. Refuses what is no tensor."""
    pairs = [(one, other)]
    if isinstance(one, cst.Tuple) and isinstance(other, cst.Tuple):
        elements = [*one.elements, *other.elements]
        if len(one.elements) != len(other.elements) or any(isinstance(e, cst.StarredElement) for e in elements):
            raise Refuse("the two results have not as many values")
        pairs = [(a.value, b.value) for a, b in zip(one.elements, other.elements, strict=True)]
    for pair in pairs:
        if editor.code(pair[0]) != editor.code(pair[1]):
            for value in pair:
                branch_arms.check_tensor(value, editor)
    return pairs


def _chosen(one: cst.BaseExpression, other: cst.BaseExpression, rest: Rest, flat: Flat, under: Under) -> str:
    """The choice between two values; the lines between them may rebind names that the first reads."""
    editor = flat.editor
    early = editor.code(one)
    is_same = isinstance(one, cst.Name) and one.value not in rest.bound
    if early == editor.code(other) and (not rest.values or is_same):
        return early
    branch_arms.check_part(one, other, editor)
    if is_number(one, editor) and is_number(other, editor):
        flat.risks.append("Python numbers become tensors of torch's default dtype")
    number = _constant(one, editor)
    if number and not _constant(other, editor) and not is_number(other, editor):
        if "requires_grad" in editor.code(one):
            flat.risks.append(f"`{editor.code(one)}` requires gradients of its own no longer")
        # A number takes the dtype of the other result; a tensor without dimensions would give it its own.
        return under.choose(number, _last(other, flat, under))
    early = flat.computed(one, under)
    if rest.values:
        name = flat.fresh("early")
        flat.bind(under.depth, name, early)
        early = name
    return under.choose(early, _last(other, flat, under))


def _last(value: cst.BaseExpression, flat: Flat, under: Under) -> str:
    """The code of what the last return gives, without parentheses around several lines; on one line where it fits."""
    editor = flat.editor
    code = flat.computed(value, replace(under, holds=False))
    if not value.lpar or isinstance(value, cst.Tuple) or code != editor.code(value) or editor.newline not in code:
        return code
    with contextlib.suppress(Refuse):
        line = _bare(on_one_line(value, editor))
        if "#" not in code and len(line) < LINE_LENGTH - len(flat.indent + 2 * editor.indent):
            return line
    first, *further = _bare(code).split(editor.newline)
    # A comment behind the last operand belongs to the parenthesis.
    is_whole = _bare(code).count("#") == code.count("#")
    return editor.newline.join([first, *textwrap.dedent("\n".join(further)).split("\n")]) if is_whole else code


def _bare(code: str) -> str:
    return cst.Module([]).code_for_node(cst.parse_expression(code).with_changes(lpar=(), rpar=()))


def _on_lines(value: str, indent: str, editor: Editor) -> str:
    """``return`` with a call that has arguments of several lines: each argument on lines of its own."""
    call = cst.parse_expression(value)
    if not isinstance(call, cst.Call):
        return f"return {value}"
    code = editor.module.tree.code_for_node
    arguments = (code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in call.args)
    rows = [f"\t{line}" for argument in arguments for line in f"{argument},".split(editor.newline)]
    return editor.lines(indent, f"return {code(call.func)}(", *rows, ")")


def _constant(value: cst.BaseExpression, editor: Editor) -> str:
    """``0.0`` of ``torch.tensor(0.0, device=x.device, requires_grad=True)``; empty for anything else."""
    if not isinstance(value, cst.Call) or dotted_name(value.func, editor) != "torch.tensor" or not value.args:
        return ""
    options = {a.keyword.value for a in value.args[1:] if a.keyword is not None}
    number = value.args[0].value
    inner = number.expression if isinstance(number, cst.UnaryOperation) else number
    is_plain = isinstance(inner, (cst.Float, cst.Integer)) and value.args[0].keyword is None
    is_known = len(options) == len(value.args) - 1 and options <= {"device", "requires_grad"}
    return editor.code(number) if is_plain and is_known else ""


def _returned(orelse: cst.Else | cst.If) -> cst.BaseExpression:
    """The value of an ``else`` that is a return alone."""
    small = list(branch_arms.statements(orelse.body))
    if len(small) != 1 or not isinstance(small[0], cst.Return) or small[0].value is None:
        raise Refuse("the other side does more than return a value")
    return small[0].value


def write_by_choice(branch: cst.CSTNode | None, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if t: return`` in the outermost block of a function that goes on and returns nothing.

    Raises Refuse where it does not fit.
    """
    if not isinstance(branch, cst.If) or branch.orelse is not None or not _is_bare(branch.body):
        return Refusal("This is no branch that returns nothing.")
    function = editor.function_of(branch)
    if function is None or editor.parent(branch) is not function.body:
        raise Refuse("the return stands in a loop or a block of its own")
    lines = function.body.body[list(function.body.body).index(branch) + 1 :]
    rest = _statements(lines)
    if not rest:
        raise Refuse("nothing stands after the return")
    flat = Flat(hit, editor, branch)
    under = flat.condition(branch)
    if under.depth:
        raise Refuse("Python decides whether the tensor is tested")
    flat.statements(rest, function.body, replace(under, holds=False))
    reason = f"The lines after the return always run: {'; '.join(dict.fromkeys(flat.risks))}."
    edits = (*editor.torch_import(branch), flat.edit(*lines))
    return FixPlan(edits, "unsafe", reason, known=("zero_gradients",), guards_output=not flat.is_lossy)


def _is_bare(block: cst.BaseSuite) -> bool:
    small = _statements(block.body if isinstance(block, cst.IndentedBlock) else [block])
    return len(small) == 1 and isinstance(small[0], cst.Return) and _gives_none(small[0])


def _gives_none(statement: cst.Return) -> bool:
    return statement.value is None or (isinstance(statement.value, cst.Name) and statement.value.value == "None")


def _statements(lines: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    """The statements of ``lines``, without a return of nothing at their end."""
    small: list[cst.CSTNode] = []
    for line in lines:
        is_line = isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
        small += line.body if is_line else [line]  # type: ignore[attr-defined]
    if len(small) > 1 and isinstance(small[-1], cst.Return) and _gives_none(small[-1]):
        small.pop()
    return small
