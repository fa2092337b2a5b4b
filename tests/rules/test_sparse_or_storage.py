"""An `out=` that grows, and what torch multiplies by a sparse tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

torch = pytest.importorskip("torch")

GROWN = """
import torch


def f(x: torch.Tensor):
    rows = torch.tensor([0, 2])
    out = {made}
    torch.index_select(x, 0, rows, out=out)
    return out * 2
"""

#: Two that hold as many numbers as the result.
FULL = {"x.new(2)", "x.new([1.0, 2.0])"}


@pytest.mark.parametrize("made", ["x.new()", "torch.empty(0)", *sorted(FULL)])
def test_an_empty_tensor_of_the_dtype_of_another_grows(tmp_path: Path, splits, made: str) -> None:
    file = tmp_path / "model.py"
    source = GROWN.format(made=made)
    file.write_text(source.replace("def f", "@torch.compile(backend='eager')\ndef f"))
    found = [(f.rule, f.location.line) for f in analyse([(file, "model.py")]).findings]
    assert found == ([] if made in FULL else [("GD509", 9)])
    assert splits(source, "f", torch.rand(4)) is (made not in FULL)


PRODUCT = """
import torch


class Net(torch.nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def forward(self, x):
        return {product}


net = Net(torch.eye(4).to_sparse())
"""


@pytest.mark.parametrize("product", ["torch.spmm(self.graph, x)", "torch.sparse.mm(self.graph, x)"])
def test_a_graph_that_a_module_was_given_is_sparse_where_a_function_of_sparse_tensors_gets_it(
    tmp_path: Path, splits, product: str
) -> None:
    file = tmp_path / "model.py"
    file.write_text(PRODUCT.format(product=product).partition("\n\n\nnet =")[0])
    assert [(f.rule, f.location.line) for f in analyse([(file, "model.py")]).findings] == [("GD509", 11)]
    assert splits(PRODUCT.format(product=product), "net", torch.rand(4, 4))
