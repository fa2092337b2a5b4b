"""The badge: what it says, and that both forms say the same."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.ci import badge

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("changes", "message", "color"),
    [
        ({}, "3", "red"),
        ({"breaks": 0}, "not ready", "red"),
        ({"verdict": "ready", "breaks": 0}, "0", "brightgreen"),
        ({"verdict": "nothing-compiled", "breaks": 0}, "nothing compiled", "red"),
        ({"verdict": "not-run", "breaks": None}, "run failed", "lightgrey"),
        ({"verdict": "static-only", "errors": 1}, "1 error in source", "red"),
        ({"verdict": "static-only", "errors": 0}, "1 file not read", "lightgrey"),
        ({"verdict": "static-only", "errors": 0, "failed": 0}, "none found in source", "brightgreen"),
    ],
)
def test_what_it_says(rich: Diagnosis, changes: dict[str, Any], message: str, color: str) -> None:
    summary = replace(rich.summary, **changes)
    assert json.loads(badge.as_json(summary)) == {
        "schemaVersion": 1,
        "label": "graph breaks",
        "message": message,
        "color": color,
    }
    picture = ElementTree.fromstring(badge.as_svg(summary))
    assert [text.text for text in picture.iter(f"{SVG}text")] == ["graph breaks", message]
    assert picture.get("aria-label") == f"graph breaks: {message}"


def test_the_parts_fill_the_picture(rich: Diagnosis) -> None:
    picture = ElementTree.fromstring(badge.as_svg(rich.summary))
    left, right = (float(part.get("width", "")) for part in picture.findall(f"{SVG}g/{SVG}rect"))
    assert left + right == float(picture.get("width", ""))


def test_it_asks_for_nothing(rich: Diagnosis) -> None:
    assert "http" not in badge.as_svg(rich.summary).replace('xmlns="http://www.w3.org/2000/svg"', "")
