"""The options of a run that looks for causes beside the breaks: parts, layers, a training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from graphdoctor.commands.common import OneLine, complain, emit

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--quick", is_flag=True, help="Stop at the verdict: no fix is verified, no recompile counted."),
    click.option("--deep", is_flag=True, help="All that can be looked at, however long it takes, within --timeout."),
    click.option(
        "--readiness", is_flag=True, help="Which submodules compile alone.  [default: small models that fail]"
    ),
    click.option("--ladder", is_flag=True, help="Try eager, aot_eager, ... inductor: which layer fails. Takes longer."),
    click.option("--repro", metavar="FILE", help="With what --ladder does: write a script that fails in the same way."),
    click.option("--optimizer", type=click.Choice(["sgd", "adamw"]), help="Also a training step with this optimizer."),
    click.option("--compiled-autograd", is_flag=True, help="Compile the backward of that training step, too."),
    click.option("--advise", is_flag=True, help="Also say where to put torch.compile, counted by runs of their own."),
)


def deeper_options(command: F) -> F:
    """The options, in the order of the list; their names are those of ScanOptions."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_depth(settings: Mapping[str, Any], vary: tuple[str, ...]) -> None:
    """Raises OneLine where ``--quick`` comes with what is done behind the verdict."""
    asked = ("deep", "readiness", "ladder", "repro", "advise", "fix")
    more = next((name for name in asked if settings.get(name)), "vary" if vary else None)
    if settings.get("quick") and more is not None:
        raise OneLine(f"--quick stops at the verdict, and --{more} asks for what comes behind it: use one of the two")


def write_repro(diagnosis: Diagnosis, file: str | None) -> None:
    """Write the first script that a ladder made; where there is none, say so. Raises OneLine."""
    if file is None:
        return
    ladders = [run.ladder for run in diagnosis.dynamic or () if run.ladder is not None]
    scripts = [ladder.repro for ladder in ladders if ladder.repro is not None]
    if scripts:
        emit(scripts[0], file)
    elif any(stage.outcome in ("failed", "differs") for ladder in ladders for stage in ladder.stages):
        complain(f"{file} was not written: no script that runs on its own fails in the same way")
    else:
        complain(f"{file} was not written: {'every backend worked' if ladders else 'nothing was run'}")
