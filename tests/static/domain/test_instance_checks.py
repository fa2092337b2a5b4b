"""What ``isinstance`` and ``issubclass`` say of classes that are known, as code that serves several kinds asks."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, GetAttr
from graphdoctor.static.domain.values import Seq
from tests.static.conftest import places

torch = pytest.importorskip("torch")

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


OBJECTS = """
import collections.abc
import queue

import click
import torch
import outside.layers


class Layer(torch.nn.Module):
    pass


class Named(Layer):
    pass


class Linear(torch.nn.Linear):
    pass


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = {made}

    def forward(self, x):
        if isinstance(self.held, {wanted}):
            print(True)
        else:
            print(False)
        return x
"""


@pytest.mark.parametrize(
    ("made", "wanted", "answers"),
    [
        ("Layer()", "torch.nn.Linear", {False}),
        ("Layer()", "click.Command", {False}),
        ("Linear(2, 2)", "torch.nn.Linear", {True}),
        ("Linear(2, 2)", "torch.nn.modules.linear.Linear", {True, False}),
        ("Linear(2, 2)", "click.Command", {True, False}),
        ("Layer()", "collections.abc.Sized", {True, False}),
        ("Named()", "outside.layers.Named", {True, False}),
        ("click.Command('a')", "click.Command", {True}),
        ("click.Command('a')", "click.Group", {True, False}),
        ("queue.Queue()", "queue.Queue", {True}),
        ("{'size': 2}", "collections.abc.Mapping", {True}),
        ("{'size': 2}", "collections.abc.Sequence", {False}),
        ("[2, 3]", "collections.abc.Mapping", {False}),
        ("(2, 3)", "collections.abc.Iterable", {True}),
    ],
)
def test_an_object_is_of_its_own_class_and_not_of_one_of_another_library(events, made, wanted, answers):
    found = events(OBJECTS.replace("{made}", made).replace("{wanted}", wanted))
    assert {e.args[0].value for e in found if isinstance(e, Call) and e.qualname == "builtins.print"} == answers


BACKENDS = """
import click
import torch


class Pool:
    def take(self, x):
        return x + 1


class Net(torch.nn.Module):
    def __init__(self, fast: bool):
        super().__init__()
        self.held = click.Command("run")
        if fast:
            self.held = Pool()

    def forward(self, x):
        if isinstance(self.held, click.Command):
            return self.held.invoke(x)
        return self.held.take(x)
"""


def test_the_other_arm_has_no_object_of_the_class_that_was_asked_for(events):
    assert [e.qualname for e in events(BACKENDS) if isinstance(e, Call) and "click" in e.qualname] == [
        "click.Command.invoke"
    ]


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


@pytest.mark.parametrize(
    ("made", "wanted", "answers"),
    [
        ("Layer()", "Layer | torch.nn.Linear", {True}),
        ("Layer()", "click.Command | torch.nn.Linear | None", {False}),
        ("None", "int | None", {True}),
        ("[1]", "int | list | None", {True}),
        ("2", "int | float", {True}),
        ("2", "list | tuple", {False}),
    ],
)
def test_a_union_is_asked_for_as_its_classes_are(events, made, wanted, answers):
    found = events(OBJECTS.replace("{made}", made).replace("{wanted}", wanted))
    assert {e.args[0].value for e in found if isinstance(e, Call) and e.qualname == "builtins.print"} == answers


def test_flags_are_no_union(events):
    found = events("""
        import re
        import torch

        @torch.compile
        def f(x):
            return re.compile("a", re.MULTILINE | re.DOTALL)
    """)
    (made,) = [e for e in found if isinstance(e, Call) and e.qualname == "re.compile"]
    assert not isinstance(made.args[1], Seq)
