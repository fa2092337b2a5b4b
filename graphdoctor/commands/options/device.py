"""``--device``, of each command that runs a model."""

from __future__ import annotations

import re

import click

_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,3})?")


def _device(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not _DEVICE.fullmatch(value):
        raise click.BadParameter(f"{value!r} is none of auto, cpu, cuda, cuda:0, cuda:1 and so on", param=parameter)
    return value


device_option = click.option(
    "--device", callback=_device, metavar="[auto|cpu|cuda|cuda:N]", default="auto", show_default=True
)
