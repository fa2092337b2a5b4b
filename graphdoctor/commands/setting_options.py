"""The options that override the settings of a project, for every command that reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from graphdoctor.commands.common import codes

Command = TypeVar("Command", bound=Callable[..., Any])

_PROJECT = (
    click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help="Settings from this file, or one setting."),
    click.option("--isolated", is_flag=True, help="Read no configuration file."),
    click.option("--rules", multiple=True, metavar="FOLDER", help="Execute the rule files in this folder."),
    click.option(
        "--allow-project-rules", is_flag=True, help="Execute those too that the project's configuration file names."
    ),
)
_SCAN = (
    click.option("--select", multiple=True, callback=codes, metavar="CODES", help="Only these; GD1 is all of GD1xx."),
    click.option("--ignore", multiple=True, callback=codes, metavar="CODES", help="Not these rules."),
    click.option("--extend-select", multiple=True, callback=codes, metavar="CODES", help="And these rules."),
    click.option("--extend-ignore", multiple=True, callback=codes, metavar="CODES", help="Nor these rules."),
    click.option("--per-file-ignores", multiple=True, metavar="GLOB:CODES", help="Not these rules in these files."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="What to pass over when folders are walked."),
    click.option("--extend-exclude", multiple=True, metavar="GLOB", help="And this."),
    click.option(
        "--target-torch", metavar="VERSION", help="Ask the rules that hold in this torch.  [default: the installed one]"
    ),
    click.option(
        "--follow",
        multiple=True,
        callback=codes,
        metavar="PACKAGE",
        help="Follow calls into this installed package; what is found there does not fail the scan.",
    ),
    click.option("--python", metavar="PATH", help="Where followed packages are: an interpreter or an environment."),
)


def project_options(command: Command) -> Command:
    """Which settings are read, and which rules are executed; the names are those of ScanOptions."""
    return _with(_PROJECT, command)


def setting_options(command: Command) -> Command:
    """These, and one option for each setting that a scan takes; the names are those of ScanOptions."""
    return _with((*_SCAN, *_PROJECT), command)


def _with(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    # The last decorator applied is shown first.
    for option in reversed(options):
        command = option(command)
    return command
