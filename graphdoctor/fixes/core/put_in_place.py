"""Names replaced by their values."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst


class PutInPlace(cst.CSTTransformer):
    """Puts ``values`` in the places of names, also in one another; what is called like one, such as a method, stays."""

    def __init__(self, values: Mapping[str, cst.BaseExpression]) -> None:
        super().__init__()
        self.values = values

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        value = self.values.get(original_node.value)
        if value is None:
            return updated_node
        nested = value.visit(self)
        assert isinstance(nested, cst.BaseExpression)
        is_tight = isinstance(nested, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(nested.lpar)
        return nested if is_tight else nested.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)
