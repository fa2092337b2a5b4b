"""Rewrites of a branch, right and wrong on the side that the sample does not take, in eager on varied inputs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from graphdoctor.dynamic.numerics.perturbed_calls import Varying
from graphdoctor.dynamic.user_code.default_loss import default_loss
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.model.runs import Varied

Forward = Callable[[nn.Module, torch.Tensor], torch.Tensor]


class Net(nn.Module):
    def __init__(self, body: Forward) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.body = body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self, x)


def branch(net: Any, x: torch.Tensor) -> torch.Tensor:
    return x * net.weight if x.sum() > 0 else -x * net.weight.exp()


def select(net: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.sum() > 0, x * net.weight, -x * net.weight.exp())


def one_side(net: Any, x: torch.Tensor) -> torch.Tensor:
    return x * net.weight


def root(net: Any, x: torch.Tensor) -> torch.Tensor:
    return (x * net.weight).sqrt() if x.min() > 0 else x * net.weight


def select_root(net: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.min() > 0, (x * net.weight).sqrt(), x * net.weight)


def spare_logarithm(net: Any, x: torch.Tensor) -> torch.Tensor:
    logarithm = (x * net.weight).log()
    return logarithm if x.min() > 0 else x * net.weight


def select_logarithm(net: Any, x: torch.Tensor) -> torch.Tensor:
    logarithm = (x * net.weight).log()
    return torch.where(x.min() > 0, logarithm, x * net.weight)


def select_logarithm_of_more(net: Any, x: torch.Tensor) -> torch.Tensor:
    return select_logarithm(net, x) + torch.where(x.min() > 0, 0, net.weight)


def guard(net: Any, x: torch.Tensor) -> torch.Tensor:
    if x.isnan().any():
        raise ValueError("bad")
    return x * net.weight


def other_guard(net: Any, x: torch.Tensor) -> torch.Tensor:
    if x.isnan().any():
        raise RuntimeError("bad")
    return x * net.weight


def varying(folder: Path, body: Forward, mode: Any, inputs: Any = None) -> Varying:
    given = torch.tensor([0.5, 1.0, 2.0]) if inputs is None else inputs

    def call(sample: Sample) -> tuple[Any, torch.Tensor | None]:
        outputs = sample.function(*sample.args)
        loss = default_loss(outputs) if mode == "train" else None
        if loss is not None:
            loss.backward()
        return outputs, loss

    target = Target("Net", lambda: Sample(Net(body), (given,)), torch.device("cpu"))
    return Varying(target, mode, call, lambda s: (s.function(*s.args), None), folder, gradients=mode == "train")


def compared(folder: Path, original: Forward, fixed: Forward, mode: Any) -> Varied:
    varying(folder, original, mode).record(set(), lambda found: None)
    return varying(folder, fixed, mode).check()


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_right_rewrite_holds_on_all_inputs(tmp_path: Path, mode: str) -> None:
    found = compared(tmp_path, branch, select, mode)
    assert found.differs == "" and found.calls >= 10
    # Where an infinity makes the side that is not taken overflow, torch.where gives NaN.
    overflow = "with one infinity in each input: gradient of weight: values differ: NaN in one and not in the other"
    assert found.changes == (overflow if mode == "train" else "")


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_side_that_the_sample_does_not_take_is_compared(tmp_path: Path, mode: str) -> None:
    found = compared(tmp_path, branch, one_side, mode)
    assert found.differs.startswith("with the inputs negated: output: values differ by up to ")


def test_a_gradient_that_becomes_nan_is_seen_in_train_mode_alone(tmp_path: Path) -> None:
    assert compared(tmp_path, root, select_root, "eval").differs == ""
    found = compared(tmp_path, root, select_root, "train")
    assert found.differs.startswith("with the inputs negated: gradient of ")


def test_a_nan_gradient_refutes_nothing_where_the_original_has_no_number(tmp_path: Path) -> None:
    found = compared(tmp_path, spare_logarithm, select_logarithm, "train")
    assert found.differs == ""
    assert found.changes.endswith("gradient of input[0]: values differ: NaN in one and not in the other")
    found = varying(tmp_path, select_logarithm_of_more, "train").check()
    assert found.differs.startswith("with the inputs negated: output: values differ by up to ")


def _sum(grouped: bool, factor: float = 1.0) -> Forward:
    """Of terms that cancel with parameters of 100: float32 keeps four digits, which depend on what is added first."""

    def body(net: Any, x: torch.Tensor) -> torch.Tensor:
        large, some, more = x * net.weight**4, x.sin() * net.weight**2, x.exp() * net.weight**2
        total = large + (some + more) if grouped else large + some + more
        return (total - large) * factor

    return body


def test_sums_in_another_order_differ_by_rounding_alone(tmp_path: Path) -> None:
    x = torch.linspace(0.1, 2.0, 150).reshape(50, 3)
    one_sided = {("net.py", 1, True)}
    varying(tmp_path, _sum(grouped=False), "eval", x).record(one_sided, lambda found: None)
    assert varying(tmp_path, _sum(grouped=True), "eval", x).check().differs == ""
    wrong = varying(tmp_path, _sum(grouped=True, factor=1.001), "eval", x).check()
    assert wrong.differs.startswith("with the inputs as they are: output: values differ by up to ")


def _imprecise(grouped: bool, factor: float = 1.0) -> Forward:
    """A step that both orders share loses more digits than the sum in which they differ."""

    def body(net: Any, x: torch.Tensor) -> torch.Tensor:
        shared = (x * net.weight**2 * 8 + x.cos()) - x * net.weight**2 * 8
        large, some, more = x * net.weight * 40, x.sin(), x.exp()
        total = large + (some + more) if grouped else large + some + more
        return (shared + (total - large)) * factor

    return body


def test_what_two_orders_share_may_round_more_than_what_they_differ_in(tmp_path: Path) -> None:
    x = torch.linspace(0.1, 2.0, 150).reshape(50, 3)
    one_sided = {("net.py", 1, True)}
    varying(tmp_path, _imprecise(grouped=False), "eval", x).record(one_sided, lambda found: None)
    assert varying(tmp_path, _imprecise(grouped=True), "eval", x).check().differs == ""
    assert varying(tmp_path, _imprecise(grouped=True, factor=1.01), "eval", x).check().differs


def test_exceptions_are_told_from_results(tmp_path: Path) -> None:
    assert compared(tmp_path, guard, guard, "eval").changes == ""
    found = compared(tmp_path, guard, other_guard, "eval")
    assert found.differs == ""
    assert found.changes == "with one NaN in each input: it raises RuntimeError: bad, and the original ValueError: bad"
    gone = compared(tmp_path, guard, one_side, "eval")
    assert gone.differs == "with one NaN in each input: only the original raises ValueError: bad"
    new = compared(tmp_path, one_side, guard, "eval")
    assert new.differs == "with one NaN in each input: only the fixed code raises ValueError: bad"


def share(net: Any, x: torch.Tensor) -> torch.Tensor:
    return x * net.weight * (1.0 / (x > 0).sum().item())


def share_as_tensor(net: Any, x: torch.Tensor) -> torch.Tensor:
    return x * net.weight * (1.0 / (x > 0).sum())


def test_a_number_that_raises_no_more_leaves_the_fix_unsafe(tmp_path: Path) -> None:
    rewritten = compared(tmp_path, share, share_as_tensor, "eval")
    assert rewritten.differs == ""
    assert "only the original raises ZeroDivisionError: float division by zero" in rewritten.changes


def test_an_input_that_the_original_does_not_accept_does_not_count(tmp_path: Path) -> None:
    def rows(net: Any, x: torch.Tensor) -> torch.Tensor:
        return x.max(0).values * net.weight

    def any_rows(net: Any, x: torch.Tensor) -> torch.Tensor:
        return x.max(0).values * net.weight if len(x) else net.weight * 1

    recorded = varying(tmp_path, rows, "eval").record(set(), lambda found: None)
    assert recorded.refused == ("an empty batch",) and recorded.dtypes == ("float32", "float64", "int64")
    assert varying(tmp_path, any_rows, "eval").check().differs == ""


def test_inputs_that_are_written_to_get_no_gradients(tmp_path: Path) -> None:
    def in_branch(net: Any, x: torch.Tensor) -> torch.Tensor:
        if (x > 1).any():
            x[x > 1] = 0
        return x * net.weight

    def always(net: Any, x: torch.Tensor) -> torch.Tensor:
        x[x > 1] = 0
        return x * net.weight

    found = compared(tmp_path, in_branch, always, "train")
    assert found.differs == "" and found.calls >= 10


def test_variations_that_change_nothing_are_left_out(tmp_path: Path) -> None:
    def embed(net: Any, x: torch.Tensor) -> torch.Tensor:
        return x.abs() % 3

    found: list[Varied] = []
    recorded = varying(tmp_path, embed, "eval", torch.tensor([1, 2, 3])).record(set(), found.append)
    assert recorded == found[-1] and "the inputs times 1000" not in recorded.refused
    # As they are, negated, zeros, ones, all the smallest, the largest, empty, twice float64, three times other parameters, and times 100.
    assert recorded.calls == len(found) == 13 and recorded.dtypes == ("int64",)


def test_without_time_the_sample_alone_is_run_and_the_rest_is_named(tmp_path: Path) -> None:
    recorded = varying(tmp_path, branch, "eval").record(set(), lambda found: None, budget=0.0)
    assert recorded.calls == 1 and recorded.skipped[:2] == ("the inputs negated", "the inputs times 1000")
    assert varying(tmp_path, branch, "eval").check().calls == 1


seen: set[tuple[str, int, int, bool]] = set()


def test_further_variations_run_while_a_test_has_one_outcome(tmp_path: Path) -> None:
    def seldom(net: Any, x: torch.Tensor) -> torch.Tensor:
        large = bool((x * net.weight).sum() < -1e5)
        seen.add(("m.py", 1, 0, large))
        return x * 2 if large else x

    recorded = varying(tmp_path, seldom, "eval").record(seen, lambda found: None)
    assert {truth for *_, truth in recorded.seen} == {True, False}
    assert varying(tmp_path, seldom, "eval").check().differs == ""


def test_what_differs_between_two_runs_of_the_original_is_found_out(tmp_path: Path) -> None:
    def counting(net: Any, x: torch.Tensor) -> torch.Tensor:
        print(time.perf_counter())
        return x * net.weight

    original = varying(tmp_path, counting, "eval")
    original.record(set(), lambda found: None)
    assert "standard output" in varying(tmp_path, one_side, "eval").check().differs
    assert "standard output" in original.repeat().noise
    assert varying(tmp_path, one_side, "eval").check().differs == ""


def chaotic(net: Any, x: torch.Tensor, scaled: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Tame for weights of 1; for those of 100 each round multiplies what is not equal by 100."""
    x = scaled(x)
    for _ in range(12):
        x = torch.sin(net.weight * x)
    return x


