"""The settings of the recorder: JSON in an environment variable, so that the processes of a job inherit it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

#: The variable that starts the recorder in every Python process that inherits it.
VARIABLE = "GRAPHDOCTOR_RECORD"
#: The value of ``compile`` that stands for all outermost modules with parameters.
AUTO = "auto"
#: The file of a process, by its number, that an import ended.
MISSING = "missing_{}.json"


@dataclass(frozen=True)
class Settings:
    """Where to write, and what to do beside recording.

    ``steps``: end the program when a compiled function is called once more than that; 0 never does. ``compile``:
    AUTO compiles the outermost modules, another text those of this class; empty compiles nothing. ``sample_bytes``:
    save the first call of each compiled function, if it takes no more; 0 saves nothing.
    """

    folder: str
    steps: int = 0
    compile: str = ""
    sample_bytes: int = 0

    def dump(self) -> str:
        """The value of the variable."""
        return json.dumps(asdict(self))


def load(environment: Mapping[str, str]) -> Settings | None:
    """The settings in ``environment``; None where there are none that can be read."""
    try:
        return Settings(**json.loads(environment[VARIABLE]))
    except (KeyError, TypeError, ValueError):
        return None
