"""What is said of fixes that were not tried."""

from __future__ import annotations

import pytest

from graphdoctor.model.runs import DynamicRun, Outcome
from graphdoctor.scan.steps.verify import nothing_to_compare


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("raised", "the original code did not run to its end in eager"),
        ("timeout", "was stopped at the time limit, which --timeout makes longer"),
        ("memory", "was stopped at the memory limit; with --shrink it needs less"),
    ],
)
def test_a_limit_is_not_blamed_on_the_code(outcome: Outcome, said: str) -> None:
    runs = (DynamicRun("Net", "eval", "cpu", "ok"), DynamicRun("Net", "train", "cpu", outcome))
    assert nothing_to_compare(runs).endswith(said)
