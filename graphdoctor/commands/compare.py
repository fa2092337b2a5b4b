"""``graphdoctor compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from graphdoctor.commands.outputs import (
    Report,
    check_reports,
    fail_on_option,
    format_option,
    judge,
    max_breaks_option,
    report_option,
    write_reports,
)
from graphdoctor.commands.printing import emit, look
from graphdoctor.commands.problems import CLEAN, OneLine

if TYPE_CHECKING:
    from graphdoctor.diagnosis.gate import FailOn

_EXAMPLES = """\b
Examples:
  graphdoctor scan src/ --report json=base.json      (on the base)
  graphdoctor scan src/ --report json=head.json      (on the change)
  graphdoctor compare base.json head.json --html report.html --report markdown=comment.md

\b
Exit codes:
  0  nothing new
  1  errors that the base did not have, or what --fail-on and --max-breaks say
  2  wrong usage, or a file that is no report of graphdoctor
"""


@click.command(short_help="Say what is new and fixed between two JSON reports.", epilog=_EXAMPLES)
@click.argument("base", metavar="BASE.json")
@click.argument("head", metavar="HEAD.json")
@fail_on_option
@max_breaks_option
@click.option("--html", metavar="FILE", help="Also write the report as one HTML file.")
@report_option
@format_option
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1.")
@click.pass_context
def compare(
    context: click.Context,
    base: str,
    head: str,
    fail_on: FailOn | None,
    max_breaks: int | None,
    html: str | None,
    reports: tuple[Report, ...],
    output_format: str,
    output: str | None,
    exit_zero: bool,
) -> None:
    """Say what is new, fixed and unchanged between two JSON reports of scans.

    A break that moved to another line, function or file is unchanged.
    """
    if html is not None:
        reports = (*reports, Report("html", html))
    check_reports(reports, output)
    from graphdoctor.report.formats import render
    from graphdoctor.report.text import comparison
    from graphdoctor.scan.baseline import compared_files
    from graphdoctor.scan.options import UsageError

    try:
        diagnosis = compared_files(base, head)
    except UsageError as error:
        raise OneLine(str(error)) from None
    if output_format == "text":
        emit(comparison.render(diagnosis), output)
    else:
        emit(render(diagnosis, output_format, look(output)), output)
    write_reports(diagnosis, reports)
    code = judge(diagnosis, fail_on, max_breaks)
    context.exit(CLEAN if exit_zero else code)
