"""The terminal report: the verdict, then each finding at its source line, then what was measured, then the counts."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.overview.affected import by_model
from graphdoctor.report.overview.alike import others, together
from graphdoctor.report.text import overview, run
from graphdoctor.report.text.closing import closing, hidden, listed
from graphdoctor.report.text.finding import Findings
from graphdoctor.report.text.look import PLAIN, Look
from graphdoctor.report.text.most_in import most_in
from graphdoctor.report.text.paint import Paint, blocks, cut, hanging, item, wrapped
from graphdoctor.report.wording import SEVERITIES

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding, ScannedFile, Summary

#: How the title above what the base had begins.
_KNOWN = "Already in"
#: From how many files on that have the same fault, as those that Ctrl-C left no time for, so many are named.
_MANY_FILES, _SHOWN_FILES = 5, 3


def render(diagnosis: Diagnosis, look: Look = PLAIN) -> str:
    """The report as text; the first line is the headline. Escape sequences only where ``look`` has colour."""
    shown = printable(diagnosis)
    return blocks(
        (
            headline(shown, look),
            overview.models(shown, look),
            overview.first(shown, look),
            _failed(shown, look),
            *_findings(shown, look),
            _refuted(shown, look),
            files(shown, look),
            run.measured(shown, look),
            _advice(shown, look),
            notes(shown, look),
            comparison(shown, look.width),
            ends(shown, look),
        )
    )


def headline(shown: Diagnosis, look: Look) -> Iterator[str]:
    """The verdict, in its colour."""
    paint = Paint(look.color)
    for line in wrapped(shown.summary.headline, "", 0, look.width):
        yield paint(line, "bold", _verdict_style(shown.summary))
    most = most_in(listed(shown)) if shown.dynamic is None and not overview.tells_models(shown) else ""
    if most:
        yield from wrapped(most, "", 0, look.width)


def _verdict_style(summary: Summary) -> str:
    if summary.verdict == "ready":
        return "green"
    unknown = summary.verdict in ("static-only", "not-run")
    return "cyan" if unknown and not summary.errors else "red"


def _failed(shown: Diagnosis, look: Look) -> Iterator[str]:
    """The line that raised, with the message, and how to go on."""
    if not any(run.raised_at is not None for run in shown.dynamic or ()):
        return
    from graphdoctor.report.failure import failure

    paint, found = Paint(look.color), failure(shown)
    if found is None:
        return
    first, *rest = hanging(f"{found.place}: {found.text}", 4, look.width)
    yield first.replace(found.place, paint(found.place, "bold"), 1)
    yield from rest
    source = next((line for line in found.lines if line.number == found.line), None)
    if source is not None:
        shown_line = cut(source.text.rstrip(), look.width - len(str(found.line)) - 3)
        yield f"{paint(f'{found.line} |', 'blue')} {shown_line}"
    if found.values:
        values = ", ".join(value.replace(" ", " is ", 1) for value in found.values)
        yield from wrapped(values, f"{' ' * len(str(found.line))} = {paint('here', 'bold')}: ", 9, look.width)
    again = f"{found.remedy}, then scan again: {found.command}"
    yield from wrapped(again, f"{' ' * len(str(found.line))} = {paint('help', 'bold')}: ", 9, look.width)


def _findings(shown: Diagnosis, look: Look) -> Iterator[Iterator[str]]:
    """The findings, with titles above what the base had already, and above those in other packages.

    What the base had is not what was asked for: a line each, unless all is wanted.
    """
    show = Findings(look, ran=any(run.outcome == "ok" for run in shown.dynamic or ()))
    for title, found in itertools.groupby(listed(shown), key=lambda finding: _title(finding, shown)):
        group = list(found)
        if title.startswith(_KNOWN) and not look.verbose:
            title = f"{title[:-1]} (--verbose has all of it):"
            lines = [text for finding in group for text in item(line(finding), 2, look.width)]
            yield iter([Paint(look.color)(title, "bold"), *lines])
            continue
        if title:
            yield iter([Paint(look.color)(title, "bold")])
        yield from _listed(shown, group, show, look)


def _listed(shown: Diagnosis, group: list[Finding], show: Findings, look: Look) -> Iterator[Iterator[str]]:
    """The findings of one title: under their models where the source alone was read, and those that are alike once.

    In code around models they are a line each.
    """
    paint = Paint(look.color)
    by_name = by_model(shown, group) if overview.tells_models(shown) else [(None, group)]
    for row, found in by_name:
        entries = [[finding] for finding in found] if look.verbose else together(found)
        if row is not None and row.region.host and not look.verbose:
            title = one_line(f"{row.title}, code around a model (--verbose has all of it):")
            yield iter([paint(title, "bold"), *(text for alike in entries for text in _short(alike, look))])
            continue
        if len(by_name) > 1:
            yield iter([paint(one_line(f"{row.title}:" if row else "Elsewhere:"), "bold")])
        yield from (show.lines(alike) for alike in entries)


def _short(alike: list[Finding], look: Look) -> list[str]:
    """One item for findings that are alike, without what they cost."""
    first = alike[0]
    also = f"; also {others(alike)}" if len(alike) > 1 else ""
    return item(f"{line(replace(first, consequence=None))}{also}", 2, look.width)


def _title(finding: Finding, shown: Diagnosis) -> str:
    """What stands above the first finding of its kind; nothing above those that have to be looked at."""
    if finding.owner != "own":
        return "In libraries:"
    base = shown.comparison
    return f"{_KNOWN} {one_line(base.base)}:" if base and finding.fingerprint in base.unchanged else ""


def _refuted(shown: Diagnosis, look: Look) -> Iterator[str]:
    if not look.verbose:
        return
    findings = [finding for finding in shown.findings if finding.status == "refuted"]
    if findings:
        yield Paint(look.color)("Refuted by the run (the line ran, nothing broke):", "bold")
    for finding in findings:
        yield from item(line(finding), 2, look.width)


def line(finding: Finding) -> str:
    """``model.py:18:9: error GD101 [print-in-graph] message``."""
    place = finding.location
    where = f"{place.path}:{place.line}:{place.column}"
    return one_line(f"{where}: {SEVERITIES[finding.severity]} {finding.rule} [{finding.name}] {finding.message}")


def files(shown: Diagnosis, look: Look) -> Iterator[str]:
    """What could not be read, and what was read in part."""
    groups = {
        "Files that could not be read:": [f for f in shown.files if f.status == "failed"],
        "Files that were not analysed completely:": [f for f in shown.files if f.status == "scanned" and f.reason],
    }
    for title, found in groups.items():
        if found:
            yield Paint(look.color)(title, "bold")
        for reason, alike in itertools.groupby(sorted(found, key=_reason), key=_reason):
            paths = [file.path for file in alike]
            if len(paths) > _MANY_FILES and not look.verbose:
                some = ", ".join(paths[:_SHOWN_FILES])
                paths = [f"{some} and {len(paths) - _SHOWN_FILES:,} more"]
            for path in paths:
                yield from item(f"{path}: {reason}", 2, look.width)


def _reason(file: ScannedFile) -> str:
    return file.reason or ""


def _advice(shown: Diagnosis, look: Look) -> Iterator[str]:
    if shown.advice is not None:
        from graphdoctor.report.measurements import advise

        yield Paint(look.color)("Where to put torch.compile:", "bold")
        yield textwrap.indent(advise.text(shown.advice, look.width - 2).rstrip(), "  ")


def notes(shown: Diagnosis, look: Look) -> Iterator[str]:
    """What the user should know beside the findings."""
    paint = Paint(look.color)
    for note in shown.notes:
        yield from wrapped(note, f"{paint('note', 'bold')}: ", 6, look.width)


def comparison(shown: Diagnosis, columns: int | None) -> Iterator[str]:
    """What is new and fixed against the base, wrapped at ``columns``."""
    if shown.comparison is not None:
        from graphdoctor.report.text import comparison as compared

        for number, text in enumerate(compared.lines(shown)):
            yield from [text] if columns is None else hanging(text.strip(), 8, columns, 2 if number else 0)


def ends(shown: Diagnosis, look: Look) -> Iterator[str]:
    """The last lines: what is not in the list, and what is."""
    for text in () if look.verbose else hidden(shown):
        yield from item(text, 0, look.width)
    # Programs look for the last line.
    yield from [closing(shown)] if look.columns is None else item(closing(shown), 0, look.width)
