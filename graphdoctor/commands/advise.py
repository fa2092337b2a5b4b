"""``graphdoctor advise``."""

from __future__ import annotations

from pathlib import Path

import click

from graphdoctor.commands.options.target import question, target_options
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import CLEAN, INTERRUPTED, OneLine, check_writable
from graphdoctor.model.benchmark import TIME_LIMIT

_EXAMPLES = """\b
Examples:
  graphdoctor advise model.py
  graphdoctor advise model.py --mode train --measure
  graphdoctor advise model.py --output-format json --output advice.json

\b
Exit codes:
  0    an advice was given
  2    the target could not be run, or wrong usage
  130  interrupted
"""


@click.command(short_help="Say where to put torch.compile.", epilog=_EXAMPLES)
@target_options
@click.option("--measure", is_flag=True, help="Also time the placements, as graphdoctor bench does.")
@click.option("--backend", default="inductor", show_default=True, help="The backend that --measure times.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="Stop counting, and then measuring, after this time.",
)
@click.option("--output-format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.pass_context
def advise(
    context: click.Context,
    file: Path,
    target: str | None,
    inputs: tuple[str, ...],
    device: str,
    mode: str,
    measure: bool,
    backend: str,
    time_limit: float,
    output_format: str,
    output: str | None,
) -> None:
    """Say where to put torch.compile: the whole model, blocks, submodules, loss, optimizer, or nowhere.

    FILE declares a sample input as for scan, and graphdoctor_variants() for changing sizes. The model is run, and the
    compilations of each placement are counted.
    """
    check_writable(output)
    from graphdoctor.advise.run import NoAdvice, measured
    from graphdoctor.advise.run import advise as run
    from graphdoctor.model.benchmark import Options
    from graphdoctor.report.measurements import advise as report

    def progress(text: str) -> None:
        click.echo(f"graphdoctor: {text}", err=True)

    to_run = question(file, target, inputs, device, mode)
    try:
        found = run(to_run, time_limit, progress)
    except NoAdvice as error:
        raise OneLine(str(error)) from None
    if measure:
        found = measured(found, to_run, Options((), backend, time_limit=time_limit), progress)
    emit({"text": report.text, "json": report.as_json, "markdown": report.markdown}[output_format](found), output)
    interrupted = found.bench is not None and found.bench.ended == "interrupted"
    context.exit(INTERRUPTED if interrupted else CLEAN)
