"""What ``==`` says of None and of values that are never equal to it."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse

torch = pytest.importorskip("torch")
counters = pytest.importorskip("torch._dynamo.utils").counters

CODE = """\
import torch

def f(x):
    pair, named = (x, x), {{"x": x}}
    if {test}:
        return x.sum().item()
    return x * 2

def graphdoctor_target():
    return f, (torch.rand(4),)
"""


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ("x == None", False),
        ("x != None", True),
        ("named == None", False),
        ("None != named", True),
        ("pair == None", False),
        ("pair != None and x is not None", True),
        ("[] == None", False),
    ],
)
def test_tensors_and_containers_are_never_equal_to_none(tmp_path, test, holds):
    file = tmp_path / "f.py"
    file.write_text(CODE.format(test=test))
    found = [(f.location.line, f.confidence) for f in analyse([(file, "f.py")]).findings]
    assert found == ([(6, "certain")] if holds else [])
    namespace = {}
    exec(file.read_text(), namespace)
    torch._dynamo.reset()
    counters.clear()
    torch.compile(namespace["f"], backend="eager")(torch.rand(4))
    assert bool(counters["graph_break"]) is holds
