"""A target that is written as a call."""

from __future__ import annotations

import pytest

from graphdoctor.source.called_target import compiled_name, problem

TEXT = "class Net(Module): ...\ndef make(width): ...\n"


@pytest.mark.parametrize("target", ["Net", "zoo.Net", "Net()", "zoo.make(4, name='a(b')", "Net(Config(layers=2))"])
def test_names_and_calls_of_names_are_targets(target: str) -> None:
    assert problem(target) == ""


@pytest.mark.parametrize("target", ["Net(", "Net(4) + 1", "Net(4)(5)", "Net(4).encoder", "(Net)(4);", "Net(\0)"])
def test_other_expressions_are_not(target: str) -> None:
    assert problem(target).startswith(f"--target {target!r} is no name and no call: give one")


@pytest.mark.parametrize(
    ("target", "name"), [("Net", "Net"), ("make", "make"), ("Net(4)", "Net"), ("make(4)", None), ("gone(4)", None)]
)
def test_a_function_that_is_called_makes_what_is_compiled_and_is_not(target: str, name: str | None) -> None:
    assert compiled_name(target, TEXT) == name