@pytest.mark.parametrize(("factor", "differs"), [(0.3, ""), (0.3002, "with the inputs as they are")])
def test_what_is_nothing_but_rounding_refutes_no_fix(tmp_path: Path, factor: float, differs: str) -> None:
    one_sided, given = {("net.py", 1, True)}, torch.linspace(0.1, 2.0, 150).reshape(50, 3)
    original = varying(tmp_path, lambda net, x: chaotic(net, x, lambda x: x * 0.1 * 3.0), "eval", given)
    original.record(one_sided, lambda _found: None)
    found = varying(tmp_path, lambda net, x: chaotic(net, x, lambda x: x * factor), "eval", given).check()
    assert found.differs.startswith(differs) and bool(found.differs) is bool(differs)


def _large(total: Callable[[torch.Tensor], torch.Tensor]) -> Forward:
    return lambda net, x: total(x.clamp(-9, 9) * net.weight**2)


def test_sums_that_the_dtype_cannot_hold_are_infinite_or_nan_by_their_order(tmp_path: Path) -> None:
    one_sided, x = {("net.py", 1, True)}, torch.linspace(0.1, 2.0, 150).reshape(50, 3)
    varying(tmp_path, _large(lambda a: a + a - a / 2), "eval", x).record(one_sided, lambda found: None)
    assert varying(tmp_path, _large(lambda a: a * 1.5), "eval", x).check().differs == ""


