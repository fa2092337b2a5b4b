"""GitLab's code quality report: the fields that it requires."""

from __future__ import annotations

import json
from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.ci import gitlab


def test_an_entry(rich: Diagnosis) -> None:
    assert json.loads(gitlab.render(rich))[0] == {
        "description": "print() breaks the graph; Print only when the code is not being compiled.",
        "check_name": "GD101",
        "fingerprint": "f0018",
        "severity": "major",
        "location": {"path": "model.py", "lines": {"begin": 18, "end": 18}},
    }


def test_which_findings_and_how_severe(rich: Diagnosis) -> None:
    allowed = replace(rich, findings=(replace(rich.findings[0], allowed="legacy"), *rich.findings[1:]))
    shown = json.loads(gitlab.render(allowed))
    assert [entry["severity"] for entry in shown] == ["major", "minor", "major", "info", "critical", "critical"]


def test_fingerprints_are_of_one_finding_each(rich: Diagnosis) -> None:
    marks = [entry["fingerprint"] for entry in json.loads(gitlab.render(rich))]
    assert len(marks) == len(set(marks))


def test_nothing_found_is_an_empty_list(clean: Diagnosis) -> None:
    assert gitlab.render(clean) == "[]\n"
