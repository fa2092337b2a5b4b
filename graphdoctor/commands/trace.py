"""``graphdoctor trace``."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.outputs import Report, check_reports, format_option, report_option, write_reports
from graphdoctor.commands.printing import emit, look
from graphdoctor.commands.problems import CLEAN, FINDINGS, OneLine

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

_EXAMPLES = """\b
Examples:
  TORCH_TRACE=/tmp/trace torchrun --nproc-per-node 8 train.py
  graphdoctor trace /tmp/trace
  graphdoctor trace /tmp/trace --html report.html --report markdown=comment.md
  graphdoctor trace /tmp/trace --follow

\b
Exit codes:
  0  nothing found
  1  graph breaks found, or nothing was compiled
  2  no trace to read, or wrong usage
"""


@click.command(epilog=_EXAMPLES)
@click.argument("path", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--html", metavar="FILE", help="Also write the report as one HTML file.")
@report_option
@format_option
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="An earlier run to compare with: say why compile caches were missed.",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Read so many files at a time.")
@click.option(
    "--follow", is_flag=True, help="Read the trace of a job that is still running; Ctrl-C ends with the report."
)
@click.option(
    "--idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --follow: end after this time without a new record.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1.")
@click.pass_context
def trace(
    context: click.Context,
    path: Path,
    html: str | None,
    reports: tuple[Report, ...],
    output_format: str,
    output: str | None,
    against: Path | None,
    jobs: int | None,
    follow: bool,
    idle: float | None,
    exit_zero: bool,
) -> None:
    """Report on a job that ran elsewhere, from its TORCH_TRACE files.

    DIR is the folder that TORCH_TRACE named, with the files of all ranks, or one such file; they may be packed (.gz).
    Nothing is run, and torch is not needed.
    """
    if html is not None:
        reports = (*reports, Report("html", html))
    check_reports(reports, output)
    from graphdoctor.commands.scan import exit_code
    from graphdoctor.report.formats import render
    from graphdoctor.trace.files import NoTrace

    if idle is not None and not follow:
        raise OneLine("--idle SECONDS says when --follow ends: give both")
    try:
        diagnosis = _followed(path, idle, against) if follow else _read(path, jobs, against)
    except NoTrace as error:
        raise OneLine(str(error)) from None
    emit(render(diagnosis, output_format, look(output)), output)
    write_reports(diagnosis, reports)
    code = exit_code(diagnosis)
    context.exit(CLEAN if exit_zero and code == FINDINGS else code)


def _read(path: Path, jobs: int | None, against: Path | None) -> Diagnosis:
    from graphdoctor.report.text.progress import Progress
    from graphdoctor.trace.diagnose import diagnose

    with Progress(sys.stderr) as progress:
        return diagnose(path, _command(), jobs=jobs, progress=progress, against=against)


def _followed(path: Path, idle: float | None, against: Path | None) -> Diagnosis:
    from graphdoctor.interrupt import Interrupts
    from graphdoctor.report.text.progress import Progress
    from graphdoctor.scan.options import ScanOptions
    from graphdoctor.trace.diagnose import of_processes
    from graphdoctor.trace.files import find
    from graphdoctor.trace.follow import follow
    from graphdoctor.trace.reading import read_processes

    interrupts = Interrupts()

    def wait(seconds: float) -> bool:
        interrupts.attempt(lambda: time.sleep(seconds))
        return interrupts.requested

    with interrupts.listening(), Progress(sys.stderr) as progress:
        interrupts.hold()
        before = read_processes(find(against))[0] if against is not None else ()
        processes, files = follow(path, wait, progress.say, progress, idle).end()
    return of_processes(path, processes, files, ScanOptions((), command=_command()), before)


def _command() -> str:
    return shlex.join(["graphdoctor", *sys.argv[1:]])
