"""What ``torch.compile`` accepts, as bundled from one version of torch: the static pass imports no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class CompileNames:
    """The table that ``tools/compile_names.py`` writes: ``options`` has the type of each and the default of flags."""

    torch: str
    arguments: tuple[str, ...]
    modes: tuple[str, ...]
    backends: tuple[str, ...]
    stances: tuple[str, ...]
    options: dict[str, tuple[str, Any] | None]
    dynamo: frozenset[str]


@cache
def bundled() -> CompileNames:
    """The bundled table."""
    raw = json.loads((resources.files("graphdoctor") / "compile_names.json").read_text())
    return CompileNames(
        torch=raw["torch"],
        arguments=tuple(raw["arguments"]),
        modes=tuple(raw["modes"]),
        backends=tuple(raw["backends"]),
        stances=tuple(raw["stances"]),
        options={name: known and (known[0], known[1]) for name, known in raw["options"].items()},
        dynamo=frozenset(raw["dynamo"]),
    )
