"""The order of findings."""

from __future__ import annotations

import random
from typing import Any

from graphdoctor.diagnosis.rank import rank


def test_order(build: Any) -> None:
    ordered = [
        build.finding(9, status="confirmed", whole_frame=True, events=1),
        build.finding(8, status="dynamic-only", events=5),
        build.finding(7, status="confirmed", events=2),
        build.finding(11, status="dynamic-only", whole_frame=True, events=9, gb_ids=("GB8335",)),
        build.finding(1, status="dynamic-only", events=9, owner="third-party"),
        build.finding(6, confidence="certain"),
        build.finding(5, confidence="likely"),
        build.finding(4, severity="warning"),
        build.finding(3, status="not-reached"),
        build.finding(2, status="refuted", severity="info"),
    ]
    mixed = list(ordered)
    random.Random(1).shuffle(mixed)
    assert rank(mixed) == tuple(ordered)
