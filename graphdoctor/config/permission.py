"""Whether the rule files that a project's settings name may be run.

They are code, and settings come with the code that is scanned: whoever can change the one can change the other. So the
permission comes from the command line (``--allow-project-rules``), or from the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.config.project import Config

#: Folders, separated as in PATH, whose settings may name rules.
VARIABLE = "GRAPHDOCTOR_TRUSTED_PROJECTS"

#: How the message about rules that were not run begins.
NOT_RUN = "rules of the project were not run"


def is_trusted(folder: Path) -> bool:
    """Whether the user trusts the settings that stand in ``folder``: it is named itself, with its full path."""
    named = [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if os.path.isabs(name)]
    return bool(named) and os.path.realpath(folder) in map(os.path.realpath, named)


def refusal(settings: Config) -> tuple[str, ...]:
    """The line for the user where the settings name rules that may not run; nothing where they name none."""
    if not settings.refused_rules:
        return ()
    folders = ", ".join(os.path.relpath(folder) for folder in settings.refused_rules)
    return (f"{NOT_RUN}: {settings.origin['rules']} names {folders}; --allow-project-rules runs the code there",)
