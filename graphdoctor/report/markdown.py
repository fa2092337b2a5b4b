"""The report as GitHub Markdown, for a pull-request comment or a job summary.

GitHub refuses comments of more than 65,536 characters, so what is too long is dropped, least needed first, and the
report says so: stacks, then diffs, then the findings at the end of the list, then rows of the other lists. What is new
against the base comes first, so it is dropped last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from graphdoctor.diagnosis.compare import new_findings, new_first
from graphdoctor.labels import is_offered
from graphdoctor.model import Comparison, Diagnosis, Finding
from graphdoctor.report import advise, deeper, markdown_run, varied, words
from graphdoctor.report.excerpt import source_lines
from graphdoctor.report.first import first_actions
from graphdoctor.report.gfm import bullets, code, escape, fence, folded, prose, table, titled
from graphdoctor.report.numbers import numbers
from graphdoctor.report.problems import problems
from graphdoctor.report.visible import printable

#: The first line: by it a workflow finds its own comment, to change it instead of writing another.
MARKER = "<!-- graphdoctor -->"

#: Bytes of UTF-8, so also the most characters.
LIMIT = 60_000

#: Bytes that a finding takes at the very least: its row and its details without any text.
_LEAST = 100

#: Characters of an explanation; elsewhere a string has 300.
_PROSE = 1000


@dataclass(frozen=True)
class Detail:
    """How much of a diagnosis is shown; None means all. ``rows`` is of each list that is not of findings."""

    stacks: bool = True
    diffs: bool = True
    findings: int | None = None
    rows: int | None = None
    #: How many findings there are, where ``findings`` is given.
    total: int = 0


def render(diagnosis: Diagnosis, limit: int = LIMIT) -> str:
    """The report as Markdown of at most ``limit`` bytes, in which everything shown is whole."""
    shown = printable(_shortened(new_first(diagnosis), limit))
    for detail in (Detail(), Detail(stacks=False), Detail(stacks=False, diffs=False)):
        # Where not all findings were taken over, it is known that they do not fit.
        if len(shown.findings) == len(diagnosis.findings) and _size(text := _report(shown, detail)) <= limit:
            return text
    total = len(diagnosis.findings)
    # Rows go only where there is too much without any finding: hundreds of notes or unreadable files.
    rows = next((n for n in (None, 20, 5) if _size(_report(shown, Detail(False, False, 0, n, total))) <= limit), 0)
    fits = _most(lambda n: _size(_report(shown, Detail(False, False, n, rows, total))) <= limit, len(shown.findings))
    return _report(shown, Detail(False, False, fits, rows, total))


def _shortened(diagnosis: Diagnosis, limit: int) -> Diagnosis:
    """``diagnosis`` without the findings that no report of ``limit`` bytes can hold."""
    return replace(diagnosis, findings=diagnosis.findings[: limit // _LEAST + 1])


def _most(fits: Callable[[int], bool], most: int) -> int:
    """The largest number below ``most`` that fits, or 0. Small numbers are tried first, because they cost least."""
    low, high = 0, 1
    while high < most and fits(high):
        low, high = high, high * 2
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def _report(diagnosis: Diagnosis, detail: Detail) -> str:
    shown = diagnosis.findings if detail.findings is None else diagnosis.findings[: detail.findings]
    new = {finding.fingerprint for finding in new_findings(diagnosis)}
    known = "Other findings" if diagnosis.comparison else "Findings"
    blocks = [
        MARKER,
        f"## graphdoctor: {escape(diagnosis.summary.headline)}",
        _comparison(diagnosis.comparison),
        _numbers(diagnosis),
        _first(diagnosis) if detail.rows != 0 else "",
        _findings("New findings", (finding for finding in shown if finding.fingerprint in new)),
        _findings(known, (finding for finding in shown if finding.fingerprint not in new)),
        *(_finding(finding, detail) for finding in shown if finding.status != "refuted"),
        _fixed(diagnosis.comparison, detail),
        markdown_run.runs(diagnosis.dynamic or (), detail.rows),
        titled("Parts of the model", bullets(_rows(map(prose, deeper.of_runs(diagnosis.dynamic or ())), detail))),
        markdown_run.recompiles(diagnosis.dynamic or (), detail.rows),
        titled("Varied inputs", bullets(_rows(map(prose, varied.sweeps(diagnosis.dynamic or ())), detail))),
        markdown_run.verification(diagnosis.verification),
        _advice(diagnosis) if detail.rows is None else "",
        markdown_run.stacks(diagnosis.dynamic or ()) if detail.stacks else "",
        titled("Files that could not be read", bullets(_rows(_files(diagnosis, "unreadable-file"), detail))),
        titled("Files that were not analysed completely", bullets(_rows(_files(diagnosis, "incomplete-file"), detail))),
        titled("Notes", bullets(_rows(map(escape, diagnosis.notes), detail))),
        _dropped(diagnosis, detail),
        _environment(diagnosis),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _rows(rows: Iterable[str], detail: Detail) -> Iterator[str]:
    return islice(rows, detail.rows)


def _comparison(comparison: Comparison | None) -> str:
    return f"**{escape(words.compared(comparison))}**" if comparison else ""


def _fixed(comparison: Comparison | None, detail: Detail) -> str:
    found = comparison.fixed if comparison else ()
    lines = (f"{code(_place(f))} {escape(f.rule)} {prose(f.message)}" for f in found)
    return titled("Fixed", bullets(_rows(lines, detail)))


def _numbers(diagnosis: Diagnosis) -> str:
    shown = numbers(diagnosis)
    values = (f"**{escape(number.value)}**" for number in shown)
    details = (escape(number.detail) for number in shown)
    return table((escape(number.label) for number in shown), [values, details])


def _first(diagnosis: Diagnosis) -> str:
    actions = first_actions(diagnosis)
    lines = [
        f"{number}. {code(action.place)} {prose(action.title)} ({escape(action.effect)})"
        for number, action in enumerate(actions, 1)
    ]
    return titled("Do these first", "\n".join(lines))


def _findings(title: str, findings: Iterable[Finding]) -> str:
    rows = [
        (
            finding.severity,
            code(_place(finding)),
            f"{escape(finding.rule)} {escape(finding.name)}",
            prose(finding.message),
            escape(words.status(finding) + (f"; allowed: {finding.allowed}" if finding.allowed else "")),
        )
        for finding in findings
    ]
    return titled(title, table(("Severity", "Where", "Rule", "What", "Status"), rows))


def _finding(finding: Finding, detail: Detail) -> str:
    title = f"{code(_place(finding))} {escape(finding.rule)} {prose(finding.message)}"
    source = "\n".join(f"{line.number:>5} | {line.text}".rstrip() for line in source_lines(finding))
    parts = [
        fence(source, "python") if source else "",
        f"**Why:** {prose(finding.why, _PROSE)}" if finding.why else "",
        f"**Help:** {prose(finding.suggestion, _PROSE)}" if finding.suggestion else "",
        _fix(finding, detail),
        *(f"[{escape(gb_id)}]({words.gb_link(gb_id)})" for gb_id in finding.gb_ids if re.fullmatch(r"GB\d+", gb_id)),
    ]
    return folded(title, "\n\n".join(part for part in parts if part))


def _fix(finding: Finding, detail: Detail) -> str:
    fix = finding.fix
    if fix is None:
        return ""
    text = f"**Fix** ({escape(words.fix_kind(fix))}): {prose(words.fix_text(fix), _PROSE)}"
    return (
        f"{text}\n\n{fence(fix.diff.rstrip(), 'diff')}"
        if detail.diffs and fix.diff and is_offered(finding, owner=None)
        else text
    )


def _place(finding: Finding) -> str:
    place = finding.location
    return f"{place.path}:{place.line}:{place.column}"


def _advice(diagnosis: Diagnosis) -> str:
    return titled("Where to put torch.compile", advise.section(diagnosis.advice)) if diagnosis.advice else ""


def _files(diagnosis: Diagnosis, kind: str) -> Iterator[str]:
    for problem in problems(diagnosis):
        if problem.kind == kind:
            yield f"{code(problem.path or '')} {escape(problem.text)}"


def _dropped(diagnosis: Diagnosis, detail: Detail) -> str:
    dropped = [name for name, kept in (("stacks", detail.stacks), ("diffs", detail.diffs)) if not kept]
    if diagnosis.advice is not None and detail.rows is not None:
        dropped.append("the advice on where to compile")
    if detail.findings is not None:
        dropped.append(f"{detail.total - detail.findings} of {detail.total} findings")
    if detail.rows is not None:
        dropped.append(f"all but {detail.rows} rows of each other list" if detail.rows else "every other list")
    return f"_Left out to fit a comment: {', '.join(dropped)}._" if dropped else ""


def _environment(diagnosis: Diagnosis) -> str:
    facts = [f"{key} {value}" for key, value in diagnosis.environment.items() if value]
    line = ", ".join([f"graphdoctor {diagnosis.tool_version}", *facts])
    command = f": {code(diagnosis.command)}" if diagnosis.command else ""
    return f"<sub>{escape(line)}{command}</sub>"
