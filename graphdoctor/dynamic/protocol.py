"""What parent and worker say to each other: the request as JSON in a file, the results as JSON lines over a pipe.

No torch here: both sides import this module.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from graphdoctor.run_model import DynamicRun, Varied

#: What a line of the worker is about.
Kind = Literal["progress", "environment", "run", "failed", "end", "gone", "varied"]


@dataclass(frozen=True)
class RunRequest:
    """What to run, and how.

    ``target`` names a function, an ``nn.Module`` class or an instance in ``file``. ``timeout`` is in seconds, for the
    whole worker; ``memory_mb`` limits the resident memory of its process tree, in MiB. ``overlay`` maps absolute paths
    to the source text that is used in place of the file. ``reference`` is a folder: eager outputs are written to it,
    or, with ``compare``, read from it and compared with what this run gives. ``watch`` names the absolute paths whose
    executed lines are wanted. ``vary`` holds the ``--vary`` options; without ``recompiles`` nothing is varied.
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
    vary: tuple[str, ...] = ()
    recompiles: bool = True
    #: Beside the breaks, their causes: which parts and layers are at fault, a training step, the device.
    deeper: bool = True
    #: Which submodules compile alone; None: where the model does not compile as a whole, and it is small.
    readiness: bool | None = None
    #: The backends one after the other; None: where compiling raises.
    ladder: bool | None = None
    #: A script that fails as the ladder did, run once to see that it does.
    repro: bool = False
    #: A whole training step: the name of the optimizer, and whether backward is compiled too.
    optimizer: str | None = None
    compiled_autograd: bool = False
    #: Nothing runs but the compile with ``fullgraph=True``.
    only_fullgraph: bool = False
    #: Nothing is compiled: eager runs on varied inputs, saved in ``reference`` or, with ``compare``, held against it;
    #: with ``repeat`` to find out what differs between two runs of the same code.
    varied: bool = False
    repeat: bool = False
    #: With ``varied``, by absolute path: the lines whose tests are recorded.
    tests: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunResult:
    """One ``DynamicRun`` per mode (at least one), and where they ran; of a varied run its ``varied``."""

    runs: tuple[DynamicRun, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    varied: tuple[Varied, ...] = ()


def dump_request(request: RunRequest) -> str:
    """``request`` as JSON text, its paths absolute."""
    data = asdict(request)
    data["file"] = str(request.file.resolve())
    data["root"] = str(request.root.resolve())
    data["reference"] = str(request.reference.resolve()) if request.reference else None
    data["overlay"] = dict(request.overlay)
    data["tests"] = dict(request.tests)
    return json.dumps(data)


def load_request(text: str) -> RunRequest:
    """The request that ``dump_request`` wrote."""
    data = json.loads(text)
    for name in ("file", "root"):
        data[name] = Path(data[name])
    data["reference"] = Path(data["reference"]) if data["reference"] else None
    data["inputs"] = tuple(data["inputs"])
    data["watch"] = tuple(data["watch"])
    data["vary"] = tuple(data["vary"])
    data["tests"] = {path: tuple(lines) for path, lines in data["tests"].items()}
    return RunRequest(**data)


def dump_run(run: DynamicRun) -> dict[str, Any]:
    """``run`` as plain JSON data."""
    data = asdict(run)
    data["executed"] = {path: sorted(lines) for path, lines in run.executed.items()}
    return data


def load_run(data: Mapping[str, Any]) -> DynamicRun:
    """The run that ``dump_run`` wrote."""
    run: DynamicRun = _load(DynamicRun, data)
    return run


def load_varied(data: Mapping[str, Any]) -> Varied:
    """The ``Varied`` whose fields ``data`` holds."""
    varied: Varied = _load(Varied, data)
    return varied


def _load(kind: Any, raw: Any) -> Any:
    """``raw``, which is what JSON made of it, as a value of the annotation ``kind``."""
    origin, parts = get_origin(kind), get_args(kind)
    if raw is None:
        return None
    if origin in (Union, types.UnionType):
        return _load(next(part for part in parts if part is not type(None)), raw)
    if origin is tuple:
        kinds = [parts[0]] * len(raw) if parts[-1] is Ellipsis else parts
        return tuple(_load(part, item) for part, item in zip(kinds, raw, strict=True))
    if origin is frozenset:
        return frozenset(raw)
    if origin is Mapping:
        return {key: _load(parts[1], item) for key, item in raw.items()}
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{name: _load(hints[name], item) for name, item in raw.items()})
    return raw
