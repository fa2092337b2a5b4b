"""What ``issubclass`` says of classes that are known, as code that serves tensors and arrays asks."""

from __future__ import annotations

import pytest
import torch

from graphdoctor.static.domain.events import Call, GetAttr
from tests.static.conftest import places

SOURCE = """
import collections.abc

import numpy as np
import torch


class Tagged(torch.Tensor):
    pass


class Layer(torch.nn.Module):
    pass


class Plain:
    pass


class Derived(Plain):
    pass


@torch.compile(backend="eager")
def f(x):
    if issubclass({one}, {other}):
        print(True)
    else:
        print(False)
    return x
"""


def verdicts(events, one: str, other: str) -> set[bool]:
    """What ``issubclass(one, other)`` may be."""
    found = events(SOURCE.format(one=one, other=other))
    return {e.args[0].value for e in found if isinstance(e, Call) and e.qualname == "builtins.print"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("torch.Tensor", "torch.Tensor"),
        ("torch.Tensor", "np.ndarray"),
        ("torch.Tensor", "(int, torch.Tensor)"),
        ("torch.Tensor", "(int, list)"),
        ("torch.Tensor", "object"),
        ("torch.Tensor", "Tagged"),
        ("np.ndarray", "torch.Tensor"),
        ("bool", "int"),
        ("int", "bool"),
        ("Tagged", "torch.Tensor"),
        ("Tagged", "np.ndarray"),
        ("Layer", "torch.nn.Module"),
        ("Layer", "Plain"),
        ("Plain", "torch.nn.Module"),
        ("Derived", "Plain"),
        ("Plain", "Derived"),
        ("Plain", "torch.Tensor"),
        ("Plain", "object"),
    ],
)
def test_what_is_known_of_a_class_decides_as_in_python(events, one, other):
    names: dict[str, object] = {}
    exec(SOURCE.format(one=one, other=other), names)
    assert verdicts(events, one, other) == {eval(f"issubclass({one}, {other})", names)}


@pytest.mark.parametrize(
    ("one", "other"), [("list", "collections.abc.Iterable"), ("Plain", "collections.abc.Hashable")]
)
def test_a_class_that_others_may_be_registered_with_may_be_either(events, one, other):
    assert verdicts(events, one, other) == {True, False}


CONVERTING = """
import numpy as np
import torch


def convert(data, wanted):
    if issubclass(wanted, torch.Tensor):
        return torch.as_tensor(data)
    return np.asarray(data)


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * 2 if convert(x, torch.Tensor).dtype == torch.float32 else x


def f(x):
    return Net()(x)
"""


def test_a_helper_that_converts_to_the_wanted_class_returns_no_other(events, splits):
    assert not splits(CONVERTING, "f", torch.ones(2))
    assert places(events(CONVERTING), GetAttr) == []
