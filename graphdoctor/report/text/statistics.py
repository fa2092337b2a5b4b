"""How often each rule found something: the answer to ``--statistics``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from graphdoctor.model.findings import Diagnosis, Severity
from graphdoctor.model.labels import is_offered
from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.problems import problems


@dataclass(frozen=True)
class Count:
    """One rule of the statistics; ``fixable`` findings have a fix that can be applied."""

    rule: str
    name: str
    severity: Severity
    count: int
    fixable: int


def counts(diagnosis: Diagnosis) -> tuple[Count, ...]:
    """The rules that found something, the most frequent first. What a run refuted does not count."""
    findings = [finding for finding in diagnosis.findings if finding.status != "refuted"]
    found = []
    for key in {(f.rule, f.name, f.severity) for f in findings}:
        same = [f for f in findings if (f.rule, f.name, f.severity) == key]
        found.append(Count(*key, count=len(same), fixable=sum(map(is_offered, same))))
    return tuple(sorted(found, key=lambda c: (-c.count, c.rule, c.severity)))


def as_text(diagnosis: Diagnosis) -> str:
    """One line a rule: count, code, severity, name, and how many can be fixed."""
    rows = counts(diagnosis)
    width = max((len(str(row.count)) for row in rows), default=0)
    lines = [
        f"{row.count:>{width}}  {row.rule}  {row.severity:<7}  {row.name}"
        + (f"  ({row.fixable} fixable)" if row.fixable else "")
        for row in rows
    ]
    found = problems(printable(diagnosis))
    lines += [one_line(f"{p.title}: {p.path + ': ' if p.path else ''}{p.text}") for p in found]
    return "".join(f"{line}\n" for line in lines) or "nothing found\n"


def as_json(diagnosis: Diagnosis) -> str:
    """A JSON array with the same, one object a rule."""
    return json.dumps([asdict(row) for row in counts(diagnosis)], indent=2) + "\n"
