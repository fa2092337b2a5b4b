"""The report as GitHub Markdown, for a pull-request comment or a job summary.

GitHub refuses comments of more than 65,536 characters, so what is too long is dropped, least needed first, and the
report says so: stacks, then diffs, then the findings at the end of the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphdoctor.model import Diagnosis, DynamicRun, Finding, Verification
from graphdoctor.report import words
from graphdoctor.report.excerpt import source_lines
from graphdoctor.report.first import first_actions
from graphdoctor.report.gfm import bullets, code, escape, fence, folded, prose, table, titled
from graphdoctor.report.numbers import numbers
from graphdoctor.report.visible import one_line, printable

#: Bytes of UTF-8, so also the most characters.
LIMIT = 60_000

#: Characters of an explanation; elsewhere a string has 300.
_PROSE = 1000


@dataclass(frozen=True)
class Detail:
    """How much of a diagnosis is shown; ``findings`` None means all."""

    stacks: bool = True
    diffs: bool = True
    findings: int | None = None


def render(diagnosis: Diagnosis, limit: int = LIMIT) -> str:
    """The report as Markdown of at most ``limit`` bytes."""
    shown = printable(diagnosis)
    for detail in (Detail(), Detail(stacks=False), Detail(stacks=False, diffs=False)):
        text = _report(shown, detail)
        if _size(text) <= limit:
            return text
    fits, too_many = 0, len(shown.findings)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _size(_report(shown, Detail(False, False, middle))) <= limit:
            fits = middle
        else:
            too_many = middle
    return _cut(_report(shown, Detail(False, False, fits)), limit)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def _cut(text: str, limit: int) -> str:
    """The last resort, for what is too long without any finding: hundreds of notes or unreadable files."""
    if _size(text) <= limit:
        return text
    notice = "\n\nThe rest is left out: the report is too long for a comment.\n"
    head = text.encode("utf-8", "backslashreplace")[: limit - len(notice)].decode("utf-8", "ignore")
    return head[: head.rfind("\n")] + notice


def _report(diagnosis: Diagnosis, detail: Detail) -> str:
    shown = diagnosis.findings if detail.findings is None else diagnosis.findings[: detail.findings]
    blocks = [
        f"## graphdoctor: {escape(diagnosis.summary.headline)}",
        _numbers(diagnosis),
        _first(diagnosis),
        _findings(shown),
        *(_finding(finding, detail) for finding in shown if finding.status != "refuted"),
        _runs(diagnosis.dynamic or ()),
        _recompiles(diagnosis.dynamic or ()),
        _verification(diagnosis.verification),
        _stacks(diagnosis) if detail.stacks else "",
        titled("Files that could not be read", bullets(_failed(diagnosis))),
        titled("Notes", bullets(map(escape, diagnosis.notes))),
        _dropped(diagnosis, detail),
        _environment(diagnosis),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


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


def _findings(findings: tuple[Finding, ...]) -> str:
    rows = [
        (
            finding.severity,
            code(_place(finding)),
            f"{escape(finding.rule)} {escape(finding.name)}",
            prose(finding.message),
            escape(words.status(finding)),
        )
        for finding in findings
    ]
    return titled("Findings", table(("Severity", "Where", "Rule", "What", "Status"), rows))


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
    text = f"**Fix** ({escape(words.fix_kind(fix))}): {prose(fix.reason, _PROSE)}"
    return f"{text}\n\n{fence(fix.diff.rstrip(), 'diff')}" if detail.diffs and fix.diff else text


def _place(finding: Finding) -> str:
    place = finding.location
    return f"{place.path}:{place.line}:{place.column}"


def _runs(runs: tuple[DynamicRun, ...]) -> str:
    rows = [
        (
            escape(words.run_title(run)),
            escape(words.run_counts(run)),
            escape(words.fullgraph(run.fullgraph)),
            escape(run.explain.disagrees or "agrees" if run.explain else "not tried"),
            escape(words.numerics(run.numerics)),
        )
        for run in runs
    ]
    return titled("The run", table(("Run", "Result", "fullgraph=True", "explain", "Outputs"), rows))


def _recompiles(runs: tuple[DynamicRun, ...]) -> str:
    rows = [
        (
            escape(met),
            code(words.recompile_place(recompile) or "no line named"),
            prose(recompile.cause),
            escape(words.recompile_effect(recompile)),
            prose(words.remedy(recompile)),
        )
        for recompile, met in words.recompiles(runs).items()
    ]
    return titled("Recompiles", table(("Run", "Where", "Cause", "Effect", "Remedy"), rows))


def _verification(result: Verification | None) -> str:
    if result is None:
        return ""
    lines = [escape(words.verification(result)), escape(words.GRADES[result.grade]), escape(result.detail)]
    return titled("Verification", "  \n".join(line for line in lines if line))


def _stacks(diagnosis: Diagnosis) -> str:
    stacks = list(_stack_lines(diagnosis.dynamic or ()))
    return folded("Stacks of the graph breaks", fence("\n".join(stacks))) if stacks else ""


def _stack_lines(runs: tuple[DynamicRun, ...]) -> Iterator[str]:
    for run in runs:
        for entry in run.breaks:
            if entry.stack:
                yield one_line(f"{words.run_title(run)}: {words.break_title(entry)}")
            for frame in entry.stack:
                yield "  " + one_line(f"{frame.path}:{frame.line} in {frame.function}")


def _failed(diagnosis: Diagnosis) -> Iterator[str]:
    for file in diagnosis.files:
        if file.status == "failed":
            yield f"{code(file.path)} {escape(file.reason or '')}"


def _dropped(diagnosis: Diagnosis, detail: Detail) -> str:
    dropped = [name for name, kept in (("stacks", detail.stacks), ("diffs", detail.diffs)) if not kept]
    if detail.findings is not None:
        dropped.append(f"{len(diagnosis.findings) - detail.findings} of {len(diagnosis.findings)} findings")
    return f"_Left out to fit a comment: {', '.join(dropped)}._" if dropped else ""


def _environment(diagnosis: Diagnosis) -> str:
    facts = [f"{key} {value}" for key, value in diagnosis.environment.items() if value]
    line = ", ".join([f"graphdoctor {diagnosis.tool_version}", *facts])
    command = f": {code(diagnosis.command)}" if diagnosis.command else ""
    return f"<sub>{escape(line)}{command}</sub>"
