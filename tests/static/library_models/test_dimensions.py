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
        ("x.sum(1, keepdim=True)", True),
        ("x.max(1, keepdim=True)[1]", True),
        ("x.argmax(1, keepdim=b > 1)", False),
        ("x.sum(dtype=torch.float64)", True),
        ("x.argmax(-1)", True),
        ("torch.max(x, x)", True),
        ("x.max(1)[0]", True),
        ("torch.topk(x.mean(dim=(0, 1, 2)), 2)[1][0]", True),
        ("torch.fft.irfft(torch.fft.rfft(x, dim=-1).conj(), dim=-1)", True),
        ("x.gather(1, x.argsort(1))", True),
        ("torch.zeros(b, n, 2)", True),
        ("torch.zeros((b, n))", True),
        ("torch.ones(x.shape)", True),
        ("torch.full((b, n, 2), 1.0)", True),
        ("x.new_zeros(b, n)", True),
        ("x.new_ones((b, n, 3))", True),
        ("x.new_full((b, n), 0)", True),
        ("x.new_full(size=(b, n), fill_value=0)", True),
        ("x.new_empty(x.shape)", True),
        ("torch.randint(0, 9, (b * n, 2))", True),
        ("torch.randint(9, size=(b, n))", True),
        ("torch.einsum('bijk,bijk->bi', x, x)", True),
        ("x.squeeze(1)", False),
        ("x.clone().squeeze_(1)", False),
        ("x.clone().resize_(6)", False),
        ("x[0, 0].clone().t_()", True),
        ("x.clone().mul_(2).fill_(1)", True),
        ("x.flatten(1)", False),
        ("torch.cartesian_prod(torch.arange(b), torch.arange(n))", True),
        ("torch.cartesian_prod(torch.arange(n))", False),
        ("torch.combinations(torch.arange(n))", True),
        ("torch.cat([x, x.sum(1, keepdim=True)], 1)", True),
        ("torch.cat([x, torch.zeros(0)])", False),
        ("torch.stack([x.mean(1) for _ in range(b)])", True),
        ("torch.stack([x, x[:1].expand_as(x)])", False),
        ("x[0, 0].mm(x[0, 1].t())", True),
        ("x[0].bmm(x[1].transpose(1, 2))", True),
        ("x[0, 0, 0].dot(x[0, 0, 1])", True),
        ("torch.dot(x[0, 0, 0], x[0, 0, 1])", True),
        ("torch.cdist(x, x)", True),
        ("x[0, 0, 0].expand(b, n, 5)", True),
        ("x[0].eq(x)", True),
        ("torch.where(x[0] > 0, x, 0.0)", True),
        ("torch.max(x, x.mean())", True),
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


RESHAPED = """\
import torch


@torch.compile(backend="eager")
def f(x: torch.Tensor):
    x = x * 2
    order = torch.arange(4)
    order.{change}
    return x[{index}]
"""


@pytest.mark.parametrize(
    ("change", "index", "breaks"),
    [
        ("unsqueeze_(0)", "order[0]", False),
        ("unsqueeze_(0)", "order[0, 1]", True),
        ("resize_(4)", "order[:1]", True),
        ("neg_()", "order[0]", True),
    ],
)
def test_what_reshapes_a_tensor_in_place_changes_its_dimensions(tmp_path, splits, change, index, breaks):
    file = tmp_path / "order.py"
    file.write_text(RESHAPED.format(change=change, index=index))
    found = [f for f in analyse([(file, file.name)]).findings if f.severity == "error"]
    assert bool(found) is breaks
    assert splits(file.read_text(), "f", torch.rand(4)) is breaks


GROWN = """\
import torch


@torch.compile(backend="eager")
def f(x, p):
    n = x.shape[1]
    x = torch.cat([x, {new}], 1)
    token = x[0, n]
    return p[0, token]


def graphdoctor_target():
    return f, (torch.randint(0, 9, (1, 6)), torch.rand(1, 9))
"""


@pytest.mark.parametrize(
    ("new", "severity"), [("p.argmax(-1, keepdim=True)", ["error"]), ("p.flatten(1).argmax(-1, keepdim=True)", [])]
)
def test_an_element_of_what_was_joined_is_a_number(tmp_path, splits, new, severity):
    """Where the source does not show that it is one, only a run says so."""
    file = tmp_path / "draft.py"
    file.write_text(GROWN.format(new=new))
    found = [f for f in analyse([(file, file.name)]).findings if f.rule == "GD215"]
    assert [f.severity for f in found if f.confidence != "possible"] == severity and found
    assert splits(file.read_text(), "f", torch.randint(0, 9, (1, 6)), torch.rand(1, 9))
