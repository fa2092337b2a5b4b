"""Every format, of every diagnosis: it is well formed, and hostile text in it is text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.formats import FORMATS, render
from graphdoctor.report.text import comparison

#: What a terminal, a log or a reader must never get from scanned code: controls but newline, and direction changes.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

DATA = ("json", "sarif", "github-review", "gitlab", "badge-json")
XML = ("junit", "badge-svg")


@pytest.fixture(scope="module")
def hostile_comparison(hostile: Diagnosis, compared: Diagnosis) -> Diagnosis:
    """The hostile diagnosis with a base that is hostile too."""
    assert compared.comparison is not None
    bad = replace(
        compared.comparison,
        base=hostile.command,
        new=(hostile.findings[0].fingerprint,),
        unchanged=(),
        fixed=hostile.findings,
    )
    allowed, *rest = hostile.findings
    findings = (allowed, *(replace(finding, allowed="") for finding in rest))
    return replace(hostile, findings=findings, comparison=bad)


@pytest.mark.parametrize("name", ("text", "markdown", "html", "sarif", "json", "github-review"))
def test_a_report_says_from_where_the_code_is_called(rich: Diagnosis, name: str) -> None:
    assert any(caller.path == "train.py" for finding in rich.findings for caller in finding.called_from)
    assert "train.py" in render(rich, name)


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_text_is_shown_and_steers_nothing(hostile_comparison: Diagnosis, name: str) -> None:
    shown = render(hostile_comparison, name)
    assert not RAW.search(shown)
    shown.encode("utf-8")
    if name in DATA:
        json.loads(shown)
    if name in XML:
        ElementTree.fromstring(shown)
    if not name.startswith("badge"):
        assert "alert(1)" in shown


@pytest.mark.parametrize("name", FORMATS)
def test_a_scan_that_found_nothing(clean: Diagnosis, name: str) -> None:
    shown = render(clean, name)
    assert shown.strip()
    if name in DATA:
        json.loads(shown)
    if name in XML:
        ElementTree.fromstring(shown)


def test_the_text_of_a_hostile_comparison(hostile_comparison: Diagnosis) -> None:
    shown = comparison.render(hostile_comparison)
    assert not RAW.search(shown)
    # Each place and each message is one line.
    assert len(shown.splitlines()) == 1 + 2 * len(hostile_comparison.findings)
