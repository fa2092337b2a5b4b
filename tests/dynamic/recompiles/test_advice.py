from __future__ import annotations

import pytest

from graphdoctor.breaks.recompiles import guards
from graphdoctor.dynamic.recompiles.advice import advice
from graphdoctor.dynamic.recompiles.causes import Cause


@pytest.mark.parametrize(
    ("at_limit", "text"),
    [(False, "a number that changes is dynamic from its second value on"), (True, "one compilation for each value")],
)
def test_a_number_at_the_limit_did_not_become_dynamic(at_limit: bool, text: str) -> None:
    guard = guards.read("0/0: L['n'] == 8")
    cause = Cause(guard, ("/job/net.py", 3), "n", None, (), (1,), at_limit=at_limit)
    assert (advice(cause) or "").startswith(text)


@pytest.mark.parametrize(
    ("guard", "calls", "text"),
    [
        ("not L['self'].outputs", (1,), "fill it before the first call"),
        ("len(L['self'].seen) == 2", (1, 2), "keep the length"),
        ("len(L['xs']) == 2", (1,), "keep the length"),
        (
            "L['self'].width == 8  # if n > self.width:  # net.py:5 in forward",
            (1,),
            "set it once, before the first call",
        ),
        ("L['self'].width == 8  # y = x * self.width  # net.py:5 in forward", (1,), "set it once, before the model"),
        ("not ___dict_contains('scale', L['self'].__dict__)", (1,), "set it before the first call"),
    ],
)
def test_what_the_first_call_fills_is_to_be_filled_before(guard: str, calls: tuple[int, ...], text: str) -> None:
    cause = Cause(guards.read(f"0/0: {guard}"), ("/job/net.py", 3), None, None, (), calls)
    assert (advice(cause) or "").startswith(text)
