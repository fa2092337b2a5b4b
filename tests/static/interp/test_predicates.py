"""What a test that stands in a helper says of its argument, and of the trace."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.value_functions import may_be_tensor
from tests.static.conftest import places


@pytest.mark.parametrize(
    ("helper", "test"),
    [
        ("def exists(value):\n    return value is not None", "exists(mask)"),
        ("def missing(value):\n    '''Whether it is None.'''\n    return value is None", "not missing(mask)"),
        ("is_tensor = lambda value: isinstance(value, torch.Tensor)", "is_tensor(mask)"),
    ],
)
def test_a_helper_narrows_its_argument(events, helper, test):
    source = f"""import torch
from torch import Tensor

{helper}

class Net(torch.nn.Module):
    def forward(self, x, mask: Tensor | None = None):
        if {test}:
            return x
        else:
            if mask:
                return x * 2
        return x
"""
    assert places(events(source), Truth) == []


def test_what_is_no_tensor_is_not_taken_for_one(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, limit):
                if isinstance(limit, torch.Tensor):
                    return x * limit
                elif limit > 0.0:
                    return x
                return -x
        """
    )
    assert places(found, Truth) == []


def test_in_the_branch_for_numbers_an_assumed_tensor_is_a_number(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, limit):
                if isinstance(limit, (int, float)):
                    if limit > 0.0:
                        return x
                return x * limit
        """
    )
    assert places(found, Truth) == []


FLAG = """
    import torch

    NEW = int(torch.__version__.split(".")[1]) >= 3
    ask = getattr(torch.compiler, "is_compiling", None) or getattr(torch._dynamo, "is_compiling", None)
    flag = torch.nn.Parameter(torch.ones(()))
"""


@pytest.mark.parametrize(
    "helper",
    [
        "if NEW:\n            return torch.compiler.is_compiling()\n        return False",
        "return bool(ask()) if ask is not None else False",
    ],
)
def test_a_helper_that_asks_torch_says_that_it_compiles(events, helper):
    found = events(f"""{FLAG}
    @torch.jit.unused
    def compiling():
        {helper}

    class Net(torch.nn.Module):
        def forward(self, x):
            if x.device.type == "cpu" and not compiling() and x.sum() > 0:
                return x
            return -x
    """)
    assert not [e for e in found if type(e) is Truth and may_be_tensor(e.value)]


@pytest.mark.parametrize("name", ["is_torchdynamo_compiling", "is_dynamo_compiling", "is_compiling"])
def test_a_function_of_a_package_that_is_not_there_is_known_by_its_name(events, name):
    found = events(f"""
    import torch
    from elsewhere.utils import {name}

    class Net(torch.nn.Module):
        def forward(self, x):
            if not {name}() and x.sum() > 0:
                return x
            return -x
    """)
    assert not [e for e in found if type(e) is Truth and may_be_tensor(e.value)]


def test_a_helper_that_says_the_contrary_is_not_taken_for_one(events):
    found = events(f"""{FLAG}
    def eager():
        if NEW:
            return not torch.compiler.is_compiling()
        return True

    class Net(torch.nn.Module):
        def forward(self, x):
            if eager():
                return x
            return -x if x.sum() > 0 else x
    """)
    assert [e for e in found if type(e) is Truth and may_be_tensor(e.value)]


@pytest.mark.parametrize(("decorator", "reaches"), [("", False), ("@renamed\n", True)])
def test_a_function_is_told_by_its_name(events, decorator, reaches):
    found = events(
        f"""
import torch
from other import renamed

{decorator}def smooth(x):
    return x.sigmoid()

class Net(torch.nn.Module):
    def __init__(self, gate=smooth):
        super().__init__()
        self.gate = gate

    def forward(self, x):
        if self.gate.__name__ == "hard":
            if x.sum() > 0:
                return x
        return self.gate(x)
"""
    )
    assert bool(places(found, Truth)) is reaches


def test_of_several_functions_the_named_one_is_called_behind_the_test(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("""\
import torch

def scaled(x, t):
    return x * t

def hard(x, dim=-1):
    return x.cumsum(dim)

def soft(x, dim=-1):
    return x.softmax(dim)

FUNCTIONS = {"scaled": scaled, "hard": hard, "soft": soft}

class Net(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.function = FUNCTIONS[kind]
        self.t = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        if self.function.__name__ == "scaled":
            return self.function(x, self.t[0])
        if self.function.__name__ != "hard":
            return self.function(x)
        return self.function(x, x.argmax())
""")
    assert [f.location.line for f in analyse([(path, "m.py")]).findings] == [7]


def test_a_test_of_the_class_says_nothing_after_both_sides(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("""\
from typing import Union
import torch
from torch import Tensor
class Net(torch.nn.Module):
    def forward(self, x: Tensor, n: Union[int, Tensor]):
        if isinstance(n, Tensor):
            x = x + 1
        else:
            x = x + 2
        return x, n.item() if isinstance(n, Tensor) else n
""")
    assert [f.confidence for f in analyse([(path, "m.py")]).findings] == ["possible"]
