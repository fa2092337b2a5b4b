"""Where reports go and what fails: the options that ``scan`` and ``compare`` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.printing import emit, look
from graphdoctor.commands.problems import CLEAN, FINDINGS, OneLine, check_writable
from graphdoctor.report.formats import FORMATS

if TYPE_CHECKING:
    from graphdoctor.diagnosis.gate import FailOn
    from graphdoctor.model.findings import Diagnosis


@dataclass(frozen=True)
class Report:
    """A report to write: a format, and a file or ``-`` for stdout."""

    format: str
    file: str


def _reports(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Report, ...]:
    """The callback of ``--report``."""
    reports = []
    for value in values:
        name, equals, file = value.partition("=")
        if name not in FORMATS or not equals or not file:
            raise click.BadParameter(f"{value!r} is not FORMAT=FILE with a format of {', '.join(FORMATS)}")
        reports.append(Report(name, file))
    return tuple(reports)


report_option = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT=FILE",
    callback=_reports,
    help=f"Also write a report: {', '.join(FORMATS)}. May be given several times; - is stdout.",
)
format_option = click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True)
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["new", "any", "none"]),
    help="End with 1 for errors that the base did not have, for any, or for none.  "
    "[default: new with a base, none with --max-breaks, else any]",
)
max_breaks_option = click.option(
    "--max-breaks", type=click.IntRange(min=0), metavar="N", help="End with 1 when there are more errors than this."
)


def check_gate(fail_on: FailOn | None, *bases: str | None) -> None:
    """Raises OneLine where --fail-on new is used without a base."""
    if fail_on == "new" and not any(bases):
        raise OneLine("--fail-on new needs a base to compare with: give --baseline FILE or --diff-base GITREF")


def check_reports(reports: tuple[Report, ...], *files: str | None) -> None:
    """Refuse before the work what cannot be written after it. Raises OneLine."""
    check_writable(*files, *(report.file for report in reports if report.file != "-"))


def write_reports(diagnosis: Diagnosis, reports: tuple[Report, ...]) -> None:
    """Write each report. Raises OneLine."""
    from graphdoctor.report.formats import render

    for report in reports:
        emit(render(diagnosis, report.format, look(report.file)), report.file)


def judge(diagnosis: Diagnosis, fail_on: FailOn | None, max_breaks: int | None) -> int:
    """The exit code of the gate; the reasons go to stderr where the report does not show them.

    That is where the user configured the gate, and where what ran is ready and the code has errors all the same.
    """
    from graphdoctor.diagnosis.gate import failures

    is_gated = fail_on is not None or max_breaks is not None or diagnosis.comparison is not None
    default: FailOn = "new" if diagnosis.comparison else "any" if max_breaks is None else "none"
    reasons = failures(diagnosis, fail_on or default, max_breaks)
    for reason in reasons if is_gated or diagnosis.summary.verdict == "ready" else ():
        click.echo(f"graphdoctor: failed: {reason}", err=True)
    return FINDINGS if reasons else CLEAN
