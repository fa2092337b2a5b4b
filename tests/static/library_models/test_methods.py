"""Methods of what is not known."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Truth

NET = """
import torch
from elsewhere import made


class Net(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        {statement}
        return x
"""


def reads(found) -> int:
    """How often tensor data is read on the host."""
    return sum(isinstance(e, Truth) or (isinstance(e, Call) and e.qualname == "torch.Tensor.item") for e in found)


@pytest.mark.parametrize(
    "statement",
    [
        "n = self.inner(x).item()",
        "n = made(x).item()",
        "n = self.inner.scale.argmax().item()",
        "x = x + 1 if (self.inner(x) > 0).all() else x",
        "x = x + 1 if made(x).isnan().any() else x",
        "x = x + 1 if self.inner(x).max(dim=0)[0] > 0 else x",
        "x = x + 1 if self.inner(x).sum() > 0 else x",
        "x = x + 1 if made(x)[0].mean() > self.limit else x",
        "scores = self.inner(x)\n        x = x + 1 if scores[0].mean(dim=1, keepdim=True) > 0 else x",
    ],
)
def test_what_only_tensors_have_makes_a_tensor_of_it(events, statement) -> None:
    assert reads(events(NET.format(statement=statement))) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "x = x + 1 if self.inner.get(x) else x",
        "x = x + 1 if made(x).squeeze() else x",
        "x = x + 1 if made(x).max(axis=0) else x",
        "x = x + 1 if self.inner.of(x, dim=0) else x",
        "x = x + 1 if self.item() else x",
        "x = x + self.inner.item(index=0)",
        "x = x + 1 if self.inner.item else x",
    ],
)
def test_other_names_tell_nothing(events, statement) -> None:
    assert reads(events(NET.format(statement=statement))) == 0


def test_what_a_module_applies_is_called_with_each_module_in_it(events) -> None:
    found = events("""
        import torch
        import torch.nn as nn

        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.key = nn.Linear(8, 8)

            def forward(self, x):
                return self.key(x)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.cells = nn.ModuleList([Cell() for _ in range(2)])

            def forward(self, x):
                def watch(layer):
                    if isinstance(layer, Cell):
                        layer.key.register_forward_hook(print)

                self.apply(watch)
                return x
    """)
    called = [e.qualname for e in found if isinstance(e, Call) and e.site.function.endswith("watch")]
    assert called.count("torch.nn.Linear.register_forward_hook") == 1


@pytest.mark.parametrize(
    "read",
    [
        "[m.level(x) for m in self.modules() if isinstance(m, Layer)]",
        "[m.level(x) for m in self.children() if hasattr(m, 'level')]",
        "[m.level(x) for name, m in self.named_modules() if isinstance(m, Layer)]",
        "[m.level(x) for _, m in self.named_children() if name != 'other']",
        "self.get_submodule('layer').level(x)",
    ],
)
def test_methods_of_the_modules_that_a_walk_meets(events, read) -> None:
    found = events(f"""
        import torch
        from torch import nn

        class Layer(nn.Module):
            def level(self, x):
                return x.sum().item()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = Layer()
                self.linear = nn.Linear(2, 2)

            def forward(self, x, name: str):
                return {read}
    """)
    assert [e.qualname for e in found if isinstance(e, Call) and e.qualname.endswith("item")] == ["torch.Tensor.item"]


def test_the_memory_of_a_tensor_is_an_object_with_methods_of_its_own(events) -> None:
    found = events(NET.format(statement="x = x * x.untyped_storage().nbytes()"))
    names = [event.qualname for event in found if isinstance(event, Call)]
    assert names[-2:] == ["torch.Tensor.untyped_storage", "torch.Tensor.untyped_storage.nbytes"]
