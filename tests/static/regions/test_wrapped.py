"""Functions that ``functools.wraps`` puts in the place of others."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Truth

WRAPPER = """
import functools
import torch
from torch import nn

__all__ = ["scaled", "shifted", "Net"]

def traced(function):
    @functools.wraps(function)
    def wrapper({parameters}):
        return function({passed})
    return wrapper
"""
FUNCTIONS = """
@traced
def scaled(x, factor: int):
    return x if x.sum() > factor else x * factor

@traced
def shifted(x, *, by=0):
    return x if x.mean() > by else x + by
"""
NET = """
class Net(nn.Module):
    @traced
    def forward(self, x, steps: int):
        return x if x.sum() > steps else -x
"""


def decided(found) -> list[str]:
    return sorted(e.site.function for e in found if isinstance(e, Truth))


@pytest.mark.parametrize("parameters", ["*args, **kwargs", "x, *args, **kwargs", "x, **kwargs"])
def test_public_functions_are_entered_with_what_the_function_inside_takes(events, parameters):
    source = WRAPPER.format(parameters=parameters, passed=parameters) + FUNCTIONS
    assert decided(events(source)) == ["scaled", "shifted"]


@pytest.mark.parametrize("parameters", ["*args, **kwargs", "self, *args, **kwargs", "self, x, *args, **kwargs"])
def test_so_is_a_forward(events, parameters):
    assert decided(events(WRAPPER.format(parameters=parameters, passed=parameters) + NET)) == ["Net.forward"]


def test_what_takes_arguments_of_its_own_says_what_they_are(events):
    source = WRAPPER.format(parameters="self, steps: int", passed="self, steps, steps") + NET
    assert decided(events(source)) == []


def test_a_call_of_one_tells_what_its_arguments_are(events):
    source = (
        WRAPPER.format(parameters="*args, **kwargs", passed="*args, **kwargs")
        + """
@traced
def halved(x, steps):
    return x.abs() / steps

def entry(x):
    return halved(x, 2) if x > 0 else x

__all__ = ["entry"]
"""
    )
    assert decided(events(source)) == ["entry"]
