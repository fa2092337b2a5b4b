"""What parent and worker say to each other: the request as JSON in a file, the results as JSON lines over a pipe.

No torch here: both sides import this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from graphdoctor.model import Break, DynamicRun, Explain, Frame, FullGraph, Numerics, Recompile

#: What a line of the worker is about.
Kind = Literal["progress", "environment", "run", "failed", "end"]


@dataclass(frozen=True)
class RunRequest:
    """What to run, and how.

    ``target`` names a function, an ``nn.Module`` class or an instance in ``file``. ``timeout`` is in seconds, for the
    whole worker; ``memory_mb`` limits the resident memory of its process tree, in MiB. ``overlay`` maps absolute paths
    to the source text that is used in place of the file. ``reference`` is a folder: eager outputs are written to it,
    or, with ``compare``, read from it and compared with what this run gives. ``watch`` names the absolute paths whose
    executed lines are wanted.
    """

    file: Path
    root: Path
    target: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = "auto"
    mode: str = "both"
    timeout: float = 120.0
    memory_mb: int = 16384
    overlay: Mapping[str, str] = field(default_factory=dict)
    reference: Path | None = None
    compare: bool = False
    watch: tuple[str, ...] = ()
    explain: bool = True


@dataclass(frozen=True)
class RunResult:
    """One ``DynamicRun`` per mode (at least one), and where they ran."""

    runs: tuple[DynamicRun, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)


def dump_request(request: RunRequest) -> str:
    """``request`` as JSON text, its paths absolute."""
    data = asdict(request)
    data["file"] = str(request.file.resolve())
    data["root"] = str(request.root.resolve())
    data["reference"] = str(request.reference.resolve()) if request.reference else None
    data["overlay"] = dict(request.overlay)
    return json.dumps(data)


def load_request(text: str) -> RunRequest:
    """The request that ``dump_request`` wrote."""
    data = json.loads(text)
    for name in ("file", "root"):
        data[name] = Path(data[name])
    data["reference"] = Path(data["reference"]) if data["reference"] else None
    data["inputs"] = tuple(data["inputs"])
    data["watch"] = tuple(data["watch"])
    return RunRequest(**data)


def dump_run(run: DynamicRun) -> dict[str, Any]:
    """``run`` as plain JSON data."""
    data = asdict(run)
    data["executed"] = {path: sorted(lines) for path, lines in run.executed.items()}
    return data


def load_run(data: Mapping[str, Any]) -> DynamicRun:
    """The run that ``dump_run`` wrote."""
    fields = dict(data)
    fields["breaks"] = tuple(_break(b) for b in data["breaks"])
    fields["fullgraph"] = FullGraph(**data["fullgraph"])
    fields["explain"] = Explain(**data["explain"]) if data["explain"] else None
    fields["recompiles"] = tuple(Recompile(**r) for r in data["recompiles"])
    fields["numerics"] = Numerics(**data["numerics"]) if data["numerics"] else None
    fields["executed"] = {path: frozenset(lines) for path, lines in data["executed"].items()}
    return DynamicRun(**fields)


def _break(data: Mapping[str, Any]) -> Break:
    hints, stack = tuple(data["hints"]), tuple(Frame(**f) for f in data["stack"])
    return Break(**{**data, "hints": hints, "stack": stack})
