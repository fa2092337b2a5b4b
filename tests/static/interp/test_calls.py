"""Calls are followed as Dynamo inlines them."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Convert, Truth
from graphdoctor.static.domain.values import Tensor

HEAD = """
        import functools
        import torch
        from torch import nn
"""


def items(found):
    return sorted({e.site.function for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"})


@pytest.mark.parametrize(
    ("body", "function"),
    [
        pytest.param(
            """
        def helper(v):
            return v.item()

        def f(x):
            return helper(x)
        """,
            "helper",
            id="helper",
        ),
        pytest.param(
            """
        def f(x):
            def inner():
                return x.item()
            return inner()
        """,
            "f.inner",
            id="closure",
        ),
        pytest.param(
            """
        def scale(k, v):
            return v.item() * k

        def f(x):
            return functools.partial(scale, 2)(x)
        """,
            "scale",
            id="partial",
        ),
        pytest.param(
            """
        def f(x):
            return (lambda v: v.item())(x)
        """,
            "f.<lambda>",
            id="lambda",
        ),
        pytest.param(
            """
        def twice(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                fn(*args, **kwargs)
                return fn(*args, **kwargs)
            return wrapper

        @twice
        def g(v, *, k=1):
            return v.item()

        def f(x):
            return g(x, k=2)
        """,
            "g",
            id="decorator",
        ),
        pytest.param(
            """
        def f(x):
            return list(map(lambda v: v.item(), [x, x]))
        """,
            "f.<lambda>",
            id="map",
        ),
        pytest.param(
            """
        def f(x):
            return torch.utils.checkpoint.checkpoint(g, x, use_reentrant=False)

        def g(v):
            return v.item()
        """,
            "g",
            id="checkpoint",
        ),
        pytest.param(
            """
        class Box:
            def __init__(self, v):
                self.v = v

            @property
            def number(self):
                return self.v.item()

        def f(x):
            return Box(x).number
        """,
            "Box.number",
            id="property",
        ),
        pytest.param(
            """
        class Box:
            def __init__(self, v):
                self._v = v

            @property
            def number(self):
                return self._v.item()

            @number.setter
            def number(self, v):
                self._v = v

        def f(x):
            return Box(x).number
        """,
            "Box.number",
            id="property with a setter",
        ),
        pytest.param(
            """
        class Box:
            @property
            def number(self):
                return self._v

            @number.setter
            def number(self, v):
                self._v = v.item()

            @number.deleter
            def number(self):
                del self._v

        def f(x):
            Box().number = x
        """,
            "Box.number",
            id="setter",
        ),
        pytest.param(
            """
        class Base(nn.Module):
            def read(self, v):
                return v.item()

        class Net(Base):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleDict({"a": nn.Sequential(nn.Linear(4, 4), nn.ReLU())})

            def forward(self, v):
                return self.read(self.blocks["a"](v))

        f = Net()
        """,
            "Base.read",
            id="base class and containers",
        ),
        pytest.param(
            """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                return v * v.max().item()

            @staticmethod
            def backward(ctx, g):
                return g

        def f(x):
            return Double.apply(x)
        """,
            "Double.forward",
            id="autograd function",
        ),
        pytest.param(
            """
        class Double(torch.autograd.Function):
            @classmethod
            def forward(cls, ctx, v):
                return v * v.max().item()

            @classmethod
            def backward(cls, ctx, g):
                return g

        def f(x):
            return Double.apply(x)
        """,
            "Double.forward",
            id="autograd function of classmethods",
        ),
        pytest.param(
            """
        class Layer:
            def slope_of(self, g):
                return g * g.max().item()

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v, layer):
                ctx.layer = layer
                return v * 2

            @staticmethod
            def backward(ctx, g):
                return ctx.layer.slope_of(g), None

        def f(x):
            return Double.apply(x, Layer())
        """,
            "Layer.slope_of",
            id="what the forward of an autograd function keeps for its backward",
        ),
    ],
)
def test_a_call_is_followed(events, body, function):
    found = events(
        HEAD
        + body
        + """
        def graphdoctor_target():
            return f, (torch.rand(1),)
        """
    )
    assert items(found) == [function]


def test_recursion_ends(events):
    found = events("""
        import torch

        def f(x, n):
            if n == 0:
                return x.item()
            return f(x, n - 1) + g(x, n)

        def g(x, n):
            return f(x, n)

        def graphdoctor_target():
            return f, (torch.rand(1), 1000)
    """)
    assert items(found) == ["f"]


def test_disabled_and_opaque_functions_are_not_followed(events):
    found = events("""
        import torch

        @torch.compiler.disable
        def eager(x):
            return x.item()

        @torch.library.custom_op("a::b", mutates_args=())
        def op(x: torch.Tensor) -> torch.Tensor:
            return x.item()

        def f(x):
            eager(x)
            return op(x)

        def graphdoctor_target():
            return f, (torch.rand(1),)
    """)
    assert items(found) == []
    names = ["torch.compiler.disable.__call__", "torch.library.custom_op.__call__"]
    assert [e.qualname for e in found if isinstance(e, Call)] == names


@pytest.mark.parametrize(
    "line",
    ["from helpers import read", "from helpers import read as read", "import helpers\nread = helpers.read"],
)
def test_helpers_of_other_files_are_followed(events, line):
    found = events(
        f"import torch\n{line}\n"
        "def f(x):\n    return read(x)\n"
        "def graphdoctor_target():\n    return f, (torch.rand(1),)\n",
        helpers="def read(v):\n    return v.item()\n",
    )
    assert [e.site.module.file.name for e in found if isinstance(e, Call)] == ["helpers.py"]


def test_imports_only_for_type_checking_are_not_loaded(events):
    found = events(
        """
        from typing import TYPE_CHECKING
        import torch
        if TYPE_CHECKING:
            from helpers import *

        class Net(torch.nn.Module):
            def forward(self, x):
                return read(x)
        """,
        helpers="def read(v):\n    return v.item()\n",
    )
    assert found == []


def test_only_the_first_layer_of_a_constructor_is_met(events):
    found = events("""
        import torch

        class Inner(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.q = torch.nn.Linear(4, 4)
                self.k = torch.nn.Linear(4, 4)

        class Net(torch.nn.Module):
            def forward(self, x):
                Inner()
                return x.sum().item()
    """)
    made = [e for e in found if isinstance(e, Call) and e.qualname == "torch.nn.Linear"]
    assert [e.site.module.location(e.node).line for e in made] == [7]
    assert items(found) == ["Net.forward"]


def test_modules_put_in_a_module_dict_by_unknown_names_are_called(events):
    found = events("""
        import torch

        class Adapter(torch.nn.Module):
            def forward(self, x):
                print("adapted")
                return x

        class Net(torch.nn.Module):
            def __init__(self, config):
                super().__init__()
                self.adapters = torch.nn.ModuleDict({})
                for language in config.languages:
                    self.adapters[str(language)] = Adapter()

            def forward(self, x):
                for language in self.adapters.keys():
                    x = self.adapters[language](x)
                return x
    """)
    blocks = [e.site.whole_frame for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert [(block.function, block.keyword) for block in blocks if block] == [("Net.forward", "for")]


def test_a_tensor_stays_one_where_the_callee_is_annotated_otherwise(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def crop(self, x: torch.Tensor, sizes: list[tuple[int, int]]):
                for height, width in sizes:
                    x = x[:height, :width]
                return x

            def forward(self, x: torch.Tensor, sizes: list[tuple[int, int]] | None = None):
                if sizes is None:
                    sizes = torch.tensor([x.shape]).repeat(2, 1)
                return self.crop(x, sizes)
    """)
    assert {e.how for e in found if isinstance(e, Convert)} == {"slice"}


def test_what_is_a_tensor_by_custom_alone_is_what_the_callee_is_annotated_with(events):
    found = events("""
        import torch

        class Pad(torch.nn.Module):
            def forward(self, x: torch.Tensor, inference: bool = False):
                return x * 2 if inference else x

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.pad = Pad()

            def forward(self, x, inference):
                return self.pad(x, inference=inference)
    """)
    assert not any(isinstance(e, Truth) and isinstance(e.value, Tensor) for e in found)
