"""What a run looks for beside the graph breaks: submodules, layers, a training step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.options.group import option_group
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import OneLine, complain
from graphdoctor.scan.options import DepthOptions

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

#: Seconds of runs after which a faster way is named.
_LONG = 45

#: The argument ``depth``.
depth_options = option_group(
    "depth",
    DepthOptions,
    {
        "quick": click.option(
            "--quick", is_flag=True, help="Stop at the verdict: no fix is verified, no recompile counted."
        ),
        "deep": click.option("--deep", is_flag=True, help="Make all checks, however long they take, within --timeout."),
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
            "--repro",
            metavar="FILE",
            help="Write a script that reproduces the failure which --ladder or --audit found.",
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
    after = _after_verdict(depth, vary)
    needs_run = {
        **after,
        "export": depth.export,
        "optimizer": depth.optimizer,
        "compiled-autograd": depth.compiled_autograd,
    }
    if run is False and (name := _first(needs_run)):
        raise OneLine(f"--no-run runs nothing, and --{name} is about a run: use one of the two")
    if depth.quick and (name := _first(after)):
        raise OneLine(f"--quick stops at the verdict, and --{name} asks for what comes after it: use one of the two")


def faster(seconds: float, depth: DepthOptions, vary: tuple[str, ...]) -> str:
    """What to say after runs that took so many ``seconds``; empty where that is short, or what was asked for."""
    if seconds <= _LONG or depth.quick or _first(_after_verdict(depth, vary)):
        return ""
    return f"the runs took {seconds:.0f} s; --quick stops at the verdict: no fix is verified, no recompile counted"


def _after_verdict(depth: DepthOptions, vary: tuple[str, ...]) -> dict[str, object]:
    """What follows the verdict on request."""
    return {
        "deep": depth.deep,
        "readiness": depth.readiness,
        "ladder": depth.ladder,
        "audit": depth.audit,
        "repro": depth.repro,
        "advise": depth.advise,
        "vary": vary,
    }


def _first(options: Mapping[str, object]) -> str | None:
    """The first option that was given."""
    return next((name for name, value in options.items() if value), None)


def write_repro(diagnosis: Diagnosis, file: str | None) -> None:
    """Write the first script that an audit or a ladder made, and beside it the text of a bug report, as Markdown.

    Where there is none, write the reason to stderr. Raises OneLine.
    """
    if file is None:
        return
    runs = diagnosis.dynamic or ()
    audits = [run.audit for run in runs if run.audit is not None]
    ladders = [run.ladder for run in runs if run.ladder is not None]
    scripts = [(audit.repro, audit.issue) for audit in audits] + [(ladder.repro, None) for ladder in ladders]
    for script, issue in scripts:
        if script is not None:
            emit(script, file)
            if issue is not None and file != "-":
                emit(issue, str(Path(file).with_suffix(".md")))
            return
    stages = [*(b.outcome for a in audits for b in a.backends), *(s.outcome for a in ladders for s in a.stages)]
    if {"failed", "differs"} & {*stages}:
        complain(f"{file} was not written: no script that runs on its own fails in the same way")
    else:
        complain(f"{file} was not written: {'every backend worked' if stages else 'nothing was run'}")
