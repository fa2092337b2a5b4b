"""The messages between parent and worker: the request as JSON in a file, the results as JSON lines over a pipe.

No torch here: both sides import this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from graphdoctor.model.runs import DynamicRun, Frame, Outcome, Varied
from graphdoctor.model.typed_json import Mismatch, Types

#: What a line of a worker is about.
Kind = Literal["progress", "environment", "run", "failed", "end", "gone", "varied", "placement"]

#: Which part of a run is wanted: all of it, the part that gives the verdict, or the rest.
Part = Literal["all", "verdict", "rest"]

#: Characters of one text in a message; what is longer is cut.
TEXT_LIMIT = 1 << 20


@dataclass(frozen=True)
class RunRequest:
    """What to run, and how.

    ``target`` names a function, an ``nn.Module`` class or an instance in ``file``. ``timeout`` is in seconds, for the
    whole worker; ``memory_mb`` limits the resident memory of its process tree, in MiB. ``overlay`` maps absolute paths
    to the source text that is used in place of the file. ``reference`` is a folder: eager outputs are written to it,
    or, with ``compare``, read from it and compared with what this run gives. ``watch`` names the absolute paths whose
    executed lines are wanted, ``traced`` those of which the lines that Dynamo traces are, in their place. ``vary``
    holds the ``--vary`` options; without ``recompiles`` nothing is varied. For the ``part`` "rest", ``runs`` are the
    runs that the part "verdict" gave. ``sample`` is Python source with a ``graphdoctor_target()``: it is run in place
    of ``file``, from which it imports what it needs.
    """

    file: Path
    root: Path
    target: str | None = None
    sample: str = ""
    #: Who made the sample: a name as ``hf:BertModel``.
    sample_of: str = ""
    inputs: tuple[str, ...] = ()
    device: str = "auto"
    #: How many blocks of one kind are kept in a list of submodules; None for all.
    shrink: int | None = None
    mode: str = "both"
    timeout: float = 120.0
    memory_mb: int = 16384
    overlay: Mapping[str, str] = field(default_factory=dict)
    reference: Path | None = None
    compare: bool = False
    watch: tuple[str, ...] = ()
    traced: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    recompiles: bool = True
    #: Whether more is run than the breaks take: which parts and layers are at fault, a training step, the device.
    deeper: bool = True
    #: Whether to try which submodules compile alone; None: where the model does not compile as a whole, and is small.
    readiness: bool | None = None
    #: Whether to try the backends one after the other; None: where compiling raises.
    ladder: bool | None = None
    #: Whether to compare all that a call leaves behind, with each backend against eager.
    audit: bool = False
    #: Whether to try torch.export, strict and non-strict.
    export: bool = False
    #: Whether to make a script that fails as the ladder did; it is run once to see that it does.
    repro: bool = False
    #: For a whole training step the name of the optimizer, and whether backward is compiled too; None: no such step.
    optimizer: str | None = None
    compiled_autograd: bool = False
    #: Whether only the compile with ``fullgraph=True`` runs.
    only_fullgraph: bool = False
    #: Nothing is compiled: eager runs on varied inputs, saved in ``reference`` or, with ``compare``, held against it;
    #: with ``repeat`` to find out what differs between two runs of the same code.
    varied: bool = False
    repeat: bool = False
    #: Whether all optional checks run, also those that are estimated to take too long, and calls are repeated with
    #: another value of each size.
    deep: bool = False
    part: Part = "all"
    runs: tuple[DynamicRun, ...] = ()
    #: Differences that the fixes announce (``graphdoctor.model.Known``), which are no faults; with ``alone``, each
    #: random number depends on its own draw alone, whatever was drawn before.
    known: tuple[str, ...] = ()
    alone: bool = False
    #: By the path that findings show: the lines where a break is predicted.
    predicted: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
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
    data["predicted"] = dict(request.predicted)
    data["runs"] = [dump_run(run) for run in request.runs]
    return json.dumps(data)


def load_request(text: str) -> RunRequest:
    """The request that ``dump_request`` wrote."""
    data = json.loads(text)
    for name in ("file", "root"):
        data[name] = Path(data[name])
    data["reference"] = Path(data["reference"]) if data["reference"] else None
    data["inputs"] = tuple(data["inputs"])
    for name in ("watch", "traced", "vary"):
        data[name] = tuple(data[name])
    data["runs"] = tuple(load_run(run) for run in data["runs"])
    data["known"] = tuple(data["known"])
    for name in ("tests", "predicted"):
        data[name] = {path: tuple(lines) for path, lines in data[name].items()}
    return RunRequest(**data)


def dump_run(run: DynamicRun) -> dict[str, Any]:
    """``run`` as plain JSON data."""
    data = asdict(run)
    data["executed"] = {path: sorted(lines) for path, lines in run.executed.items()}
    return data


def load_run(data: Mapping[str, Any]) -> DynamicRun:
    """The run that ``dump_run`` wrote. Raises ValueError where ``data`` is no such run."""
    run: DynamicRun = _TYPES.read(DynamicRun, data)
    return run


# Messages of a worker. The parent accepts nothing else: the user's code may write to the pipe.


class BadMessage(Exception):
    """Bytes that are no message of a worker; the text is a clause."""


@dataclass(frozen=True)
class Progress:
    """What is done next."""

    text: str


@dataclass(frozen=True)
class Environment:
    """Where the code runs."""

    environment: Mapping[str, str | None]


@dataclass(frozen=True)
class Run:
    """What is known of the run in one mode. ``complete``: all breaks are known; no later failure changes that."""

    run: DynamicRun
    complete: bool


@dataclass(frozen=True)
class Failed:
    """Nothing could be run, or not to its end."""

    outcome: Outcome
    detail: str
    raised_at: Frame | None = None


@dataclass(frozen=True)
class VariedInputs:
    """What came of a run on varied inputs, in one mode."""

    varied: Varied


@dataclass(frozen=True)
class Ended:
    """The last message."""


@dataclass(frozen=True)
class Gone:
    """Sent by the server: the process of the request has ended."""

    code: int


Kinds = Mapping[str, type]

#: The messages of the worker that runs a target.
MESSAGES: Kinds = {
    "progress": Progress,
    "environment": Environment,
    "run": Run,
    "failed": Failed,
    "varied": VariedInputs,
    "end": Ended,
}


def message(line: bytes, kinds: Kinds) -> Any:
    """The message in ``line``, an object of the class that ``kinds`` has for its kind. Raises BadMessage."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError, MemoryError):
        raise BadMessage(f"{line[:40]!r}, which is not JSON") from None
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise BadMessage(f"{line[:40]!r}, which is no message")
    try:
        return _TYPES.read(kinds[kind], data)
    except Mismatch as error:
        raise BadMessage(f"in a message of the kind {kind!r} {error}") from None


_TYPES = Types()
