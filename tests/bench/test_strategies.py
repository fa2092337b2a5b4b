"""The names of strategies, without torch."""

import pytest

from graphdoctor.bench.strategies import STRATEGIES, UnknownStrategy, chosen, share, why_not


def test_no_name_means_all() -> None:
    assert chosen(()) == tuple(STRATEGIES)


def test_eager_always_comes_first() -> None:
    assert chosen(["regional", "default"]) == ("eager", "default", "regional")


def test_the_cache_brings_the_strategy_that_fills_it() -> None:
    assert chosen(["cache"]) == ("eager", "default", "cache")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownStrategy, match="no strategy 'fast': choose among eager, default"):
        chosen(["fast"])


def test_the_modes_are_those_of_inductor() -> None:
    import torch._inductor

    from graphdoctor.bench.strategies import MODES

    assert {*MODES, "default"} >= set(torch._inductor.list_mode_options())


@pytest.mark.parametrize(
    ("strategy", "mode", "backend", "reason"),
    [
        ("optimizer", "eval", "inductor", "needs --mode train"),
        ("optimizer", "train", "inductor", None),
        ("max-autotune", "eval", "eager", "needs the backend inductor"),
        ("cache", "eval", "aot_eager", "needs the backend inductor"),
        ("regional", "eval", "eager", None),
    ],
)
def test_why_a_strategy_is_left_out(strategy, mode, backend, reason) -> None:
    assert why_not(strategy, mode, backend) == reason


@pytest.mark.parametrize(
    ("strategy", "others", "seconds"), [("eager", True, 100), ("default", True, 50), ("max-autotune", False, 100)]
)
def test_no_strategy_but_eager_and_the_last_takes_all_the_time(strategy: str, others: bool, seconds: float) -> None:
    assert share(strategy, 100, others) == seconds
