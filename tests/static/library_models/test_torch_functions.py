"""What functions of torch give."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call, Convert, Truth

torch = pytest.importorskip("torch")


def test_a_variable_is_the_tensor_that_it_is_made_of(events) -> None:
    found = events("""
        import torch
        from torch.autograd import Variable

        class Net(torch.nn.Module):
            def forward(self, x):
                return Variable(torch.zeros(3)).unsqueeze(0) + x
    """)
    assert [e.qualname for e in found if isinstance(e, Call)] == [
        "torch.zeros",
        "torch.autograd.Variable",
        "torch.Tensor.unsqueeze",
    ]


@pytest.mark.parametrize("join", ["cat", "row_stack", "column_stack"])
def test_masks_that_are_joined_are_a_mask(events, join) -> None:
    found = events(f"""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, n: int):
                mask = torch.{join}([torch.ones(n, dtype=torch.bool), torch.zeros(n, dtype=torch.bool)])
                return 1 if mask else 0
    """)
    assert [e.value.dtype for e in found if isinstance(e, Truth)] == ["bool"]


@pytest.mark.parametrize(
    ("made", "ndim"),
    [
        ("torch.unique(x, return_counts=True)[1]", 1),
        ("torch.unique(x, return_inverse=True)[1]", None),
        ("torch.unique(x, return_inverse=True, return_counts=True)[2]", 1),
        ("torch.unique(x, return_counts=True, dim=0)[0]", None),
        ('torch.einsum("ij,kj->ik", x, x)', 2),
        ('torch.einsum("...j,kj->...k", x, x)', None),
        ("torch.min(torch.zeros(2, 3), dim=1)[1]", 1),
        ('torch.min(torch.einsum("ij,kj->ik", x, x), dim=1)[1]', 1),
        ('torch.min(torch.einsum("ij,kj->ik", x, x), dim=1, keepdim=True)[1]', 2),
        ('torch.sort(torch.einsum("ij,kj->ik", x, x))[0]', 2),
    ],
)
def test_how_many_dimensions_a_function_gives(events, made: str, ndim: int | None) -> None:
    found = events(f"""
        import torch

        @torch.compile
        def f(x):
            if {made}:
                return x
            return x + 1
    """)
    assert [e.value.ndim for e in found if isinstance(e, Truth)] == [ndim]


@pytest.mark.parametrize(
    "call",
    ["conv1d(x, w, None, 1, n)", "conv2d(x, w, padding=n)", "conv_transpose1d(x, w, dilation=n)", "max_pool1d(x, n)"],
)
def test_sizes_of_convolutions_and_pools_are_numbers(events, call) -> None:
    found = events(
        f"""
        import torch
        import torch.nn.functional as F

        class Net(torch.nn.Module):
            def forward(self, x, w):
                n = x.argmax()
                return F.{call}
        """
    )
    assert [e.how for e in found if isinstance(e, Convert)] == [call.partition("(")[0]]


@pytest.mark.parametrize(
    ("build", "called"),
    [
        ("load(name='scan', sources=['scan.cpp'])", ["<extension>.scan.forward"]),
        ("load_inline('scan', cpp_sources='', functions=['forward'])", ["<extension>.scan.forward"]),
        ("load(name=NAME, sources=[])", ["<extension>.built.forward"]),
        ("load(name='scan', sources=[], is_python_module=False)", []),
    ],
)
def test_an_extension_that_is_built_when_the_module_is_imported(events, build, called) -> None:
    found = events(f"""
        import os
        import torch
        from torch.utils.cpp_extension import load, load_inline

        NAME = os.environ["NAME"]
        scan = {build}

        class Net(torch.nn.Module):
            def forward(self, x):
                return scan.forward(x)
    """)
    assert [e.qualname for e in found if isinstance(e, Call) and e.qualname.startswith("<extension>")] == called


@pytest.mark.parametrize(
    "asked",
    [
        "torch._C._get_tracing_state()",
        "torchvision._is_tracing()",
        "torch._C._are_functorch_transforms_active()",
        "torch._C._functorch.is_batchedtensor(x)",
    ],
)
def test_nothing_is_traced_by_jit_or_transformed_under_compile(events, asked) -> None:
    found = events(f"""
        import torch
        import torchvision

        class Net(torch.nn.Module):
            def forward(self, x):
                if {asked}:
                    print(x)
                return x
    """)
    assert not [e for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]


@pytest.mark.parametrize("asked", ["are_deterministic_algorithms_enabled", "is_anomaly_enabled"])
def test_what_torch_does_only_when_it_is_asked_for_is_possible(events, asked) -> None:
    found = events(f"""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                if torch.{asked}():
                    print(x)
                return x
    """)
    assert [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == [True]


NUMBERS = """
import torch
import torch.nn.functional as F


