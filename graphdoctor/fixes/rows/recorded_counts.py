"""How many rows a mask selects, noted in each round of a loop over such rows: ``load.append(len(rows))``.

With a fixed number of rows the length of ``rows`` says nothing any more, but the mask still does.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import is_read
from graphdoctor.fixes.analysis.selected_rows import searches
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, target_names
from graphdoctor.fixes.proof.aliasing import is_written_in
from graphdoctor.fixes.rows.loop_body import Body
from graphdoctor.fixes.tensors.asked_counts import count_of
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import Hit
from graphdoctor.syntax.walk import find


def take_recorded(body: Body, padded: frozenset[str], loop: cst.For, hit: Hit, editor: Editor) -> Sequence[Edit]:
    """The edits that count by the mask; the statements that they are for are taken out of ``body``.

    Raises Refuse where what is noted has to be a number of Python.
    """
    masks: dict[str, cst.BaseExpression] = {}
    flow = Flow(hit, editor)
    for statement, by in list(body.statements):
        if isinstance(statement, cst.Assign):
            found = [mask for _, mask in searches(statement.value, editor)]
            bound = {name for target in statement.targets for name in target_names(target.target)}
            masks = {name: mask for name, mask in masks.items() if name not in bound}
            masks |= dict.fromkeys(bound, found[0]) if len(found) == 1 else {}
        read = [
            n for n in find(statement, cst.Name) if n.value in padded and not editor.is_label(n) and is_read(n, editor)
        ]
        counts = [count_of(n, n.value in masks, editor) for n in read]
        if not counts or statement not in body.always or any(count is None for count in counts):
            continue
        for name, count in zip(read, counts, strict=True):
            mask = masks.get(name.value)
            if mask is None or count is None:
                raise Refuse(f"`{name.value}` is not shown to be where a mask is true")
            changed = [n.value for n in find(mask, cst.Name) if _changes(n.value, loop, editor)]
            if changed:
                raise Refuse(f"`{changed[0]}` is changed, and with it what `{editor.code(count)}` would count")
            bare = mask.with_changes(lpar=[], rpar=[])
            flow.follow(count, f"torch.count_nonzero({editor.module.tree.code_for_node(bare)})")
        body.statements.remove((statement, by))
    return flow.edits


def _changes(name: str, loop: cst.For, editor: Editor) -> bool:
    """Whether a round changes what ``name`` is, or binds it more than once."""
    bound = [n for n in assignments(loop, name) if n is not loop]
    if name in target_names(loop.target) and not bound:  # The number of the round: `used[e]` does not write to it.
        return False
    return len(bound) > 1 or is_written_in(loop, name, editor)
