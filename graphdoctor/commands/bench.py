"""``graphdoctor bench``."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.bench.strategies import STRATEGIES, UnknownStrategy, chosen
from graphdoctor.commands.options.rule_codes import codes
from graphdoctor.commands.options.target import question, target_options
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import CLEAN, FAILURE, INTERRUPTED, OneLine, check_writable, complain
from graphdoctor.model.benchmark import TIME_LIMIT

if TYPE_CHECKING:
    from graphdoctor.model.benchmark import Bench, Options, Question

_EXAMPLES = """\b
Examples:
  graphdoctor bench model.py --html bench.html
  graphdoctor bench model.py --mode train --strategies default,regional,optimizer
  graphdoctor bench model.py --backend aot_eager --time-limit 60

\b
Exit codes:
  0    measured, whatever the verdict
  2    nothing could be measured, or wrong usage
  130  interrupted; what was measured until then is reported
"""


@click.command(short_help="Measure what each way of compiling costs and gains.", epilog=_EXAMPLES)
@target_options
@click.option(
    "--strategies",
    multiple=True,
    callback=codes,
    metavar="NAMES",
    help=f"Measure these, and eager: {', '.join(STRATEGIES)}.  [default: all]",
)
@click.option("--backend", default="inductor", show_default=True, help="The backend of torch.compile.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.01),
    default=4.0,
    show_default=True,
    help="Time each steady state this long; less where the times scatter little.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="End within this time and report what there is.",
)
@click.option("--html", metavar="FILE", help="Also write the report with its plots as one HTML file.")
@click.option("--output-format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.pass_context
def bench(
    context: click.Context,
    file: Path,
    target: str | None,
    inputs: tuple[str, ...],
    device: str,
    mode: str,
    strategies: tuple[str, ...],
    backend: str,
    seconds: float,
    time_limit: float,
    html: str | None,
    output_format: str,
    output: str | None,
) -> None:
    """Measure what each way of compiling costs and gains: step time, compile time, memory, outputs against eager.

    FILE declares a sample input as for scan. Each strategy runs in a process of its own with empty compiler caches.
    Ctrl-C and SIGTERM end the benchmark and keep what was measured.
    """
    check_writable(html, output)
    from dataclasses import replace

    from graphdoctor.model.benchmark import Options
    from graphdoctor.report.measurements import bench as report

    try:
        options = Options(chosen(strategies), backend, seconds, time_limit)
    except UnknownStrategy as error:
        raise OneLine(str(error)) from None
    to_run = question(file, target, inputs, device, mode)
    measured = replace(_measure(to_run, options), command=shlex.join(["graphdoctor", *sys.argv[1:]]))
    failed = next((result for result in measured.results if result.strategy == "eager"), None)
    if failed is not None and failed.status == "failed":
        # There is no model to measure, so there is nothing to report.
        raise OneLine(failed.detail)
    shown = {"text": report.text, "json": report.as_json, "markdown": report.markdown}[output_format](measured)
    emit(shown, output)
    if html is not None:
        from graphdoctor.report.html.bench import render

        emit(render(measured), html)
    context.exit(_code(measured))


def _measure(to_run: Question, options: Options) -> Bench:
    from graphdoctor.bench.run import bench as run

    # So that `timeout 60 graphdoctor bench` reports, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(to_run, options, lambda text: click.echo(f"graphdoctor: {text}", err=True))


def _code(measured: Bench) -> int:
    if measured.ended == "interrupted":
        return INTERRUPTED
    if any(result.timing for result in measured.results):
        return CLEAN
    reason = next((result.detail for result in measured.results if result.detail), "nothing was measured")
    complain(reason)
    return FAILURE
