"""Which guard made Dynamo compile again, in the reasons of one function, one list for each compilation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graphdoctor.breaks.recompiles.decisive_guard import Compilations

FLAG, GRAD = "0/{}: flag == {}", "0/{}: GLOBAL_STATE changed: grad_mode "
LISTED = "0/{}: ___check_type_id(xs, 140), type=<class '{}'>"
SIZE, DTYPE = (
    "0/{}: tensor 'b' size mismatch at index 0. expected {}, actual {}",
    "0/{}: tensor 'a' dtype mismatch. expected Float, actual Half",
)
STRIDE = "0/{}: tensor 'a' stride mismatch at index 1. expected 1, actual 4"
WEIGHTS, EPS, STEP = "0/{}: weights is None", "0/{}: eps == 1e-06", "0/{}: self.step == {}"

NEW_BESIDE_FLAGS = (
    [FLAG.format(0, False)],
    [LISTED.format(0, "list"), FLAG.format(1, True)],
    [GRAD.format(2), FLAG.format(1, True), GRAD.format(0)],
    [GRAD.format(3), LISTED.format(2, "tuple"), FLAG.format(1, True), DTYPE.format(0)],
    [FLAG.format(4, False), GRAD.format(3), LISTED.format(2, "tuple"), FLAG.format(0, False)],
)
AS_BEFORE = (
    [SIZE.format(0, 4, 1)],
    [SIZE.format(1, 1, 4), WEIGHTS.format(0)],
    [DTYPE.format(2), SIZE.format(1, 1, 4), WEIGHTS.format(0)],
    [DTYPE.format(3), STRIDE.format(2), SIZE.format(1, 1, 4), STRIDE.format(0)],
    [STRIDE.format(4), DTYPE.format(3), WEIGHTS.format(2), SIZE.format(1, 1, 4), EPS.format(0)],
)
COUNTER_BESIDE_MODE = (
    [STEP.format(0, 0)],
    [GRAD.format(1), GRAD.format(0)],
    [GRAD.format(2), STEP.format(1, 1), STEP.format(0, 0)],
    [GRAD.format(3), STEP.format(2, 2), GRAD.format(1), GRAD.format(0)],
)
GROWS, GRADIENT = "0/{}: len(self.seen) == {}", "0/{}: tensor 'x' requires_grad mismatch. expected requires_grad={}"
#: The discriminator of a GAN: every second call has a gradient, and each call finds a longer list.
LIST_BESIDE_GRADIENT = (
    [GROWS.format(0, 0)],
    [GRADIENT.format(1, 0), GRADIENT.format(0, 0)],
    [GRADIENT.format(2, 1), GROWS.format(1, 1), GROWS.format(0, 0)],
    [GRADIENT.format(3, 0), GROWS.format(2, 2), GRADIENT.format(1, 0), GRADIENT.format(0, 0)],
)
ANOTHER_FUNCTION = ([LISTED.format(0, "list")], [LISTED.format(1, "tuple"), DTYPE.format(0)])


@pytest.mark.parametrize(
    ("compilations", "kinds"),
    [
        (NEW_BESIDE_FLAGS, ["value", "type", "state", "dtype", "value"]),
        (AS_BEFORE, ["size", "presence", "dtype", "stride", "value"]),
        (COUNTER_BESIDE_MODE, ["attribute", "state", "attribute", "attribute"]),
        (LIST_BESIDE_GRADIENT, ["length", "requires_grad", "length", "length"]),
        (ANOTHER_FUNCTION, ["type", "dtype"]),
    ],
)
def test_a_compilation_has_the_cause_that_those_before_it_leave(
    compilations: Sequence[list[str]], kinds: list[str]
) -> None:
    made = Compilations()
    found = [made.guard_of(reasons, 0, number) for number, reasons in enumerate(compilations, 1)]
    assert [guard.kind for guard in found] == kinds


def test_functions_do_not_share_their_causes() -> None:
    made = Compilations()
    assert made.guard_of([GRAD.format(0)], 0, 1).kind == "state"
    reasons = ["1/0: GLOBAL_STATE changed: grad_mode ", "1/1: tensor 'a' dtype mismatch. expected Float, actual Half"]
    assert made.guard_of(reasons, 1, 2).kind == "state"


def test_of_guards_on_one_thing_the_first_is_told() -> None:
    made = Compilations()
    made.guard_of([SIZE.format(0, 4, 5)], 0, 1)
    assert made.guard_of(["0/1: 2 <= b.size()[0]", SIZE.format(0, 4, 1)], 0, 2).zero_one
