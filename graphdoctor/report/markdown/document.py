"""The report as GitHub Markdown, for a pull-request comment or a job summary.

GitHub refuses comments of more than 65,536 characters, so what is too long is dropped, least needed first, and the
report says so: stacks, then diffs, then the findings at the end of the list, then rows of the other lists. What is new
against the base comes first, so it is dropped last.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import quote

from graphdoctor.diagnosis.compare import new_findings, new_first
from graphdoctor.model.findings import Comparison, Diagnosis, Finding
from graphdoctor.model.labels import explanation, is_offered, label
from graphdoctor.report import optional_checks, varied, wording
from graphdoctor.report.comparison import change_title, not_compared
from graphdoctor.report.escaping import printable
from graphdoctor.report.excerpt import called_from, source_lines
from graphdoctor.report.first_actions import first_actions
from graphdoctor.report.gfm import bullets, code, escape, fence, folded, prose, table, titled
from graphdoctor.report.markdown import run
from graphdoctor.report.measurements import advise
from graphdoctor.report.numbers import numbers
from graphdoctor.report.overview.affected import overview
from graphdoctor.report.problems import problems
from graphdoctor.report.proof import mends, proof
from graphdoctor.report.repository import is_absolute
from graphdoctor.report.unchecked import unchecked

#: The first line: by it a workflow finds its own comment, to change it instead of writing another.
MARKER = "<!-- graphdoctor -->"

#: Bytes of UTF-8, so also the most characters.
LIMIT = 60_000

#: Bytes that a finding takes at the very least: its row and its details without any text.
_LEAST = 100

#: Findings whose table shows by itself what to do first.
_SCREEN = 10

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
    runs = diagnosis.dynamic or ()
    details = [_finding(finding, detail, diagnosis.code_url) for finding in shown if finding.status != "refuted"]
    measured = [
        run.runs(runs, detail.rows),
        titled("Parts of the model", bullets(_rows(map(prose, optional_checks.of_runs(runs)), detail))),
        run.recompiles(diagnosis, detail.rows),
        titled("Varied inputs", bullets(_rows(map(prose, varied.sweeps(runs)), detail))),
        run.verification(diagnosis.verification, diagnosis.findings),
        _advice(diagnosis) if detail.rows is None else "",
        run.stacks(runs) if detail.stacks else "",
    ]
    blocks = [
        MARKER,
        f"## graphdoctor: {escape(change_title(diagnosis) or diagnosis.summary.headline)}",
        _comparison(diagnosis),
        _proof(diagnosis),
        _numbers(diagnosis),
        _models(diagnosis) if detail.rows != 0 else "",
        _first(diagnosis) if detail.rows != 0 and len(diagnosis.findings) > _SCREEN else "",
        _findings("New findings", (finding for finding in shown if finding.fingerprint in new), diagnosis.code_url),
        _findings(known, (finding for finding in shown if finding.fingerprint not in new), diagnosis.code_url),
        _fixed(diagnosis.comparison, detail),
        _fold("Source lines, reasons and fixes", details),
        _fold("What the run measured", measured),
        _fold("What was not checked", [bullets(_rows(map(escape, unchecked(diagnosis)), detail))]),
        titled("Files that could not be read", bullets(_rows(_files(diagnosis, "unreadable-file"), detail))),
        titled("Files that were not analysed completely", bullets(_rows(_files(diagnosis, "incomplete-file"), detail))),
        titled("Notes", bullets(_rows(map(escape, diagnosis.notes), detail))),
        _dropped(diagnosis, detail),
        _environment(diagnosis),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _rows(rows: Iterable[str], detail: Detail) -> Iterator[str]:
    return islice(rows, detail.rows)


def _comparison(diagnosis: Diagnosis) -> str:
    if diagnosis.comparison is None:
        return ""
    base = f"Compared with {diagnosis.comparison.base}{not_compared(diagnosis.comparison)}"
    return f"**{escape(diagnosis.summary.headline)}.** {escape(base)}"


def _proof(diagnosis: Diagnosis) -> str:
    """What the fixes were seen to do, and the command that applies them."""
    found = proof(diagnosis)
    if found is None:
        return ""
    apply = f"To apply: {code(found.command)}" if found.command else ""
    return " ".join(part for part in (f"**{escape(found.title)}.**", escape(found.caution), apply) if part)


def _fold(name: str, parts: Iterable[str]) -> str:
    body = "\n\n".join(part for part in parts if part)
    return folded(name, body) if body else ""


def _fixed(comparison: Comparison | None, detail: Detail) -> str:
    found = comparison.fixed if comparison else ()
    lines = (f"{code(_place(f))} {escape(f.rule)} {prose(f.message)}" for f in found)
    return titled("Fixed", bullets(_rows(lines, detail)))


def _numbers(diagnosis: Diagnosis) -> str:
    shown = numbers(diagnosis)
    values = (f"**{escape(number.value)}**" for number in shown)
    details = (escape(number.detail) for number in shown)
    return table((escape(number.label) for number in shown), [values, details])


def _models(diagnosis: Diagnosis) -> str:
    """Which models break, and in which nothing is predicted to."""
    found = overview(diagnosis)
    if found is None:
        return ""
    rows = (
        (row.counted, prose(f"`{row.region.name}`"), code(f"{row.region.path}:{row.region.line}"), prose(row.remark))
        for row in found.affected
    )
    more = f"{found.more} more {'has' if found.more == 1 else 'have'} findings. " if found.more else ""
    listed = table(("Findings", "Model", "Where", ""), rows) if found.affected else ""
    return titled("Where graphs break, by model", "\n\n".join(filter(None, [listed, escape(more + found.note)])))


def _first(diagnosis: Diagnosis) -> str:
    actions = first_actions(diagnosis)
    lines = [
        f"{number}. {code(action.place)} {prose(action.title)} ({escape(action.effect)})"
        for number, action in enumerate(actions, 1)
    ]
    return titled("What the fixes leave to do" if mends(diagnosis) else "Do these first", "\n".join(lines))


def _findings(title: str, findings: Iterable[Finding], code_url: str) -> str:
    rows = [
        (
            wording.SEVERITIES[finding.severity],
            _linked(finding, code_url),
            f"{escape(finding.rule)} {escape(finding.name)}",
            prose(finding.message),
            escape(_status(finding)),
        )
        for finding in findings
    ]
    return titled(title, table(("Severity", "Where", "Rule", "What", "Status"), rows))


def _finding(finding: Finding, detail: Detail, code_url: str) -> str:
    title = f"{_linked(finding, code_url)} {escape(finding.rule)} {prose(finding.message)}"
    calls = called_from(finding)
    source = "\n".join(f"{line.number:>5} | {line.text}".rstrip() for line in source_lines(finding))
    parts = [
        fence(source, "python") if source else "",
        f"**Called from:** {prose(calls, _PROSE)}" if calls else "",
        f"**Why:** {prose(finding.why, _PROSE)}" if finding.why else "",
        f"**Help:** {prose(finding.suggestion, _PROSE)}" if finding.suggestion else "",
        _fix(finding, detail),
        *(f"[{escape(gb_id)}]({wording.gb_link(gb_id)})" for gb_id in finding.gb_ids if re.fullmatch(r"GB\d+", gb_id)),
    ]
    return folded(title, "\n\n".join(part for part in parts if part))


def _fix(finding: Finding, detail: Detail) -> str:
    fix = finding.fix
    if fix is None:
        return ""
    text = f"**Fix** ({escape(wording.fix_kind(fix))}): {prose(explanation(fix), _PROSE)}"
    return (
        f"{text}\n\n{fence(fix.diff.rstrip(), 'diff')}"
        if detail.diffs and fix.diff and is_offered(finding, owner=None)
        else text
    )


def _status(finding: Finding) -> str:
    parts = [wording.STATUS_LABELS[finding.status]]
    if finding.fix is not None and is_offered(finding, owner=None):
        parts.append(f"{label(finding.fix)} fix")
    return ", ".join(parts) + (f"; allowed: {finding.allowed}" if finding.allowed else "")


def _place(finding: Finding) -> str:
    place = finding.location
    return f"{place.path}:{place.line}:{place.column}"


def _linked(finding: Finding, code_url: str) -> str:
    """The place of ``finding``, and where it is known, its line on the code host. HTML, as in a summary."""
    place = finding.location
    shown = code(_place(finding))
    # A report that was read from JSON may hold anything there.
    if not code_url.startswith("https://") or is_absolute(place.path) or place.path.startswith("../"):
        return shown
    address = quote(code_url, safe=":/%") + quote(place.path)
    return f'<a href="{html.escape(address)}#L{place.line}">{shown}</a>'


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
