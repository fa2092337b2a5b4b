"""Versions and specifiers."""

from __future__ import annotations

import pytest

from graphdoctor.target_torch.specifiers import allows, parse


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.8", (2, 8)), ("2.10.0", (2, 10)), ("2.13.0+cpu", (2, 13)), ("2.9.0.dev20250901", (2, 9)),
        ("2.9.0a0+git12", (2, 9)), ("2.9.1rc1", (2, 9, 1)), ("3", (3,)), ("new", None), ("", None), ("2..8", None),
    ],
)  # fmt: skip
def test_parse(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse(text) == numbers


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        (">=2.6", "2.6", True), (">=2.6", "2.6.0", True), (">=2.6", "2.5.1", False), (">=2.6", "2.10", True),
        ("<2.9", "2.10", False), (">=2.6,<2.9", "2.8.1", True), (">=2.6, <2.9", "2.9", False), ("==2.8", "2.8.0", True),
        ("!=2.8", "2.8", False), (">2.8", "2.8", False), ("<=2.8", "2.8+cpu", True),
    ],
)  # fmt: skip
def test_allows(specifier: str, version: str, expected: bool) -> None:
    assert allows(specifier, version) is expected


@pytest.mark.parametrize(("specifier", "version"), [("2.6", "2.8"), (">=", "2.8"), (">=2.6", "new")])
def test_what_cannot_be_read(specifier: str, version: str) -> None:
    with pytest.raises(ValueError):
        allows(specifier, version)
