from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from graphdoctor.model.typed_json import Mismatch, Types


@dataclass(frozen=True)
class Inner:
    number: int
    share: float | None = None


@dataclass(frozen=True)
class Outer:
    inner: Inner
    text: str
    kind: Literal["a", "b"] = "a"
    flag: bool = False
    pairs: tuple[tuple[str, int], ...] = ()
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)


WHOLE = {
    "inner": {"number": 1, "share": 0.5},
    "text": "t",
    "kind": "b",
    "flag": True,
    "pairs": [["x", 1]],
    "lines": {"f": [1, 2]},
    "unknown": [],
}


def test_values_become_what_the_fields_say() -> None:
    found = Types().read(Outer, WHOLE)
    assert found == Outer(Inner(1, 0.5), "t", "b", True, (("x", 1),), {"f": frozenset({1, 2})})
    assert Types().read(Outer, {"inner": {"number": 1}, "text": ""}) == Outer(Inner(1), "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inner": {"number": True}}, "inner.number must be a number, not true"),
        ({"inner": {"number": 1.0}}, "inner.number must be a number, not 1.0"),
        ({"inner": {"number": 10**400}}, "inner.number must be a number, not 1"),
        ({"inner": {"number": 10**5000}}, "inner.number must be a number, not a number that large"),
        ({"inner": {"share": 1}}, "inner.number is missing"),
        ({"inner": []}, "inner must be an object, not a list"),
        ({"text": None}, "text must be a text, not null"),
        ({"kind": "c"}, "kind must be one of a, b"),
        ({"kind": []}, "kind must be one of a, b"),
        ({"flag": 1}, "flag must be true or false, not 1"),
        ({"pairs": [["x", 1], ["x"]]}, "pairs[1] must be a list of 2, not a list"),
        ({"pairs": [["x", "y"]]}, 'pairs[0][1] must be a number, not "y"'),
        ({"lines": {"f": [{}]}}, "lines.f[0] must be a number, not an object"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Mismatch) as error:
        Types().read(Outer, {**WHOLE, **change})
    assert str(error.value).startswith(message)


def test_null_may_stand_for_an_empty_text() -> None:
    assert Types(null_text=True).read(Outer, {**WHOLE, "text": None}).text == ""


def test_fields_may_stand_among_those_of_the_owner() -> None:
    raw = {"number": 3, "text": "t"}
    assert Types(flat=frozenset((Inner,))).read(Outer, raw) == Outer(Inner(3), "t")
    with pytest.raises(Mismatch, match=r"^number must be a number"):
        Types(flat=frozenset((Inner,))).read(Outer, {**raw, "number": "3"})
