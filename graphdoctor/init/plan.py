"""All that ``graphdoctor init`` would write, and writing it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.init.change import Change, InitError, Kept, read
from graphdoctor.init.hook import hook
from graphdoctor.init.origin import Origin
from graphdoctor.init.settings import settings
from graphdoctor.init.workflow import workflow
from graphdoctor.report.write import write as write_file


@dataclass(frozen=True)
class Plan:
    """The files to write, and the parts that stay as they are."""

    changes: tuple[Change, ...]
    kept: tuple[Kept, ...]


def plan(folder: Path, origin: Origin | None) -> Plan:
    """What to write in ``folder`` so that graphdoctor has settings, a hook and a workflow; what is there stays.

    Without ``origin`` the hook calls the graphdoctor that is installed, and there is no workflow, because it could not
    install graphdoctor. Raises InitError for files that cannot be read.
    """
    steps = (settings(folder), hook(folder, origin), workflow(folder, origin))
    return Plan(
        tuple(step for step in steps if isinstance(step, Change)),
        tuple(step for step in steps if isinstance(step, Kept)),
    )


def _check_links(change: Change) -> None:
    """Raises InitError where a link of the project leads elsewhere: only what was shown is written."""
    expected = Path(os.path.realpath(change.folder)) / change.path
    if Path(os.path.realpath(change.file)) != expected:
        raise InitError(f"{change.path} leads by a link to {os.path.realpath(change.file)}, so it was not written")


def write(plan: Plan) -> None:
    """Write the changes, each file as a whole or not at all. Raises InitError, before which files may be written."""
    for change in plan.changes:
        _check_links(change)
    for change in plan.changes:
        if read(change.file) != change.before:
            raise InitError(f"{change.path} changed in the meantime, so it was not written")
        try:
            change.file.parent.mkdir(parents=True, exist_ok=True)
            write_file(str(change.file), change.after)
        except OSError as error:
            raise InitError(f"{change.path} cannot be written: {error.strerror}") from None
