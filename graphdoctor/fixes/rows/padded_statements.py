"""Rewrites the statements of a loop over selected rows for a fixed number of rows in each round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.selected_rows import (
    is_mask,
    made_from,
    one_in_each_row,
    searches,
)
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.rows.row_sums import RowSum
from graphdoctor.fixes.rows.statement_rewrite import StatementRewrite
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.syntax.walk import walk


class PaddedStatements:
    """Rewrites one statement after another; the search for the rows of a mask comes before their first use."""

    def __init__(
        self, masks: Sequence[cst.BaseExpression], add: RowSum, padded: frozenset[str], editor: Editor
    ) -> None:
        self.editor = editor
        self.add = add
        self.padded = padded
        self._routed = editor.fresh("routed")
        self._smallest = _smallest(masks, editor)
        self._searches = 0
        #: By the code of a mask: its name, and what indexes by its rows.
        self._names: dict[str, str] = {}
        self._rows: dict[str, str] = {}
        #: By the names that a search binds: the mask.
        self._searched: dict[tuple[str, ...], cst.BaseExpression] = {}

    def statement(
        self, statement: cst.BaseSmallStatement, numbers: Sequence[cst.BaseExpression], by: int
    ) -> Iterator[Edit]:
        """The edit of ``statement``, which moves left by ``by`` levels; none where it stays as it is.

        ``numbers`` are expressions that read the number of the round, which is a Python number now.
        """
        editor = self.editor
        indent = editor.indent_of(statement)
        if isinstance(statement, cst.Assign):
            found = [mask for _, mask in searches(statement.value, editor)]
            if len(found) == 1:
                bound = tuple(n.value for n in _elements(statement.targets[0].target))
                self._searched[bound] = found[0]
        change = StatementRewrite(self, numbers)
        if statement is self.add.statement and self.add.kind != "call":
            self._give_back(change)
        else:
            changed = statement.visit(change)
            assert isinstance(changed, cst.BaseSmallStatement)
            if isinstance(changed, cst.Assign) and changed.value.deep_equals(changed.targets[0].target):
                yield editor.delete(statement)
                return
            if not change.count:
                return
            change.lines.append(self._code(changed.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)))
        indent = indent[: len(indent) - by * len(editor.indent)]
        lines = (line.replace(editor.newline, editor.newline + indent) for line in change.lines)
        yield editor.replace(statement, editor.lines(indent, *lines))

    def _code(self, node: cst.CSTNode) -> str:
        """The code of ``node``, whose lines are moved. Refuses strings of several lines, which would change."""
        code = self.editor.module.tree.code_for_node
        texts = (n for n in walk(node) if isinstance(n, (cst.SimpleString, cst.FormattedString)))
        if any(self.editor.newline in code(text) for text in texts):
            raise Refuse("a string of several lines would be moved")
        return code(node)

    def zero_padding(self, value: cst.BaseExpression, lines: list[str]) -> cst.BaseExpression:
        """``value`` with zeros for the padding."""
        known = tensor_of(self.editor.value(self.add.value))
        routed, ndim = self._routed, known.ndim if known is not None else None
        if ndim == 0:
            raise Refuse(f"`{self.editor.code(self.add.value)}` may join the rows")
        if ndim is None:
            name = value.value if isinstance(value, cst.Name) else self.editor.fresh("values")
            if not isinstance(value, cst.Name):
                lines.append(f"{name} = {self._code(value)}")
            value, routed = cst.Name(name), f"{routed}[(...,) + (None,) * ({name}.ndim - 1)]"
        elif ndim > 1:
            routed += f"[:{', None' * (ndim - 1)}]"
        plain = value.with_changes(lpar=[], rpar=[])
        arguments = [cst.Arg(cst.parse_expression(routed)), cst.Arg(plain), cst.Arg(cst.Integer("0"))]
        return cst.Call(cst.parse_expression("torch.where"), arguments)

    def _give_back(self, change: StatementRewrite) -> None:
        """The lines that give the rows back, with ``index_put_`` for the index."""
        editor, add = self.editor, self.add
        out = editor.code(add.out)
        value = add.value.visit(change)
        assert isinstance(value, cst.BaseExpression)
        indices, mask = self._index(change.lines)
        values, new = editor.fresh("values"), editor.fresh("new")
        kept = editor.module.tree.code_for_node(self.zero_padding(cst.Name(values), change.lines))
        change.lines += [f"{values} = {self._code(value)}", f"{values} = {kept}.to({out}.dtype)"]
        if add.kind == "add":
            change.lines.append(f"{out}.index_put_({indices}, {values}, accumulate=True)")
            return
        change.lines += [
            f"{new} = torch.zeros_like({out}).index_put({indices}, {values}, accumulate=True)",
            f"{out}.copy_(torch.where({self._over(mask)}, {new}, {out}))",
        ]

    def _over(self, mask: str) -> str:
        """``mask`` with the dimensions that the result has after its own."""
        known, out, index = tensor_of(self.editor.value(self.add.out)), self.editor.code(self.add.out), self.add.index
        is_one = len(index) == 1 and (not is_mask(index[0], self.editor) or self.is_flat(index[0]))
        if is_one and known is not None and known.ndim == 2:
            return f"{mask}[..., None]"
        return f"{mask}[(...,) + (None,) * ({out}.ndim - {mask}.ndim)]"

    def _index(self, lines: list[str]) -> tuple[str, str]:
        """The indices of the result as a tuple, and the name of the mask that selects just them."""
        editor, index = self.editor, self.add.index
        if len(index) == 1 and is_mask(index[0], editor):
            rows = self.row_index(index[0], lines)
            return (f"({rows},)" if self.is_flat(index[0]) else rows), self._name(index[0], lines)
        plain = [editor.code(i) for i in index]
        if not plain or any(i not in self.padded for i in plain):
            raise Refuse(f"`{editor.code(self.add.statement)}` does not give back the rows that the loop selects")
        mask = self._searched.get(tuple(plain))
        if mask is None and self.add.kind == "write":
            raise Refuse(f"`{', '.join(plain)}` may have a row twice")
        text = f"({plain[0]},)" if len(plain) == 1 else f"({', '.join(plain)})"
        return text, self._name(mask, lines) if mask is not None else ""

    def padded_indices(self, mask: cst.BaseExpression, lines: list[str]) -> str:
        """The name of the indices of ``mask``: a matrix, padded with zeros."""
        self._searches += 1
        number = "" if self._searches == 1 else str(self._searches)
        name, found = self._name(mask, lines), self.editor.fresh(f"found{number}")
        smallest = self._names.get(self.editor.code(self._smallest), self.editor.code(self._smallest))
        size = f"{smallest}[..., 0]" if one_in_each_row(self._smallest, self.editor) else smallest
        lines.append(f"{found} = torch.nonzero_static({name}, size={size}.numel())")
        if not number:
            lines.append(f"{self._routed} = {found}[:, 0] >= 0")
        return f"{found}.clamp(min=0)"

    def row_index(self, mask: cst.BaseExpression, lines: list[str]) -> str:
        """The name of what indexes by the rows of ``mask``: a tensor where the mask is flat, else a tuple."""
        code = self.editor.code(mask)
        if code not in self._rows:
            found = self.padded_indices(mask, lines)
            number = "" if not self._rows else str(len(self._rows) + 1)
            self._rows[code] = self.editor.fresh(f"rows{number}")
            lines.append(f"{self._rows[code]} = {found}{'[:, 0]' if self.is_flat(mask) else '.unbind(-1)'}")
        return self._rows[code]

    def is_flat(self, mask: cst.BaseExpression) -> bool:
        """Whether ``mask`` is known to have one dimension."""
        known = tensor_of(self.editor.value(mask))
        return known is not None and known.ndim == 1

    def _name(self, mask: cst.BaseExpression, lines: list[str]) -> str:
        code = self.editor.code(mask)
        if code not in self._names:
            made = sum(code != name for code, name in self._names.items())
            name = code if isinstance(mask, cst.Name) else self.editor.fresh(f"mask{made + 1 if made else ''}")
            if name != code:
                plain = mask.with_changes(lpar=[], rpar=[]) if self.editor.newline not in code else mask
                lines.append(f"{name} = {self._code(plain)}")
            self._names[code] = name
        return self._names[code]


def _elements(target: cst.BaseAssignTargetExpression) -> Iterator[cst.Name]:
    nodes = [e.value for e in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]
    yield from (node for node in nodes if isinstance(node, cst.Name))


def _smallest(masks: Sequence[cst.BaseExpression], editor: Editor) -> cst.BaseExpression:
    """The mask with the fewest elements. Refuses masks of which one was not made from another."""
    for mask in sorted(masks, key=lambda m: -len(list(made_from(m, editor)))):
        sources = {editor.code(node): fewer for node, fewer in made_from(mask, editor)}
        others = ({editor.code(node): fewer for node, fewer in made_from(m, editor)} for m in masks)
        if all(editor.code(m) in sources or (set(o) & set(sources)) for m, o in zip(masks, others, strict=True)):
            return mask
    raise Refuse("the loop selects by several masks, which are not shown to select as many rows")
