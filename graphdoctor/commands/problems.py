"""How commands end: the exit codes, and problems in one line on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

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


def complain_of_no_changes(diagnosis: Diagnosis) -> None:
    """Say on stderr why there is no diff, where something was found."""
    from graphdoctor.report import wording

    if diagnosis.findings:
        withheld = wording.offered(diagnosis.findings)
        complain(f"nothing to show: {withheld or 'no finding has an automatic fix'}")


def check_writable(*files: str | None) -> None:
    """Refuse before the work what cannot be written after it. Raises OneLine."""
    from graphdoctor.report.write import problem

    for file in filter(None, files):
        if (reason := problem(file)) is not None:
            raise OneLine(reason)
