"""Where the text of a command goes, and how it looks there."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

import click

from graphdoctor.commands.problems import OneLine

if TYPE_CHECKING:
    from graphdoctor.report.text.look import Look


def emit(text: str, file: str | None) -> None:
    """To stdout, or to ``file`` with a line about it on stderr. Raises OneLine."""
    from graphdoctor.report.write import write

    if file is None or file == "-":
        click.echo(text, nl=False, color=True)
        return
    try:
        write(file, text)
    except OSError as error:
        raise OneLine(f"{file} cannot be written: {error.strerror}") from None
    click.echo(f"graphdoctor: wrote {file}", err=True)


def look(output: str | None, tree: bool = False, verbose: bool = False, stream: TextIO | None = None) -> Look:
    """How text looks that goes to the file ``output``, or to ``stream`` (stdout) where it is None or ``-``."""
    from graphdoctor.report.text.look import Look

    stream = stream or sys.stdout
    if output not in (None, "-") or not stream.isatty():
        return Look(tree=tree, verbose=verbose)
    return Look(wants_color(stream), shutil.get_terminal_size().columns, tree, verbose)


def wants_color(stream: TextIO | None = None) -> bool:
    """Colour only on a terminal that can show it (by default stdout), and never against https://no-color.org."""
    return (stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
