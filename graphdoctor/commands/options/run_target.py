"""What ``scan``, ``fix`` and ``verify`` run, and how."""

from __future__ import annotations

import click

from graphdoctor.commands.options.device import device_option
from graphdoctor.commands.options.group import option_group
from graphdoctor.scan.options import TargetOptions

#: The argument ``target``.
run_target_options = option_group(
    "target",
    TargetOptions,
    {
        "target": click.option("--target", metavar="NAME", help="The class or function to run."),
        "inputs": click.option(
            "--input", "inputs", multiple=True, metavar="SPEC", help="A sample argument: [NAME=]DTYPE[SIZES][<HIGH]."
        ),
        "device": device_option,
        "mode": click.option(
            "--mode", type=click.Choice(["eval", "train", "both"]), help="[default: both, or the project's setting]"
        ),
        "timeout": click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Time limit of one run.  [default: 120, or the project's setting]",
        ),
    },
)
