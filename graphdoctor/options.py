"""What a scan is asked to do: options of the caller over settings of the project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from graphdoctor import config
from graphdoctor.dynamic import runner
from graphdoctor.source.suppress import matches
from graphdoctor.static import catalog

#: The rule code of breaks that no rule expects.
UNEXPECTED = "GD000"


class UsageError(Exception):
    """A scan that cannot be made as asked; the text is one line for the user."""


@dataclass(frozen=True)
class ScanOptions:
    """What to scan and how. None for ``run``: run when one file is given that declares a sample.

    ``timeout`` is in seconds and for one run; None for it and for ``mode`` takes the project's setting.
    """

    paths: tuple[str, ...]
    run: bool | None = None
    target: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = "auto"
    mode: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    timeout: float | None = None
    verify: bool = True
    fix: bool = False
    unsafe_fixes: bool = False
    #: Show also what may break only under settings that the source does not show.
    possible: bool = False
    command: str = ""


def settings_for(options: ScanOptions) -> config.Config:
    """The project's settings, overridden by ``options``."""
    try:
        project = config.load(Path.cwd())
        runner.parse_inputs(options.inputs)
    except (config.ConfigError, runner.InputSpecError) as error:
        raise UsageError(str(error)) from None
    merged = replace(
        project,
        select=options.select or project.select,
        ignore=options.ignore or project.ignore,
        timeout=project.timeout if options.timeout is None else options.timeout,
        mode=options.mode or project.mode,
    )
    known = [(UNEXPECTED, "graph-break"), *((rule.code, rule.name) for rule in catalog.rules())]
    for pattern in (*merged.select, *merged.ignore):
        if not any(matches(code, name, pattern) for code, name in known):
            raise UsageError(f"{pattern!r} matches no rule; `graphdoctor rules` lists them")
    return merged
