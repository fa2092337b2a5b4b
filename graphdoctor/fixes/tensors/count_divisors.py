"""Divisions by a count in the side of a choice that is taken where the count is not 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.model.findings import Edit


def without_zero(edit: Edit, counts: Mapping[str, str]) -> Edit:
    """``torch.where(n == 0, x, x / n)`` divides by 1 where nothing was counted: a gradient would be NaN, not zero."""
    try:
        tree = cst.parse_module(edit.text)
    except cst.ParserSyntaxError:
        return edit
    changed = tree.visit(_Divisors(counts))
    return edit if changed.deep_equals(tree) else replace(edit, text=changed.code)


class _Divisors(cst.CSTTransformer):
    """In the side of a choice that is taken where a count is not 0, what divides by the count."""

    def __init__(self, counts: Mapping[str, str]) -> None:
        self.counts = counts

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if len(original_node.args) != 3 or called(original_node) != "where":
            return updated_node
        test = cst.Module([]).code_for_node(original_node.args[0].value)
        for name, divisor in self.counts.items():
            sides = {f"{name} == 0": 2, f"{name} > 0": 1, f"{name} != 0": 1}
            if test in sides:
                args = list(updated_node.args)
                value = args[sides[test]].value.visit(_Divisor(name, divisor))
                assert isinstance(value, cst.BaseExpression)
                args[sides[test]] = args[sides[test]].with_changes(value=value)
                return updated_node.with_changes(args=args)
        return updated_node


class _Divisor(cst.CSTTransformer):
    """``x / n`` with another ``n``."""

    def __init__(self, name: str, divisor: str) -> None:
        self.name = name
        self.divisor = cst.parse_expression(divisor)

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        right = original_node.right
        is_count = isinstance(right, cst.Name) and right.value == self.name
        if not isinstance(original_node.operator, cst.Divide) or not is_count:
            return updated_node
        return updated_node.with_changes(right=self.divisor)
