"""What several commands share: exit codes, one-line problems, and where text goes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis
    from graphdoctor.report.text.look import Look

CLEAN, FINDINGS, FAILURE, INTERRUPTED = 0, 1, 2, 130


class OneLine(click.ClickException):
    """A problem that the user can mend; shown as one line."""

    exit_code = FAILURE

    def show(self, _file: Any = None) -> None:
        """Write the message to stderr, as click asks for."""
        complain(self.format_message())


def complain(message: str) -> int:
    """Write ``message`` to stderr, in one line and without control characters. Returns the exit code of a failure."""
    from graphdoctor.report.escaping import one_line, visible

    click.echo(f"graphdoctor: {one_line(visible(message))}", err=True)
    return FAILURE


def complain_unread(diagnosis: Diagnosis) -> int:
    """Name the files that could not be read on stderr. Gives the exit code of that."""
    return max((complain(f"{f.path}: {f.reason}") for f in diagnosis.files if f.status == "failed"), default=CLEAN)


def codes(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The callback of options that take rule codes: ``("GD101,GD2", "GD3")`` is ``("GD101", "GD2", "GD3")``."""
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


def check_writable(*files: str | None) -> None:
    """Refuse before the work what cannot be written after it. Raises OneLine."""
    from graphdoctor.report.write import problem

    for file in filter(None, files):
        if (reason := problem(file)) is not None:
            raise OneLine(reason)


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
