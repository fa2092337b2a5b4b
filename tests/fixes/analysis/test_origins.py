"""What a value in a class may come from."""

from __future__ import annotations

import libcst as cst
import pytest

from graphdoctor.fixes.analysis.origins import flows_of, origins

SOURCE = """\
class Net:
    def __init__(self, a):
        self.register_buffer("kept", a)
        self.set("named", self.other)

    def extra(self, n):
        for size in self.sizes:
            n += size
        return n * self.stride

    def apart(self, k):
        return k - self.width

    def forward(self, x):
        y = self.extra(x.shape[0])
        pairs = [z for z in self.listed if (w := self.walrus)]
        m: int = self.typed
        return ASKED
"""


@pytest.mark.parametrize(
    ("asked", "found", "others"),
    [
        ("y", {"stride", "sizes", "shape"}, {"width", "kept", "listed"}),
        ("self.kept", {"a"}, {"other", "stride", "width"}),
        ("self.named", {"other"}, {"a", "stride"}),
        ("z + w + m", {"listed", "walrus", "typed"}, {"stride", "width"}),
        ("self.apart(3)", {"width"}, {"stride"}),
    ],
)
def test_names_and_attributes(asked: str, found: set[str], others: set[str]) -> None:
    tree = cst.parse_module(SOURCE.replace("ASKED", "None"))
    owner = tree.body[0]
    assert isinstance(owner, cst.ClassDef)
    words = origins(cst.parse_expression(asked), flows_of(owner))
    assert found <= words
    assert not others & words
