"""What is begun in the time that is left, on a clock that the tests move."""

from __future__ import annotations

from graphdoctor.dynamic.worker.budget import Budget


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_estimates_come_from_what_was_measured() -> None:
    clock = Clock()
    budget = Budget(100, clock)
    with budget.eager_run():
        clock.now += 2
    with budget.compiles():
        clock.now += 10
    assert budget.estimate(eager=3, compiles=2) == 3 * 2 + 2 * 10
    budget.know(eager=1, compiled=5)
    assert budget.estimate(eager=1, compiles=1) == 6


def test_a_tenth_of_the_limit_is_kept_for_wrong_estimates() -> None:
    clock = Clock()
    budget = Budget(100, clock)
    assert budget.seconds() == 90
    assert budget.seconds(share=0.25) == 25
    clock.now += 80
    assert budget.seconds(share=0.25) == 10
    assert budget.until(share=0.25) == clock.now + 10
    clock.now += 80
    assert budget.seconds() == 0


def test_refusals_say_what_is_missing() -> None:
    clock = Clock()
    budget = Budget(100, clock)
    assert budget.refusal(90) == ""
    assert budget.refusal(50, share=0.25) == "it would take about 50 s, more than 25% of the time limit of 100 s"
    clock.now += 60
    assert budget.refusal(50, share=0.25) == "it would take about 50 s, and 30 s of 100 s are left"
