"""Annotations for GitHub Actions: workflow commands on stdout, which GitHub shows at the lines of the pull request.

GitHub shows 10 of each kind for a step and drops the rest without a word, so only as many are written, what is new
first, and the last line says what was left out. What the base had too is a notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from graphdoctor.diagnosis.compare import new_first
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.problems import Problem, problems
from graphdoctor.report.repository import from_repository

#: What GitHub shows of each kind for one step.
LIMIT = 10

_KINDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(diagnosis: Diagnosis) -> str:
    """At most 10 commands of each kind, problems first, and one line that is no command."""
    shown = printable(new_first(from_repository(diagnosis)))
    findings = [finding for finding in shown.findings if finding.status != "refuted"]
    known = frozenset(shown.comparison.unchanged) if shown.comparison else frozenset[str]()
    commands = [("error", _problem(problem)) for problem in problems(shown)]
    for finding in findings:
        in_base = finding.fingerprint in known
        kind = "notice" if finding.allowed or in_base else _KINDS[finding.severity]
        commands.append((kind, _command(kind, finding, in_base)))
    written: Counter[str] = Counter()
    lines = []
    for kind, command in commands:
        if written[kind] < LIMIT:
            written[kind] += 1
            lines.append(command)
    total = Counter(kind for kind, _ in commands)
    return "\n".join([*lines, _closing(total, written)]) + "\n"


def _problem(problem: Problem) -> str:
    place = f"file={_property(problem.path)}," if problem.path else ""
    return f"::error {place}title={_property(f'graphdoctor: {problem.title}')}::{_message(one_line(problem.text))}"


def _command(kind: str, finding: Finding, in_base: bool) -> str:
    properties = ",".join(f"{key}={_property(value)}" for key, value in _properties(finding))
    return f"::{kind} {properties}::{_message(_text(finding, in_base))}"


def _properties(finding: Finding) -> Iterator[tuple[str, str]]:
    place = finding.location
    yield "file", place.path
    yield "line", str(place.line)
    yield "endLine", str(place.end_line)
    if place.end_line == place.line and place.end_column > place.column:
        yield "col", str(place.column)
        yield "endColumn", str(place.end_column - 1)
    yield "title", one_line(f"{finding.rule} {finding.name}")


def _text(finding: Finding, in_base: bool) -> str:
    lines = [one_line(finding.message), one_line(finding.suggestion)]
    if finding.status != "static-only":
        lines.append(one_line(wording.status(finding)))
    if finding.allowed:
        lines.append(f"allowed: {one_line(finding.allowed)}")
    if in_base:
        lines.append("the base has it too")
    return "\n".join(filter(None, lines))


def _closing(total: Counter[str], written: Counter[str]) -> str:
    if not total:
        return "graphdoctor: nothing found"
    counts = ", ".join(wording.plural(total[kind], kind) for kind in ("error", "warning", "notice") if total[kind])
    left_out = [
        wording.plural(total[kind] - written[kind], kind)
        for kind in ("error", "warning", "notice")
        if total[kind] > written[kind]
    ]
    if not left_out:
        return f"graphdoctor: {counts}"
    return f"graphdoctor: {counts}; GitHub shows {LIMIT} of a kind, so {' and '.join(left_out)} are not annotated"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
