"""The command line: parse options, call the engine, choose a renderer. No logic of its own.

Only click and the standard library are imported at the top, so that ``--help`` and ``--version`` are fast; the engine
is imported inside the commands.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

import click

from graphdoctor import __version__

if TYPE_CHECKING:
    from graphdoctor.model import Diagnosis

CLEAN, FINDINGS, FAILURE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: list[str] | None = None) -> NoReturn:
    """The entry point. Ends the process with 0 (clean), 1 (findings), 2 (usage or internal error) or 130 (Ctrl-C)."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape, not a UnicodeEncodeError.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=arguments, prog_name="graphdoctor", standalone_mode=False)
    except click.Abort:
        code = INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except Exception as error:
        if os.environ.get("GRAPHDOCTOR_DEBUG") == "1":
            traceback.print_exc()
        code = _complain(
            f"internal error: {type(error).__name__}: {error}. Please report it with the traceback that "
            "GRAPHDOCTOR_DEBUG=1 shows"
        )
    sys.exit(code)


class _OneLine(click.ClickException):
    """A problem that the user can mend; shown as one line."""

    exit_code = FAILURE

    def show(self, file: Any = None) -> None:
        _complain(self.format_message())


def _complain(message: str) -> int:
    from graphdoctor.report.visible import one_line, visible

    click.echo(f"graphdoctor: {one_line(visible(message))}", err=True)
    return FAILURE


def _codes(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """``("GD101,GD2", "GD3")`` as ``("GD101", "GD2", "GD3")``."""
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="graphdoctor", message="%(prog)s %(version)s")
def cli() -> None:
    """Find, run, fix and verify the graph breaks of PyTorch code.

    \b
    graphdoctor scan model.py           read the code and, if it has a sample input, run it
    graphdoctor explain GD101           what a finding means and how to fix it
    graphdoctor rules                   all rules
    """


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


@cli.command(epilog=_SCAN_EXAMPLES)
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
@click.option(
    "--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules; GD1 is all of GD1xx."
)
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="Not these rules.")
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
    from graphdoctor.report.write import problem

    if fix and show_diff:
        raise _OneLine("--fix writes the fixes and --diff only shows them: use one of the two")
    for file in filter(None, (html, output)):
        if (reason := problem(file)) is not None:
            raise _OneLine(reason)
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
        raise _OneLine(str(error)) from None
    if show_diff:
        changes = api.diff(diagnosis, unsafe_fixes)
        _emit(changes, output)
        context.exit(FINDINGS if changes and not exit_zero else CLEAN)
    _emit(_render(diagnosis, output_format, color=output is None and _wants_color()), output)
    if html is not None:
        from graphdoctor.report.html import render

        _emit(render(diagnosis), html)
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


def _emit(text: str, file: str | None) -> None:
    """To stdout, or to ``file`` with a line on stderr that says so."""
    from graphdoctor.report.write import write

    if file is None or file == "-":
        click.echo(text, nl=False, color=True)
        return
    try:
        write(file, text)
    except OSError as error:
        raise _OneLine(f"{file} cannot be written: {error.strerror}") from None
    click.echo(f"graphdoctor: wrote {file}", err=True)


def _wants_color() -> bool:
    """Colour only on a terminal that can show it, and never against https://no-color.org."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@cli.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain a rule or a graph break.

    Shows what the rule finds, why it matters, how to fix it, and examples. CODE is the code or the name of a rule, or
    the id that Dynamo gives a graph break, for which the rules that predict it are listed.

    \b
    Examples:
      graphdoctor explain GD101
      graphdoctor explain print-in-graph
      graphdoctor explain GB0059
    """
    from graphdoctor import registry
    from graphdoctor.report.rules import explain as page
    from graphdoctor.static.catalog import rules as catalog

    try:
        click.echo(page(code, catalog(), registry.load()), nl=False)
    except LookupError as error:
        raise _OneLine(str(error)) from None


@cli.command()
def rules() -> None:
    """List all rules.

    One line each: code, name, severity, torch versions, graph-break ids, summary.
    """
    from graphdoctor.report.rules import table
    from graphdoctor.static.catalog import rules as catalog

    click.echo(table(catalog()), nl=False)