def test_what_divides_by_zero_is_not_too_large_for_its_dtype(tmp_path: Path) -> None:
    one_sided, x = {("net.py", 1, True)}, torch.linspace(0.1, 2.0, 150).reshape(50, 3)
    varying(tmp_path, lambda net, x: (x - x) / (net.weight - 1), "eval", x).record(one_sided, lambda found: None)
    found = varying(tmp_path, lambda net, x: x / (net.weight - 1), "eval", x).check()
    assert found.differs == "with the inputs as they are: output: values differ: NaN in one and not in the other"


def _initialised(scale: float) -> Forward:
    """``scale`` is what the calls after the first one multiply with."""

    def body(net: Any, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(net, "mean"):
            net.mean = x.detach().mean()
            return (x - net.mean) * net.weight
        return (x - net.mean) * net.weight * scale

    return body


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_what_a_first_call_notes_is_there_in_a_second_one(tmp_path: Path, mode: str) -> None:
    seen = {("net.py", 1, True)}
    varying(tmp_path, _initialised(2.0), mode).record(seen, lambda found: None)
    assert varying(tmp_path, _initialised(2.0), mode).check().differs == ""
    found = varying(tmp_path, _initialised(2.5), mode).check()
    assert found.differs.startswith("with a second call of the same module: output: values differ by up to ")
