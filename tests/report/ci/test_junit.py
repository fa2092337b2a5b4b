"""JUnit XML: what fails, what is skipped, what passes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.ci import junit


def suite(diagnosis: Diagnosis) -> ElementTree.Element:
    """The one suite."""
    found = ElementTree.fromstring(junit.render(diagnosis)).find("testsuite")
    assert found is not None
    return found


def outcomes(diagnosis: Diagnosis) -> list[tuple[str | None, list[str]]]:
    return [(case.get("name"), [child.tag for child in case]) for case in suite(diagnosis)]


def test_cases(rich: Diagnosis) -> None:
    assert outcomes(rich) == [
        ("GD101 print-in-graph, line 18", ["failure"]),
        ("GD110 data-dependent-branch, line 21", ["failure"]),
        ("GD102 warning-in-graph, line 31", ["system-out"]),
        ("GD000 graph-break, line 40", ["failure"]),
        ("GD201 compile-result-unused, line 52", ["system-out"]),
        ("run", ["error"]),
        ("scan", ["error"]),
        ("scan", ["skipped"]),
    ]
    counts = {key: suite(rich).get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "8", "failures": "3", "errors": "2", "skipped": "1"}


def test_a_failure_shows_the_line(rich: Diagnosis) -> None:
    failure = suite(rich).find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "print() breaks the graph"
    assert '   18 |         print("input", x.shape)' in (failure.text or "")


def test_a_clean_file_is_a_case_that_passes(clean: Diagnosis) -> None:
    assert outcomes(clean) == [("scan", [])]


def test_what_the_base_had_and_what_is_allowed_is_skipped(compared: Diagnosis) -> None:
    findings = (*compared.findings[:4], replace(compared.findings[4], allowed="legacy"), *compared.findings[5:])
    skipped = suite(replace(compared, findings=findings)).findall("testcase/skipped")
    assert [child.get("message") for child in skipped] == ["the base has it too"] * 3 + ["allowed: legacy", "empty"]


def test_what_xml_cannot_hold_is_shown(rich: Diagnosis) -> None:
    bad = replace(rich.findings[0], fact="]]> \x00 \ufffe <a>", why="\x1b[31m ]]>")
    failure = suite(replace(rich, findings=(bad,))).find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == r"]]> \x00 \ufffe <a>"
    assert r"\x1b[31m ]]>" in (failure.text or "")
