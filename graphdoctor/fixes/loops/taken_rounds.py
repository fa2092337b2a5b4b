"""``if t:`` at the end of a round of a loop: the round does what stands there, and drops it where ``t`` is false.

``if m.any(): losses.append(f(x[m]))`` is ``if not m.any(): continue`` before the rest of the round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions, tight
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.loop_steps import Step, kept_text, steps_in
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.loops.skips import ALL_ROUNDS, Rounds, check_old_values, helpers, one_bool
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal

NO_BRANCH = Refusal("No branch ends the round of a loop.")


def take_in_round(hit: Hit, editor: Editor) -> Rounds | Refusal:
    """A loop whose rounds end with a branch. Raises Refuse where it does not fit."""
    branch = branch_of(hit.place, editor)
    block = editor.parent(branch) if isinstance(branch, cst.If) else None
    loop = editor.parent(block) if isinstance(block, cst.IndentedBlock) and block.body[-1] is branch else None
    if not isinstance(branch, cst.If) or not isinstance(loop, cst.For) or loop.orelse is not None:
        return NO_BRANCH
    if branch.orelse is not None or not isinstance(branch.body, cst.IndentedBlock):
        return NO_BRANCH
    condition = one_bool(Conditions(editor, hit).split(branch.test))
    if condition.python:
        raise Refuse("Python decides whether the tensor is tested")
    lines = list(branch.body.body)
    steps, appended = steps_in(lines, loop, editor)
    if not steps and not appended:
        raise Refuse("nothing that the loop computes is kept")
    check_old_values(steps, branch, loop, editor)
    if editor.newline in condition.tensor:
        raise Refuse("the test has more than one line")
    skipped, indent = editor.fresh("skipped"), editor.indent_of(branch)
    edits = [_marked(branch, f"{skipped} = ~{tight(condition.tensor)}", editor)]
    inside = editor.indent_of(lines[0])
    edits += [_kept(step, skipped, inside, indent, editor) for step in steps]
    edits += helpers(lines, steps, skipped, editor)
    anew = [step.statement for step in steps] + [one.statement for one in appended]
    edits += _moved(branch, edits[0].end[0], anew, inside, editor)
    plan = FixPlan((*editor.torch_import(loop), *edits), "unsafe", ALL_ROUNDS, known=("zero_gradients",))
    return Rounds(plan, loop, steps, appended, skipped, indent=indent, whole=branch)


def _marked(branch: cst.If, text: str, editor: Editor) -> Edit:
    """``text`` in place of the first line of ``branch``, up to its colon."""
    begin, test = editor.location(branch), editor.location(branch.test)
    lines = editor.module.text.split(editor.newline)
    line, column = test.end_line, test.end_column
    # A colon in a comment is not the one.
    while ":" not in lines[line - 1][column - 1 :].partition("#")[0]:
        line, column = line + 1, 1
    end = lines[line - 1].index(":", column - 1) + 2
    return Edit(editor.path, (begin.line, begin.column), (line, end), text)


def _kept(step: Step, skipped: str, inside: str, indent: str, editor: Editor) -> Edit:
    here = indent + editor.indent_of(step.statement).removeprefix(inside)
    return editor.replace(step.statement, kept_text(step, skipped, "", here, editor))


def _moved(branch: cst.If, header: int, written: Sequence[cst.CSTNode], inside: str, editor: Editor) -> Iterator[Edit]:
    """The lines of the branch after its ``header`` one level up; what is ``written`` anew has one line to move."""
    places = [editor.location(statement) for statement in written]
    anew = {line for place in places for line in range(place.line + 1, place.end_line + 1)}
    before, end = len(editor.indent_of(branch)), editor.location(branch).end_line
    for line in branch.body.body:
        # Refuses strings of several lines.
        editor.dedented(line)
    lines = editor.module.text.split(editor.newline)
    for number in range(header + 1, end + 1):
        if number not in anew and lines[number - 1].startswith(inside):
            yield Edit(editor.path, (number, before + 1), (number, len(inside) + 1), "")
