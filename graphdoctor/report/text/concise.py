"""The short text reports: a line for each finding, as they come or by file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphdoctor.model.labels import is_offered, label
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, printable, width
from graphdoctor.report.text import terminal
from graphdoctor.report.text.closing import listed
from graphdoctor.report.text.look import PLAIN, Look
from graphdoctor.report.text.paint import SEVERITY_STYLES, Paint, blocks, cut

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding


def concise(diagnosis: Diagnosis, look: Look = PLAIN) -> str:
    """``model.py:18:9: error GD101 [print-in-graph] message (safe fix)``: a line each, the verdict at the end."""
    shown = printable(diagnosis)
    lines = [_line(f"{_path(finding)}:{_position(finding)}:", finding, look) for finding in _of_this_scan(shown, look)]
    return _report(shown, [iter(lines)] if lines else [], look)


def grouped(diagnosis: Diagnosis, look: Look = PLAIN) -> str:
    """The same under the names of the files."""
    shown = printable(diagnosis)
    files: dict[str, list[Finding]] = {}
    for finding in _of_this_scan(shown, look):
        files.setdefault(_path(finding), []).append(finding)
    return _report(shown, [_file(path, found, look) for path, found in files.items()], look)


def _of_this_scan(shown: Diagnosis, look: Look) -> list[Finding]:
    """What gets a line: what the base had is counted, under "Against", and shown where all is asked for."""
    known = shown.comparison.unchanged if shown.comparison and not look.verbose else ()
    return [finding for finding in listed(shown) if finding.fingerprint not in known]


def _report(shown: Diagnosis, groups: list[Iterator[str]], look: Look) -> str:
    """``groups``, what went wrong beside them, the verdict and the counts."""
    failed = (run for run in shown.dynamic or () if run.outcome != "ok")
    ends = (
        *terminal.headline(shown, look),
        *(f"{wording.run_title(run)}: {one_line(wording.run_counts(run))}" for run in failed),
        *terminal.ends(shown, look),
    )
    # A headline that only counts what the last line counts is left out.
    compared = terminal.comparison(shown, look.columns)
    return blocks((*groups, terminal.files(shown, look), terminal.notes(shown, look), compared, ends))


def _file(path: str, findings: list[Finding], look: Look) -> Iterator[str]:
    yield Paint(look.color)(path, "bold")
    places = [_position(finding) for finding in findings]
    widest = max(map(len, places))
    for place, finding in zip(places, findings, strict=True):
        yield _line(f"  {place:<{widest}} ", finding, look)


def _path(finding: Finding) -> str:
    return one_line(finding.location.path)


def _position(finding: Finding) -> str:
    return f"{finding.location.line}:{finding.location.column}"


def _line(where: str, finding: Finding, look: Look) -> str:
    """One line; it is cut to the width of the terminal, and elsewhere whole."""
    paint = Paint(look.color)
    severity = wording.SEVERITIES[finding.severity]
    lead = f"{where} {severity} {finding.rule} [{finding.name}] "
    offered = is_offered(finding, owner=None) and finding.fix is not None
    tail = f" ({label(finding.fix)} fix)" if offered and finding.fix else ""
    message = one_line(finding.message)
    if look.columns is not None:
        message = cut(message, max(look.columns - width(lead + tail), 20))
    return (
        lead.replace(f" {severity} ", f" {paint(severity, SEVERITY_STYLES[finding.severity])} ", 1)
        + message
        + paint(tail, "green")
    )
