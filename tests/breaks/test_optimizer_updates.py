"""Functions that only take the steps of optimizers."""

from __future__ import annotations

import pytest

from graphdoctor.breaks.optimizer_updates import is_of_optimizer, takes_steps_only

STEP = "Attempted to call function marked as skipped\n  Developer debug context: module: torch.optim.adam, qualname: Adam.step"
TEXT = """\
def update():
    "The update alone."
    opt.step()
    sched.step()
def train(x):
    loss(x).backward()
    opt.step()
    run = torch.compile(lambda: opt.step())
    both = torch.compile(lambda: (opt.step(), f(x)))
opt.step()
"""


@pytest.mark.parametrize(
    ("line", "expected"), [(3, True), (4, True), (6, False), (7, False), (8, True), (9, False), (10, False)]
)
def test_a_function_is_an_update_where_it_does_nothing_but_call_step(line: int, expected: bool) -> None:
    assert takes_steps_only(TEXT, line) is expected


def test_the_step_of_something_else_is_not_of_an_optimizer() -> None:
    assert is_of_optimizer(STEP)
    assert not is_of_optimizer(STEP.replace("torch.optim.adam", "gymnasium.env"))


def test_a_text_that_cannot_be_read_has_no_updates() -> None:
    assert not takes_steps_only("def update(:", 1)
