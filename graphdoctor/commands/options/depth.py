"""What a run looks for beside the graph breaks: submodules, layers, a training step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.common import OneLine, complain, emit
from graphdoctor.commands.options.group import option_group
from graphdoctor.scan.options import DepthOptions

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

#: The argument ``depth``.
depth_options = option_group(
    "depth",
    DepthOptions,
    {
        "quick": click.option(
            "--quick", is_flag=True, help="Stop at the verdict: no fix is verified, no recompile counted."
        ),
        "deep": click.option(
            "--deep", is_flag=True, help="All that can be looked at, however long it takes, within --timeout."
        ),
        "readiness": click.option(
            "--readiness", is_flag=True, help="Which submodules compile alone.  [default: small models that fail]"
        ),
        "ladder": click.option(
            "--ladder", is_flag=True, help="Try eager, aot_eager, ... inductor: which layer fails. Takes longer."
        ),
        "audit": click.option(
            "--audit", is_flag=True, help="Does compiling change the answer? Each backend against eager."
        ),
        "export": click.option("--export", is_flag=True, help="Does torch.export take it, strict and not? Where not?"),
        "repro": click.option(
            "--repro", metavar="FILE", help="With what --ladder does: write a script that fails in the same way."
        ),
        "optimizer": click.option(
            "--optimizer", type=click.Choice(["sgd", "adamw"]), help="Also a training step with this optimizer."
        ),
        "compiled_autograd": click.option(
            "--compiled-autograd", is_flag=True, help="Compile the backward of that training step, too."
        ),
        "advise": click.option(
            "--advise", is_flag=True, help="Also say where to put torch.compile, counted by runs of their own."
        ),
    },
)


def check_depth(depth: DepthOptions, vary: tuple[str, ...], run: bool | None) -> None:
    """Raises OneLine where ``--no-run`` comes with what needs a run, or ``--quick`` with what follows the verdict."""
    behind = {
        "deep": depth.deep,
        "readiness": depth.readiness,
        "ladder": depth.ladder,
        "audit": depth.audit,
        "repro": depth.repro,
        "advise": depth.advise,
        "vary": vary,
    }
    needs_run = {
        **behind,
        "export": depth.export,
        "optimizer": depth.optimizer,
        "compiled-autograd": depth.compiled_autograd,
    }
    if run is False and (name := _first(needs_run)):
        raise OneLine(f"--no-run runs nothing, and --{name} is about a run: use one of the two")
    if depth.quick and (name := _first(behind)):
        raise OneLine(f"--quick stops at the verdict, and --{name} asks for what comes behind it: use one of the two")


def _first(options: Mapping[str, object]) -> str | None:
    """The first option that was given."""
    return next((name for name, value in options.items() if value), None)


def write_repro(diagnosis: Diagnosis, file: str | None) -> None:
    """Write the first script that a ladder made; where there is none, write the reason to stderr. Raises OneLine."""
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
