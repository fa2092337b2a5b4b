"""A function of a module is found by its qualified name, with its body."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.syntax.module import SourceModule

TEXT = """\
class Net:
    def forward(self, x):
        def inner(y):
            return y
        return inner(x)

    class Head:
        def forward(self, x):
            return -x


if True:
    def build(n):
        return n
"""


@pytest.mark.parametrize(
    ("qualname", "returned"),
    [("Net.forward", "inner(x)"), ("Net.forward.inner", "y"), ("Net.Head.forward", "-x"), ("build", "n")],
)
def test_a_function_is_found_with_its_body(qualname: str, returned: str) -> None:
    module = SourceModule("net.py", Path("net.py"), TEXT, "utf-8")
    function = module.function(qualname)
    assert function is not None
    last = cst.ensure_type(function.body.body[-1], cst.SimpleStatementLine).body[0]
    assert module.code(cst.ensure_type(last, cst.Return)) == f"return {returned}"
    # It is the one of the whole tree.
    assert module.function(qualname) is function and module.tree is module.top


@pytest.mark.parametrize("qualname", ["Net", "Net.backward", "forward", "Net.forward.other", "build.forward"])
def test_nothing_else_is_found(qualname: str) -> None:
    assert SourceModule("net.py", Path("net.py"), TEXT, "utf-8").function(qualname) is None
