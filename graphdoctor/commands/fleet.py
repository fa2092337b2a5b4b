"""``graphdoctor fleet``."""

from __future__ import annotations

import platform
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import CLEAN, FAILURE, FINDINGS, INTERRUPTED, OneLine

if TYPE_CHECKING:
    from graphdoctor.fleet.drive import Plan
    from graphdoctor.model.fleet import Fleet, Result

_EXAMPLES = """\b
Examples:
  graphdoctor fleet models/ --jobs 4
  graphdoctor fleet models.toml --output nightly -- --mode eval --no-verify
  graphdoctor fleet 'timm:resnet*' --ray local --jobs 4
  graphdoctor fleet zoo.catalog:targets --against last-week --fail-on worse

\b
Exit codes:
  0    every target has a result, and --fail-on finds nothing
  1    what --fail-on says
  2    wrong usage, or no target has a report
  130  interrupted; the same command goes on
"""

#: The most files that a line names.
_NAMED = 5
_FAILED = ("failed", "timeout", "memory", "crashed")


@click.command(short_help="Scan many targets, each in a process of its own.", epilog=_EXAMPLES)
@click.argument("targets", metavar="TARGETS")
@click.argument("options", nargs=-1, metavar="[-- SCAN OPTIONS]")
@click.option("--output", metavar="FOLDER", default="graphdoctor-fleet", show_default=True, help="Where results go.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Scan so many at a time.")
@click.option("--ray", metavar="ADDRESS", help="Scan on the Ray cluster there; `local` starts one with --jobs workers.")
@click.option("--limit", type=click.FloatRange(min=1), default=1800, show_default=True, metavar="SECONDS")
@click.option("--memory", type=click.IntRange(min=64), default=16384, show_default=True, metavar="MIB")
@click.option(
    "--again", type=click.Choice(["failed", "all"]), help="Scan targets with a result again: those that failed, or all."
)
@click.option("--against", metavar="FOLDER", help="Compare with an earlier fleet: its folder or its fleet.sqlite.")
@click.option("--fail-on", type=click.Choice(["worse", "failed", "none"]), default="none", show_default=True)
@click.pass_context
def fleet(
    context: click.Context,
    targets: str,
    options: tuple[str, ...],
    output: str,
    jobs: int,
    ray: str | None,
    limit: float,
    memory: int,
    again: str | None,
    against: str | None,
    fail_on: str,
) -> None:
    """Scan many targets, each in a process of its own with limits of time and memory.

    TARGETS is a TOML file with a list `targets`, a folder of files that declare a sample input, names with a wildcard
    (hf:Bert*, timm:*), or a function of the project, MODULE:FUNCTION, that returns such a list. What follows -- goes
    to each scan. Results go into FOLDER/fleet.sqlite as they come; the same command goes on where it was stopped.
    FOLDER/index.html shows them all.
    """
    from graphdoctor.fleet.drive import Plan
    from graphdoctor.fleet.on_ray import NoRay
    from graphdoctor.fleet.store import BadStore, existing
    from graphdoctor.fleet.targets import NoTargets, left_out
    from graphdoctor.fleet.targets import targets as found_in
    from graphdoctor.model.fleet import Limits
    from graphdoctor.report.text.fleet import render

    if fail_on == "worse" and against is None:
        raise OneLine("--fail-on worse needs an earlier fleet to compare with: give --against FOLDER")
    repeated = {None: (), "failed": _FAILED, "all": ("done", *_FAILED)}[again]
    try:
        before = existing(Path(against)) if against is not None else None
        plan = Plan(found_in(targets), options, Limits(limit, memory), jobs, frozenset(repeated), ray)
        _say_left_out(left_out(targets))
        shown = _made(targets, plan, Path(output), before, against or "")
    except (BadStore, NoRay, NoTargets) as error:
        raise OneLine(str(error)) from None
    emit(render(shown), None)
    context.exit(_code(shown, fail_on))


def _made(targets: str, plan: Plan, folder: Path, before: dict[str, Result] | None, against: str) -> Fleet:
    from graphdoctor import __version__
    from graphdoctor.dynamic.parent.requirements import cannot_fork
    from graphdoctor.fleet.drive import run
    from graphdoctor.fleet.trend import rows
    from graphdoctor.model.fleet import Fleet
    from graphdoctor.report.html.fleet import render
    from graphdoctor.target_torch.installed import torch_available

    if reason := cannot_fork():
        raise OneLine(reason)
    # So that `timeout 3600 graphdoctor fleet` keeps what there is, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        results = run(plan, folder, _say)
    except OSError as error:
        raise OneLine(f"{error.filename or folder}: {error.strerror}") from None
    missing = tuple(target.name for target in plan.targets if target.name not in results)
    environment = {"graphdoctor": __version__, "python": platform.python_version(), "torch": torch_available()}
    made = Fleet(targets, rows(tuple(results.values()), before), missing, against, environment)
    emit(render(made), str(folder / "index.html"))
    return made


def _say_left_out(files: Sequence[str]) -> None:
    from graphdoctor.report.wording import plural

    if files:
        named = ", ".join(files[:_NAMED]) + (", ..." if len(files) > _NAMED else "")
        count = f"{plural(len(files), 'file')} with a model and no sample input left out"
        click.echo(f"graphdoctor: {count}: {named} (docs/samples.md)", err=True)


def _say(result: Result, number: int, count: int) -> None:
    state = result.summary.verdict if result.summary else f"{result.outcome}: {result.detail}"
    click.echo(f"graphdoctor: {number} of {count}: {result.name}: {state} ({result.seconds:.1f} s)", err=True)


def _code(shown: Fleet, fail_on: str) -> int:
    if shown.missing:
        return INTERRUPTED
    if fail_on == "worse" and any(row.trend == "worse" for row in shown.rows):
        return FINDINGS
    if fail_on == "failed" and any(row.result.outcome != "done" for row in shown.rows):
        return FINDINGS
    return CLEAN if any(row.result.outcome == "done" for row in shown.rows) else FAILURE