def f(x, n):
    low, high = x.min(), x.abs().max() / 9
    return {call}


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        return f(x, n)
"""


@pytest.mark.parametrize(
    "call",
    [
        "torch.fft.fftfreq(n[0])",
        "torch.fft.rfftfreq(4, d=high)",
        "torch.fft.irfft(x, n=n[0])",
        "torch.addr(x, x[0], x[1], alpha=-low)",
        "x.addmv(x[0], x, beta=low) if x.dim() == 1 else torch.addmv(x[0], x, x[1], beta=low)",
        "torch.kaiser_window(4, True, low)",
        "torch.cdist(x, x, p=high)",
        "torch.isclose(x, x, atol=high)",
        "x.nan_to_num(low)",
        "x.diag(n[1])",
        "x.clone().log_normal_(low)",
        "torch.histc(x, 4, -high, high)",
        "F.cross_entropy(x, n - 1, label_smoothing=high)",
        "F.triplet_margin_loss(x, x, x, margin=high)",
        "F.scaled_dot_product_attention(x, x, x, scale=high)",
    ],
)
def test_numbers_that_functions_ask_for_are_read(events, splits, call: str) -> None:
    source = NUMBERS.format(call=call)
    assert splits(source, "f", torch.rand(3, 3), torch.tensor([3, 1, 2]))
    assert any(isinstance(e, Convert) for e in events(source))


@pytest.mark.parametrize("einsum", ["contract", 'partial(contract, backend="torch")'])
def test_opt_einsum_gives_a_tensor(events, einsum: str) -> None:
    found = events(f"""
        from functools import partial

        import torch
        from opt_einsum import contract

        einsum = {einsum}

        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return einsum("ij,jk->ik", x, x).reshape(-1)
    """)
    assert [e.qualname for e in found if isinstance(e, Call)] == ["opt_einsum.contract", "torch.Tensor.reshape"]


@pytest.mark.parametrize(
    ("rows", "breaks"),
    [
        ("torch.min(torch.as_tensor(4), torch.as_tensor(x.shape[0]))", False),
        ("torch.maximum(torch.tensor(2), torch.tensor(1))", False),
        ("torch.min(torch.as_tensor(4), n)", True),
    ],
)
def test_what_is_computed_of_constants_is_one(events, splits, rows: str, breaks: bool) -> None:
    source = f"import torch\n\n\ndef f(x: torch.Tensor, n: torch.Tensor):\n    return x.reshape({rows}, -1)\n"
    assert splits(source, "f", torch.rand(2, 4), torch.tensor(2)) is breaks
    sizes = [e.value for e in events(f"{source}\n\ng = torch.compile(f)\n") if isinstance(e, Convert)]
    assert [size.constant for size in sizes] == [not breaks]


CHOSEN = """
import torch.nn.functional as F
from torch import nn


class Adapter(nn.Module):
    def __init__(self, kind, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
        if kind == "linear":
            self.op, self.options = {other}, {{}}
        else:
            self.op, self.options = F.group_norm, {{"eps": 1e-5}}

    def forward(self, x):
        return self.op(x, self.weight.sum(), None, **self.options)
"""


@pytest.mark.parametrize(("other", "numbers"), [("F.linear", [True]), ("F.group_norm", [False])])
def test_one_of_several_functions_that_wants_a_number_is_not_the_one_that_gets_a_tensor(events, other, numbers):
    found = events(CHOSEN.format(other=other))
    assert [e.site.untaken for e in found if isinstance(e, Convert)] == numbers


@pytest.mark.parametrize(
    ("made", "breaks"),
    [
        ("torch.as_tensor(n)", False),
        ("torch.asarray(n, dtype=torch.int64)", False),
        ("torch.as_tensor(n) + 1", True),
        ("torch.as_tensor(n, dtype=torch.float32)", True),
    ],
)
def test_a_tensor_made_of_an_argument_is_the_argument(tmp_path, splits, made: str, breaks: bool) -> None:
    source = (
        f"import torch\n\n\ndef f(x, n):\n    return torch.arange({made}) + x.sum()\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(2), torch.tensor(4))\n"
    )
    file = tmp_path / "source.py"
    file.write_text(source)
    assert [f.rule for f in analyse([(file, file.name)]).findings] == ["GD215"] * breaks
    assert splits(source, "f", torch.rand(2), torch.tensor(4)) == breaks
