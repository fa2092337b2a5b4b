"""The terminal report: the verdict, then each finding at its source line, the way compilers show errors."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphdoctor.labels import is_offered
from graphdoctor.report import words
from graphdoctor.report.excerpt import marked_line
from graphdoctor.report.visible import one_line, printable, width
from graphdoctor.report.words import plural

if TYPE_CHECKING:
    from graphdoctor.model import Diagnosis, Finding, Summary
    from graphdoctor.run_model import DynamicRun, Verification

#: Prose is wrapped at this many columns; source lines and diffs are not.
COLUMNS = 100

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}


class Paint:
    """Puts ANSI styles around text, or nothing when colour is off."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, *styles: str) -> str:
        if not self.on or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def render(diagnosis: Diagnosis, color: bool = False, tree: bool = False) -> str:
    """The report as text; the first line is the headline. Escape sequences only where ``color`` asks for them."""
    shown = printable(diagnosis)
    paint = Paint(color)
    open_findings = [finding for finding in shown.findings if finding.status != "refuted"]
    blocks = [
        paint(one_line(shown.summary.headline), "bold", _verdict_style(shown.summary)),
        *("\n".join(_finding(finding, paint)) for finding in open_findings if finding.owner == "own"),
        *_libraries([finding for finding in open_findings if finding.owner != "own"], paint),
        "\n".join(_refuted(shown, paint)),
        "\n".join(_files(shown, paint)),
        "\n".join(_runs(shown, paint, tree)),
        "\n".join(_recompiles(shown, paint)),
        "\n".join(_verification(shown.verification, paint)),
        _advice(shown, paint),
        "\n".join(_notes(shown, paint)),
        "\n".join(_comparison(shown)),
        closing(shown),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def closing(diagnosis: Diagnosis) -> str:
    """The last line: ``Found 5 errors and 1 warning in 3 files. 4 automatic fixes: ...``."""
    summary = diagnosis.summary
    files = plural(summary.files - summary.failed, "file")
    if summary.failed == summary.files:
        return f"Nothing was checked: {plural(summary.failed, 'file')} could not be read."
    if not summary.errors and not summary.warnings:
        return f"No errors or warnings in {files}."
    found = f"{plural(summary.errors, 'error')} and {plural(summary.warnings, 'warning')}"
    line = f"Found {found} in {files}."
    if summary.fixed:
        line += f" {plural(summary.fixed, 'fix', 'fixes')} written; scan again to see what is left."
    elif fixes := words.offered(diagnosis.findings):
        line += f" {fixes}: --diff shows, --fix applies."
    return line


def _verdict_style(summary: Summary) -> str:
    if summary.verdict == "ready":
        return "green"
    unknown = summary.verdict in ("static-only", "not-run")
    return "cyan" if unknown and not summary.errors else "red"


def _finding(finding: Finding, paint: Paint) -> Iterator[str]:
    place = finding.location
    severity = paint(finding.severity, "bold", _SEVERITY_STYLES[finding.severity])
    rule = paint(finding.rule, "bold") + f" [{finding.name}]"
    message = paint(one_line(finding.message), "bold")
    yield f"{paint(one_line(place.path), 'bold')}:{place.line}:{place.column}: {severity} {rule} {message}"
    gutter = " " * len(str(place.line))
    bar = paint(f"{gutter} |", "blue")
    source = marked_line(finding)
    if source is not None:
        yield bar
        yield paint(f"{place.line} |", "blue") + f" {source.text}".rstrip()
        carets = "^" * max(width(source.marked), 1)
        style = _SEVERITY_STYLES[finding.severity]
        yield f"{bar} {' ' * width(source.before)}{paint(carets, 'bold', style)}"
        yield bar
    if finding.status != "static-only":
        yield from _remark("run", words.status(finding), gutter, paint)
    yield from _remark("allowed", finding.allowed, gutter, paint)
    yield from _remark("why", finding.why, gutter, paint)
    yield from _fix(finding, gutter, paint)


def _libraries(findings: Sequence[Finding], paint: Paint) -> Iterator[str]:
    """What is in code that is not the user's, under a title of its own."""
    if findings:
        yield paint("In third-party code:", "bold")
    for finding in findings:
        yield "\n".join(_finding(finding, paint))


def _fix(finding: Finding, gutter: str, paint: Paint) -> Iterator[str]:
    yield from _remark("help", finding.suggestion, gutter, paint)
    if finding.fix is None:
        return
    yield from _remark("fix", f"{words.fix_kind(finding.fix)}. {words.fix_text(finding.fix)}", gutter, paint)
    for line in _changes(finding.fix.diff) if is_offered(finding, owner=None) else ():
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        yield f"{gutter}     {paint(line, style)}"


def _changes(diff: str) -> list[str]:
    """The lines of a unified diff that change, without file names and context; hunks are kept apart by "..."."""
    lines: list[str] = []
    for line in diff.splitlines()[2:]:
        if line.startswith("@@") and lines:
            lines.append("...")
        elif line.startswith(("+", "-")):
            lines.append(line)
    return lines


def _remark(label: str, text: str, gutter: str, paint: Paint) -> list[str]:
    """``= why: text``, wrapped and indented under its label; nothing when there is no text."""
    if not text.strip():
        return []
    lead = f"{gutter} = {label}: "
    marked = f"{gutter} {paint('=', 'blue')} {paint(label, 'bold')}: "
    return _wrapped(text, marked, len(lead))


def _wrapped(text: str, lead: str, indent: int) -> list[str]:
    """``text`` after ``lead``, which shows ``indent`` columns wide; further lines are indented as much."""
    first, *rest = textwrap.wrap(one_line(text), max(COLUMNS - indent, 40), break_on_hyphens=False) or [""]
    return [lead + first, *(" " * indent + line for line in rest)]


def _refuted(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    findings = [finding for finding in diagnosis.findings if finding.status == "refuted"]
    if findings:
        yield paint("Refuted by the run (the line ran, nothing broke):", "bold")
    for finding in findings:
        place = finding.location
        rule = f"{finding.rule} [{finding.name}]"
        yield f"  {one_line(place.path)}:{place.line}:{place.column}: {rule} {one_line(finding.message)}"


def _files(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    failed = [file for file in diagnosis.files if file.status == "failed"]
    if failed:
        yield paint("Files that could not be read:", "bold")
    for file in failed:
        yield f"  {one_line(file.path)}: {one_line(file.reason or '')}"
    partly = [file for file in diagnosis.files if file.status == "scanned" and file.reason]
    if partly:
        yield paint("Files that were not analysed completely:", "bold")
    for file in partly:
        yield f"  {one_line(file.path)}: {one_line(file.reason or '')}"


def _runs(diagnosis: Diagnosis, paint: Paint, tree: bool) -> Iterator[str]:
    if diagnosis.dynamic:
        yield paint("The run:", "bold")
    for run in diagnosis.dynamic or ():
        yield from _run(run, paint)
        yield from _parts(run, first=run is (diagnosis.dynamic or ())[0], tree=tree)


def _run(run: DynamicRun, paint: Paint) -> Iterator[str]:
    title = words.run_title(run)
    first, *rest = _item(f"{title}: {words.run_counts(run)}", 2)
    # Painted after wrapping, because colours have no width.
    yield first.replace(title, paint(title, "bold"), 1)
    yield from rest
    if run.outcome != "ok":
        return
    yield from _item(f"fullgraph=True {words.fullgraph(run.fullgraph)}", 4)
    if run.explain is not None and run.explain.disagrees:
        yield from _item(f"explain disagrees: {run.explain.disagrees}", 4)
    yield from _item(f"compiled outputs against eager: {words.numerics(run.numerics)}", 4)
    from graphdoctor.report import varied

    for entry in run.sweeps:
        yield from _item(varied.sweep(entry), 4)


def _parts(run: DynamicRun, first: bool, tree: bool) -> Iterator[str]:
    """The tree of the model, in the first run only unless it is asked for, and what is known of its parts."""
    from graphdoctor.report import deeper, tree_lines

    shown = tree_lines.lines(run, tree) if first or tree else []
    if shown:
        yield "    submodules:"
    for line in shown:
        yield f"      {line}"
    for line in deeper.lines(run, first):
        yield from _item(line, 4)


def _recompiles(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    found = words.recompiles(diagnosis.dynamic or ())
    if not found:
        return
    from graphdoctor.report import varied

    yield paint("Recompiles:", "bold")
    for recompile, met in found.items():
        place = words.recompile_place(recompile)
        yield from _item(f"{place}: {recompile.cause}" if place else recompile.cause, 2)
        yield from _item(f"{words.recompile_effect(recompile)}; {met}", 4)
        if remedy := words.remedy(recompile):
            yield from _item(f"= help: {remedy}", 4)
        for line in varied.tried(recompile):
            yield from _item(f"= tried: {line}", 4)


def _verification(result: Verification | None, paint: Paint) -> Iterator[str]:
    if result is not None:
        yield paint("Verification:", "bold")
        yield from _item(words.verification(result), 2)
        yield from _item(words.verification_detail(result), 2)


def _advice(diagnosis: Diagnosis, paint: Paint) -> str:
    if diagnosis.advice is None:
        return ""
    from graphdoctor.report import advise

    title = paint("Where to put torch.compile:", "bold")
    return f"{title}\n{textwrap.indent(advise.text(diagnosis.advice, COLUMNS - 2).rstrip(), '  ')}"


def _comparison(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.comparison is not None:
        from graphdoctor.report import comparison

        yield from comparison.lines(diagnosis)


def _item(text: str, indent: int) -> list[str]:
    """A line of a list, with what does not fit indented by two more."""
    return _wrapped(text, " " * indent, indent + 2)


def _notes(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    for note in diagnosis.notes:
        yield f"{paint('note', 'bold')}: {one_line(note)}"
