"""``graphdoctor scan``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.common import CLEAN, FAILURE, FINDINGS, OneLine, check_writable, codes, emit, wants_color

if TYPE_CHECKING:
    from graphdoctor.model import Diagnosis

_SCAN_EXAMPLES = """\b
Examples:
  graphdoctor scan model.py --html report.html
  graphdoctor scan src/ tests/helpers.py --no-run --select GD1
  graphdoctor scan net.py --target Net --input 'float32[8,3,224,224]'
  graphdoctor scan lm.py --target LM --input 'input_ids=int64[2,16]<1000' --mode train
  graphdoctor scan model.py --diff
  graphdoctor scan model.py --output-format markdown --output comment.md --exit-zero

\b
Exit codes:
  0  nothing found
  1  errors or graph breaks found, fullgraph=True fails, or the run failed; with --diff: there is something to change
  2  wrong usage, internal error, or nothing but files that could not be read
"""


@click.command(epilog=_SCAN_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--run/--no-run",
    default=None,
    help="Run the code, or never run it. By default one file that declares a sample input is run, anything else not.",
)
@click.option("--target", metavar="NAME", help="The class or function to run.")
@click.option("--input", "inputs", multiple=True, metavar="SPEC", help="A sample argument: [NAME=]DTYPE[SIZES][<HIGH].")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--mode", type=click.Choice(["eval", "train", "both"]), help="[default: both, or the project's setting]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of one run.  [default: 120, or the project's setting]",
)
@click.option("--select", multiple=True, callback=codes, metavar="CODES", help="Only these rules; GD1 is all of GD1xx.")
@click.option("--ignore", multiple=True, callback=codes, metavar="CODES", help="Not these rules.")
@click.option("--possible", is_flag=True, help="Also what may break under settings that the source does not show.")
@click.option("--fix", is_flag=True, help="Write the safe fixes to the files.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that may change behaviour.")
@click.option("--diff", "show_diff", is_flag=True, help="Print the fixes as a diff, and nothing else; write nothing.")
@click.option("--no-verify", is_flag=True, help="Do not run the code again with the fixes applied to a copy.")
@click.option("--html", metavar="FILE", help="Also write the report as one HTML file.")
@click.option("--output-format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.option("--exit-zero", is_flag=True, help="End with 0 where it would be 1.")
@click.pass_context
def scan(
    context: click.Context,
    paths: tuple[str, ...],
    run: bool | None,
    target: str | None,
    inputs: tuple[str, ...],
    device: str,
    mode: str | None,
    timeout: float | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    possible: bool,
    fix: bool,
    unsafe_fixes: bool,
    show_diff: bool,
    no_verify: bool,
    html: str | None,
    output_format: str,
    output: str | None,
    exit_zero: bool,
) -> None:
    """Find graph breaks and fix them.

    The files, or the Python files in the folders, are read; nothing is executed by that. One file that declares a
    sample input is also run under TorchDynamo, in a process of its own.
    """
    if fix and show_diff:
        raise OneLine("--fix writes the fixes and --diff only shows them: use one of the two")
    check_writable(html, output)
    from graphdoctor import api
    from graphdoctor.report.progress import Progress

    options = api.ScanOptions(
        paths=paths,
        run=run,
        target=target,
        inputs=inputs,
        device=device,
        mode=mode,
        select=select,
        ignore=ignore,
        possible=possible,
        timeout=timeout,
        verify=not no_verify,
        fix=fix,
        unsafe_fixes=unsafe_fixes,
        command=shlex.join(["graphdoctor", *sys.argv[1:]]),
    )
    try:
        with Progress(sys.stderr) as progress:
            diagnosis = api.scan(options, progress)
    except api.UsageError as error:
        raise OneLine(str(error)) from None
    if show_diff:
        changes = api.diff(diagnosis, unsafe_fixes)
        emit(changes, output)
        context.exit(FINDINGS if changes and not exit_zero else CLEAN)
    emit(_render(diagnosis, output_format, color=output is None and wants_color()), output)
    if html is not None:
        from graphdoctor.report.html import render

        emit(render(diagnosis), html)
    code = exit_code(diagnosis)
    context.exit(CLEAN if exit_zero and code == FINDINGS else code)


def exit_code(diagnosis: Diagnosis) -> int:
    """What a scan ends with: see the help of ``scan``."""
    errors = any(finding.severity == "error" and finding.status != "refuted" for finding in diagnosis.findings)
    if errors or diagnosis.summary.verdict in ("not-ready", "nothing-compiled", "not-run"):
        return FINDINGS
    return FAILURE if diagnosis.summary.failed else CLEAN


def _render(diagnosis: Diagnosis, output_format: str, color: bool) -> str:
    from graphdoctor.report import as_json, markdown, text

    if output_format == "json":
        return as_json.render(diagnosis)
    return markdown.render(diagnosis) if output_format == "markdown" else text.render(diagnosis, color)
