"""Names that are replaced by their values."""

from __future__ import annotations

import libcst as cst
import pytest

from graphdoctor.fixes.core.put_in_place import PutInPlace


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("clamp * 2", "(top - 1) * 2"),
        ("torch.clamp(x, min=-clamp, max=clamp)", "torch.clamp(x, min=-(top - 1), max=(top - 1))"),
        ("f(clamp=clamp, y=low)", "f(clamp=(top - 1), y=x[0])"),
        ("low.clamp", "x[0].clamp"),
        ("both + 1", "g((top - 1)) + 1"),
    ],
)
def test_what_is_called_like_a_name_stays(code: str, expected: str) -> None:
    values = {name: cst.parse_expression(text) for name, text in VALUES.items()}
    changed = cst.parse_expression(code).visit(PutInPlace(values))
    assert isinstance(changed, cst.CSTNode) and cst.Module([]).code_for_node(changed) == expected


VALUES = {"clamp": "top - 1", "low": "x[0]", "both": "g(clamp)"}
