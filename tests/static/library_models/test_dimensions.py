"""The number of dimensions of results is that of torch."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.values import Const

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("x.permute(0, 2, 3, 1).contiguous()", True),
        ("torch.permute(x, (3, 0, 1, 2))", True),
        ("x.transpose(1, 2)", True),
        ("x.view(b, n, -1)", True),
        ("x.reshape((b, -1))", True),
        ("x.view(-1)", True),
        ("x.view(x.shape)", True),
        ("x.view(torch.int32)", False),
        ("x.unsqueeze(0)", True),
        ("x.mean(dim=1)", True),
        ("torch.mean(x, 1)", True),
        ("x.sum((1, 2))", True),
        ("x.amax(dim=[0, 1, 2, 3])", True),
        ("x.sum(1, keepdim=True)", False),
        ("x.sum(dtype=torch.float64)", True),
        ("x.argmax(-1)", True),
        ("torch.max(x, x)", False),
        ("x.max(1)[0]", True),
        ("torch.topk(x.mean(dim=(0, 1, 2)), 2)[1][0]", True),
        ("torch.fft.irfft(torch.fft.rfft(x, dim=-1).conj(), dim=-1)", True),
        ("x.gather(1, x.argsort(1))", True),
        ("torch.zeros(b, n, 2)", True),
        ("torch.einsum('bijk,bijk->bi', x, x)", True),
        ("x.squeeze(1)", False),
        ("x.flatten(1)", False),
        ("torch.cartesian_prod(torch.arange(b), torch.arange(n))", True),
        ("torch.cartesian_prod(torch.arange(n))", False),
        ("torch.combinations(torch.arange(n))", True),
    ],
)
def test_dimensions_are_those_of_torch(events, expression, known):
    found = events(f"""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                b, n, h, w = x.shape
                print(({expression}).ndim)
    """)
    [printed] = [e.args[0] for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    x = torch.rand(2, 3, 4, 5)
    counted = eval(expression, {"torch": torch, "x": x, "b": 2, "n": 3}).ndim
    assert (isinstance(printed, Const), getattr(printed, "value", counted)) == (known, counted)


ORDER = """\
import torch


@torch.compile(backend="eager")
def f(x: torch.Tensor):
    b, n, h, w = x.shape
    kept = torch.tensor([0, 1])
    order = torch.topk(x.mean(dim=1).mean(dim=1).mean(dim=0), 3)[1]
    return x[:, :, :, {index}]
"""


@pytest.mark.parametrize(("index", "breaks"), [("order[0]", True), ("order[:1]", False), ("order[kept]", False)])
def test_an_element_of_an_order_is_a_number_where_the_shape_was_unpacked(tmp_path, splits, index, breaks):
    file = tmp_path / "order.py"
    file.write_text(ORDER.format(index=index))
    assert [f.rule for f in analyse([(file, file.name)]).findings if f.severity == "error"] == ["GD215"] * breaks
    assert splits(file.read_text(), "f", torch.rand(2, 3, 4, 5)) is breaks
