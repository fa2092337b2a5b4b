"""The code quality report of GitLab: a JSON list that the merge request compares with the one of its target branch."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.problems import Problem, problems
from graphdoctor.report.repository import from_repository

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(diagnosis: Diagnosis) -> str:
    """What could not be looked at, and every finding that the run did not refute and the allow-list does not name."""
    shown = printable(from_repository(diagnosis))
    entries = [_entry(f) for f in shown.findings if f.status != "refuted" and not f.allowed]
    entries += [_problem(problem) for problem in problems(shown)]
    return json.dumps(entries, indent=2) + "\n"


def _problem(problem: Problem) -> dict[str, Any]:
    """The fingerprint leaves out the text, in which a time or an address may stand that changes each time."""
    path = problem.path or "."
    name = problem.kind if problem.stopped else problem.text
    return {
        "description": one_line(f"{problem.title}: {problem.text}"),
        "check_name": problem.kind,
        "fingerprint": hashlib.sha256(f"{name}\0{path}".encode(errors="backslashreplace")).hexdigest()[:16],
        "severity": "critical" if problem.stopped else "major",
        "location": {"path": path, "lines": {"begin": 1, "end": 1}},
    }


def _entry(finding: Finding) -> dict[str, Any]:
    place = finding.location
    text = one_line(finding.message)
    return {
        "description": f"{text}; {one_line(finding.suggestion)}" if finding.suggestion else text,
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": place.path, "lines": {"begin": place.line, "end": place.end_line}},
    }
