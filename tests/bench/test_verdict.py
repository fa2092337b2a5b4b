"""What measurements come to."""

import pytest

from graphdoctor.bench.verdict import verdict
from graphdoctor.model.benchmark import Bench, Result, Timing


def result(strategy: str, milliseconds: float, cold: float | None = None, equal: bool | None = True) -> Result:
    timing = Timing(milliseconds / 1e3, 0.98 * milliseconds / 1e3, 1.02 * milliseconds / 1e3, 10)
    return Result(strategy, cold=cold, timing=timing, equal=equal)


def of(*results: Result) -> Bench:
    return Bench("Net", "eval", "inductor", results)


def test_a_clear_gain_is_worth_it_and_says_when_it_is_paid_back() -> None:
    found = verdict(of(result("eager", 10), result("default", 5, cold=20)))
    assert (found.worth, found.best) == (True, "default")
    assert "2.00 times as fast as eager" in found.sentence
    assert "(20.0 s) is paid back after 4,000 steps" in found.sentence


def test_the_cache_is_no_strategy_of_its_own_but_shortens_the_compile_of_the_default() -> None:
    found = verdict(of(result("eager", 10), result("default", 5, cold=20), result("cache", 4, cold=6)))
    assert found.best == "default"
    assert found.sentence.endswith("after 4,000 steps, and takes 6.0 s with saved cache artifacts")


def test_a_slower_model_is_not_worth_compiling() -> None:
    found = verdict(of(result("eager", 10), result("default", 12, cold=20)))
    assert (found.worth, found.sentence) == (False, "Not worth compiling: default takes 120 % of eager's time")


def test_of_two_that_are_as_fast_the_one_that_compiles_sooner() -> None:
    found = verdict(of(result("eager", 10), result("default", 5, cold=20), result("regional", 5.1, cold=8)))
    assert found.best == "regional"


def test_overlapping_quartiles_give_no_verdict() -> None:
    noisy = Result("eager", timing=Timing(0.010, 0.004, 0.020, 10))
    assert verdict(of(noisy, result("default", 5, cold=20))).worth is None


def test_wrong_outputs_are_never_proposed() -> None:
    found = verdict(of(result("eager", 10), result("default", 1, cold=2, equal=False)))
    assert (found.worth, found.best) == (None, None)
    assert "the outputs of default differ from eager's" in found.sentence


@pytest.mark.parametrize("results", [(), (result("default", 5),), (result("eager", 5),)])
def test_without_two_measurements_there_is_nothing_to_compare(results) -> None:
    assert verdict(of(*results)).sentence.startswith("Nothing to compare")


def test_a_cache_that_saves_no_time_is_not_spoken_of() -> None:
    found = verdict(of(result("eager", 10), result("default", 5, cold=20), result("cache", 4, cold=21)))
    assert found.sentence.endswith("after 4,000 steps")
