"""What measurements come to."""

import pytest

from graphdoctor.bench.verdict import verdict
from graphdoctor.model.benchmark import Bench, Result, Timing
from graphdoctor.report.measurements.bench_rows import HEADINGS, rows


def result(
    strategy: str, milliseconds: float, cold: float | None = None, equal: bool | None = True, spread: float = 0.01
) -> Result:
    step = milliseconds / 1e3
    timing = Timing(step, (1 - spread) * step, (1 + spread) * step, 10)
    return Result(strategy, cold=cold, compilations=1 if cold else 0, timing=timing, equal=equal)


EAGER = result("eager", 10)


def of(*results: Result) -> Bench:
    return Bench("Net", "eval", "inductor", results)


# Planted timings, and what they come to: (worth, best), the sentence, and "paid back after" of each compiled strategy.
CASES = {
    "clearly best": (
        [EAGER, result("default", 5, cold=20)],
        (True, "default"),
        "Compile with the strategy default: 2.00 times as fast as eager (5 ms a step against 10 ms); its compilation "
        "(20.00 s) is paid back after 4,000 steps",
        ["4,000 steps"],
    ),
    "the fastest step decides, not the soonest compilation": (
        [EAGER, result("default", 7, cold=60), result("regional", 10.1, cold=8), result("dynamic", 7.5, cold=30)],
        (True, "default"),
        "Compile with the strategy default: 1.43 times as fast as eager (7 ms a step against 10 ms); its compilation "
        "(60.00 s) is paid back after 20,000 steps",
        ["20,000 steps", "cannot tell", "12,000 steps"],
    ),
    "a noisy one does not hide one that is faster for sure": (
        [EAGER, result("default", 7, cold=60), result("regional", 6.5, cold=8, spread=0.6)],
        (True, "default"),
        "Compile with the strategy default: 1.43 times as fast as eager (7 ms a step against 10 ms); its compilation "
        "(60.00 s) is paid back after 20,000 steps",
        ["20,000 steps", "cannot tell"],
    ),
    "two that cannot be told apart": (
        [EAGER, result("default", 5, cold=20), result("regional", 5.05, cold=8)],
        (True, "default"),
        "Compile with the strategy default: 2.00 times as fast as eager (5 ms a step against 10 ms); its compilation "
        "(20.00 s) is paid back after 4,000 steps; regional cannot be told from it (5.05 ms a step), compiles in "
        "8.00 s and is paid back after 1,617 steps",
        ["4,000 steps", "1,617 steps"],
    ),
    "a tie": (
        [EAGER, result("default", 9.9, cold=20)],
        (False, None),
        "Not worth compiling: default is the fastest and as fast as eager (9.9 ms a step against 10 ms): no gain of "
        "5 % is possible",
        ["cannot tell"],
    ),
    "quartiles that overlap, with a gain that may be one": (
        [EAGER, result("default", 8, cold=20, spread=0.4)],
        (None, None),
        "Cannot tell: default takes 8 ms a step against 10 ms in eager, and the quartiles of the two overlap; measure "
        "on a machine with less load, or longer with --seconds",
        ["cannot tell"],
    ),
    "slower": (
        [EAGER, result("default", 12, cold=20)],
        (False, None),
        "Not worth compiling: default is the fastest and 0.83 times as fast as eager (12 ms a step against 10 ms)",
        ["never"],
    ),
    "a gain that is real and too small": (
        [EAGER, result("default", 9.75, cold=60)],
        (False, None),
        "Not worth compiling: default is the fastest and 1.03 times as fast as eager (9.75 ms a step against 10 ms); "
        "its compilation (60.00 s) is paid back only after 240,000 steps",
        ["240,000 steps"],
    ),
    "one that compiled nothing is no way to compile": (
        [EAGER, result("default", 12, cold=20), result("regional", 9)],
        (False, None),
        "Not worth compiling: default is the fastest and 0.83 times as fast as eager (12 ms a step against 10 ms)",
        ["never", ""],
    ),
    "wrong outputs": (
        [EAGER, result("default", 1, cold=2, equal=False)],
        (None, None),
        "Nothing to compare: the outputs of default differ from eager's",
        [""],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_on_planted_timings_and_the_table_beside_it(name: str) -> None:
    results, expected, sentence, paid_back = CASES[name]
    found = verdict(of(*results))
    assert ((found.worth, found.best), found.sentence) == (expected, sentence)
    column = HEADINGS.index("paid back after")
    assert [row.cells[column] for row in rows(of(*results))] == ["", *paid_back]


def test_the_cache_is_no_strategy_of_its_own_but_shortens_the_compile_of_the_default() -> None:
    found = verdict(of(EAGER, result("default", 5, cold=20), result("cache", 4, cold=6)))
    assert found.best == "default"
    assert found.sentence.endswith("after 4,000 steps, and takes 6.00 s with saved cache artifacts")


@pytest.mark.parametrize("results", [(), (result("default", 5, cold=1),), (EAGER,), (EAGER, result("regional", 9))])
def test_without_two_measurements_there_is_nothing_to_compare(results) -> None:
    assert verdict(of(*results)).sentence.startswith("Nothing to compare")


def test_a_cache_that_saves_no_time_is_not_spoken_of() -> None:
    found = verdict(of(EAGER, result("default", 5, cold=20), result("cache", 4, cold=21)))
    assert found.sentence.endswith("after 4,000 steps")
