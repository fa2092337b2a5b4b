"""Rewrites one statement of a loop over selected rows so that it works on padded rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.selected_rows import gives_columns, masks_in, searches
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.rows.row_sums import RowSum


class Rows(Protocol):
    """What a statement needs from its loop. Lines that must come before the statement are added to ``lines``."""

    editor: Editor
    add: RowSum
    padded: frozenset[str]

    def padded_indices(self, mask: cst.BaseExpression, lines: list[str]) -> str:
        """The code of the indices of ``mask``, padded."""

    def row_index(self, mask: cst.BaseExpression, lines: list[str]) -> str:
        """The name of the index that selects the rows of ``mask``, padded."""

    def zero_padding(self, value: cst.BaseExpression, lines: list[str]) -> cst.BaseExpression:
        """``value`` with zeros for the padding."""

    def is_flat(self, mask: cst.BaseExpression) -> bool:
        """Whether ``mask`` is known to have one dimension."""


class StatementRewrite(cst.CSTTransformer):
    """Replaces searches, selections by a mask, and reads of the round's number; ``count`` is how many there were."""

    def __init__(self, rows: Rows, numbers: Sequence[cst.BaseExpression]) -> None:
        self.rows = rows
        self.numbers = numbers
        self.lines: list[str] = []
        self.count = 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        editor = self.rows.editor
        if original_node in self.numbers:
            self.count += 1
            return cst.Name(next(n for n in names(original_node) if n not in ("int", "item")))
        listed = updated_node.func.value if isinstance(updated_node.func, cst.Attribute) else None
        if called(updated_node) == "tolist" and isinstance(listed, cst.Name) and listed.value in self.rows.padded:
            self.count += 1
            return listed
        mask = next((m for call, m in searches(original_node, editor) if call is original_node), None)
        if mask is None:
            return updated_node
        self.count += 1
        found = self.rows.padded_indices(mask, self.lines)
        return cst.parse_expression(f"{found}.unbind(-1)" if gives_columns(original_node, editor) else found)

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        editor = self.rows.editor
        mask = next((m for node, m in masks_in(original_node, editor) if node is original_node), None)
        if mask is None:
            return updated_node
        self.count += 1
        rows = cst.Name(self.rows.row_index(mask, self.lines))
        is_mask = [isinstance(e.slice, cst.Index) and e.slice.value is mask for e in original_node.slice]
        if self.rows.is_flat(mask) or len(is_mask) == 1:
            pairs = zip(is_mask, updated_node.slice, strict=True)
            return updated_node.with_changes(
                slice=[element.with_changes(slice=cst.Index(rows)) if own else element for own, element in pairs]
            )
        elements: list[cst.BaseElement] = []
        for own, element in zip(is_mask, updated_node.slice, strict=True):
            if not isinstance(element.slice, cst.Index):
                raise Refuse(f"`{editor.code(original_node)}` is more than a choice of rows")
            elements.append(cst.StarredElement(rows) if own else cst.Element(element.slice.value))
        return updated_node.with_changes(slice=[cst.SubscriptElement(cst.Index(cst.Tuple(elements)))])

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        if original_node.value is not self.rows.add.value:
            return updated_node
        self.count += 1
        return updated_node.with_changes(value=self.rows.zero_padding(updated_node.value, self.lines))
