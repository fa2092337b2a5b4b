"""What classes that derive from a container of torch hold."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Truth
from graphdoctor.static.domain.values import Tensor

HEAD = """\
import torch
from torch import nn


class Part:  # no module, which would be read by itself too
    def __call__(self, x):
        return x if x.sum() > 0 else -x


class Layer(nn.Sequential):
    def __init__(self, part):
        super().__init__(part)


"""
NET = """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {made}

    def forward(self, x):
        return self.body(x)
"""


@pytest.mark.parametrize(
    ("base", "made", "reached"),
    [
        ("def __init__(self, kind):\n        super().__init__(kind(), nn.ReLU())", "Body(Part)", True),
        ("def __init__(self, kind):\n        layers = [kind()]\n        super().__init__(*layers)", "Body(Part)", True),
        ("def __init__(self):\n        super().__init__()\n        self.add_module('a', Part())", "Body()", True),
        ("def __init__(self):\n        super().__init__()\n        self.append(Part())", "Body()", True),
        ("def __init__(self, kind):\n        super().__init__(nn.Linear(8, 8))", "Body(Part)", False),
        ("def __init__(self):\n        super().__init__()\n        self.part = Layer(Part())", "Body()", True),
        ("pass", "Body(Part())", True),
    ],
)
def test_a_sequential_of_ones_own_runs_what_it_was_given(events, base, made, reached):
    source = f"{HEAD}class Body(nn.Sequential):\n    {base}\n{NET.format(made=made)}"
    found = [e for e in events(source) if type(e) is Truth]
    assert bool(found) is reached


def test_the_class_of_a_layer_that_a_constructor_takes_is_not_called_for_each_input(events):
    base = (
        "def __init__(self, kind):\n        layers = [nn.Conv2d(3, 8, 3), kind(8)]\n        super().__init__(*layers)"
    )
    source = f"{HEAD}class Body(nn.Sequential):\n    {base}\n{NET.format(made='Body(nn.BatchNorm2d)')}"
    made = [e.qualname for e in events(source) if type(e) is Call and "BatchNorm2d" in e.qualname]
    assert [name for name in made if not name.endswith(".forward")] == []


@pytest.mark.parametrize(
    ("body", "made", "reached"),
    [
        ("pass", "Parts([Part()])", True),
        ("def __init__(self, first):\n        super().__init__([first])", "Parts(Part())", True),
        ("def __init__(self):\n        super().__init__()\n        self.append(Part())", "Parts()", True),
        ("pass", "Parts([nn.Linear(8, 8)])", False),
        ("pass", "Parts()", False),
    ],
)
def test_a_list_of_ones_own_holds_what_it_was_given(events, body, made, reached):
    call = "\n\n    def __call__(self, x):\n        for part in self:\n            x = part(x)\n        return x\n"
    source = f"{HEAD}class Parts(list):\n    {body}{call}{NET.format(made=made)}"
    assert bool([e for e in events(source) if type(e) is Truth]) is reached


@pytest.mark.parametrize(
    ("build", "reached"),
    [
        ("nn.Sequential(OrderedDict([('a', nn.Linear(8, 8)), ('b', Part())]))", True),
        ("nn.Sequential(OrderedDict(a=Part()))", True),
        ("nn.Sequential(dict([('a', Part())]))", True),
        ("nn.Sequential(named(3))", True),
        ("nn.Sequential(OrderedDict([('a', nn.Linear(8, 8))]))", False),
        ("nn.Sequential(OrderedDict())", False),
        # A list of pairs as long as a table of names is not looked into.
        (f"nn.Sequential(OrderedDict([{', '.join(f'({n}, Part())' for n in range(65))}]))", False),
    ],
)
def test_what_a_dict_holds_is_in_the_sequential_made_of_it(events, build: str, reached: bool) -> None:
    named = (
        "from collections import OrderedDict\n\n\ndef named(count):\n    layers = OrderedDict()\n"
        "    for i in range(count * 5):\n        layers[f'part{i}'] = Part()\n    return layers\n"
    )
    found = [e for e in events(HEAD + named + NET.format(made=build)) if type(e) is Truth]
    assert bool(found) is reached


@pytest.mark.parametrize(
    ("base", "reached"),
    [
        ("super().__init__(OrderedDict([('a', Check(positive)), ('b', nn.Linear(8, 8))]))", True),
        ("super().__init__(Check(lambda x: x.sum() > 0), nn.Linear(8, 8))", True),
        ("super().__init__(Check(), nn.Linear(8, 8))", False),
        ("super().__init__(nn.Linear(8, 8))", False),
    ],
)
def test_a_sequential_of_ones_own_that_nothing_holds_is_a_region(events, base: str, reached: bool) -> None:
    source = f"""
        from collections import OrderedDict
        from torch import nn

        def positive(x):
            return x.sum() > 0

        class Check(nn.Module):
            def __init__(self, test=None):
                super().__init__()
                self.test = test

            def forward(self, x):
                return x if self.test is not None and self.test(x) else -x

        class Body(nn.Sequential):
            def __init__(self):
                {base}
    """
    found = [e for e in events(source) if type(e) is Truth and isinstance(e.value, Tensor)]
    assert bool(found) is reached
