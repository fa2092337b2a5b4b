"""One trace file -> what its process compiled, kept small however long the file is."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from graphdoctor.breaks.argument_names import ArgumentNames
from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.breaks.recompiles import guards
from graphdoctor.model.typed_json import Types
from graphdoctor.trace import caches, stacks
from graphdoctor.trace.caches import Caches
from graphdoctor.trace.files import TraceFile, open_trace
from graphdoctor.trace.guarded import Guarded, guarded
from graphdoctor.trace.left_out import Unplaced, is_left_out
from graphdoctor.trace.records import Record, Tally, records

#: Different breaks (text and stack) that are kept of one file, and characters of their texts; more are counted.
BREAK_LIMIT = 5000
TEXT_LIMIT = 4 << 20
#: Guards on values that are kept of one file.
GUARD_LIMIT = 10_000

#: Artifacts that the recorder of ``graphdoctor run`` adds.
_NOTES = (
    "graphdoctor_program", "graphdoctor_steps_done", "graphdoctor_compiled", "graphdoctor_outermost",
    "graphdoctor_compile_given_up", "graphdoctor_program_compiles", "graphdoctor_sample", "graphdoctor_raised",
    "graphdoctor_exports",
)  # fmt: skip
#: Notes that are kept of one name.
_NOTE_LIMIT = 1000
_ID = re.compile(r"(\d+)/\d+$")

_TYPES = Types()

#: A compilation: number of the frame, number of its compilation.
Id = tuple[int, int]
#: A line of a file, with its path.
Line = tuple[str, int]


@dataclass(frozen=True, order=True)
class Code:
    """A compiled function: file, first line, name as Dynamo has it."""

    path: str
    line: int
    name: str


_UNKNOWN = Code("", 0, "")


@dataclass
class Cost:
    """What the compilations of one function took."""

    seconds: float = 0.0
    compilations: int = 0
    restarts: int = 0


@dataclass
class Recompiled:
    """Guards of ``code`` failed; at the limit nothing was compiled for it."""

    code: Code
    reasons: tuple[str, ...]
    id: Id
    at_limit: bool = True
    #: Path and line of the frames above the call that was compiled again, the outermost first.
    above: tuple[tuple[str, int], ...] = ()
    #: The user's names for its arguments, where it is a wrapper.
    names: ArgumentNames | None = None
    #: The first compilation of what it wraps, which no other one could be used for.
    is_first: bool = False


@dataclass
class Process:
    """What the process of one file did. ``breaks`` counts equal records; ``dropped`` are those beyond the limit."""

    file: TraceFile
    rank: int | None
    tally: Tally = field(default_factory=Tally)
    versions: dict[str, str] = field(default_factory=dict)
    torch_folder: str = ""
    devices: set[str] = field(default_factory=set)
    breaks: Counter[RawEvent] = field(default_factory=Counter)
    dropped: int = 0
    quoted: dict[Line, str] = field(default_factory=dict)
    graphs: int = 0
    operators: int = 0
    costs: dict[Code, Cost] = field(default_factory=dict)
    recompiles: list[Recompiled] = field(default_factory=list)
    #: Plain values of arguments that the compiled code holds for.
    guarded: set[Guarded] = field(default_factory=set)
    split_graphs: int = 0
    split_parts: int = 0
    caches: Caches = field(default_factory=Caches)
    #: Why CUDA graphs were not used.
    cudagraph_skips: Counter[str] = field(default_factory=Counter)
    #: Whether graphs for a backward pass were compiled, and graphs without one. Some backends record neither.
    trains: bool = False
    infers: bool = False
    #: All files on the way from the start of the program to what was compiled.
    paths: set[str] = field(default_factory=set)
    #: Where each function was called from when it was compiled: path and line of every frame above it.
    callers: dict[Code, set[Line]] = field(default_factory=dict)
    #: The user's names for the arguments of each wrapper.
    argument_names: dict[Code, ArgumentNames] = field(default_factory=dict)
    #: The calls that Dynamo was tracing into when a graph break came, with the lines that it had traced, the one that
    #: broke last.
    broken_calls: dict[Line, tuple[Line, ...]] = field(default_factory=dict)
    #: The lines that Dynamo traced, by file; None where the trace has none (only that of ``graphdoctor run`` has).
    traced: dict[str, set[int]] | None = None
    #: What the recorder of ``graphdoctor run`` noted, by name.
    notes: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """All compile time, in seconds."""
        return sum(cost.seconds for cost in self.costs.values())

    @property
    def is_idle(self) -> bool:
        """Nothing was compiled, nor tried."""
        return not (self.costs or self.breaks or self.graphs or self.recompiles)


def read(file: TraceFile, ids: Mapping[str, str]) -> Process:
    """Read ``file``; ``ids`` maps graph-break types to ids. Raises OSError when it cannot be opened."""
    reader = Reader(file, ids)
    with open_trace(file) as stream:
        for record in records(stream, reader.handlers, reader.process.tally):
            reader.take(record)
    return reader.process


class Reader:
    """Takes the records in order. Frame ids start again after ``torch._dynamo.reset()``: a start replaces the last."""

    def __init__(self, file: TraceFile, ids: Mapping[str, str]) -> None:
        self.process = Process(file, file.rank)
        self._ids = ids
        self._names: dict[int, str] = {}
        self._codes: dict[int, Code] = {}
        self._stacks: dict[Id, tuple[RawFrame, ...]] = {}
        self._compiled: set[Id] = set()
        self._broken: set[Id] = set()
        self._pending: dict[Id, Recompiled] = {}
        self._failed_line: int | None = None
        self._traced: tuple[RawFrame, ...] = ()
        self._whole_function = False
        self._unplaced = Unplaced(self.process.breaks)
        self._kept = 0
        self.handlers = {
            "str": self._name,
            "torch_version": self._version,
            "dynamo_start": self._start,
            "dynamo_graph_break_reason": self._break,
            "dynamo_output_graph": self._graph,
            "dynamo_cpp_guards_str": self._guards,
            "recompile_reasons": self._recompile,
            "compilation_metrics": self._metrics,
            "bwd_compilation_metrics": self._backward,
            "aot_backward_graph": self._trains,
            "aot_inference_graph": self._infers,
            "compiled_autograd_graph": self._trains,
            "describe_tensor": self._tensor,
            "graphdoctor_trains": self._trains,
            "graphdoctor_failed_at": self._failed_at,
            "graphdoctor_called_by": self._called_by,
            "graphdoctor_argument_names": self._argument_names,
            "graphdoctor_traced_frames": self._traced_frames,
            "graphdoctor_gives_up_function": self._gives_up_function,
            "optimize_ddp_split_graph": self._split,
            "optimize_ddp_split_child": self._part,
            "graphdoctor_traced_lines": self._lines,
            **dict.fromkeys(_NOTES, self._note),
            **dict.fromkeys(caches.NAMES, self._cache),
        }

    def take(self, record: Record) -> None:
        """Add what ``record`` says to the process."""
        try:
            self.handlers[record.name](record)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
            # JSON, but not of the shape that torch writes.
            self.process.tally.malformed += 1

    def _name(self, record: Record) -> None:
        raw, number = record.data["str"]
        self._names[number] = path = _text(raw)
        if not self.process.torch_folder and (found := re.match(r"(.*/torch)/_dynamo/", path.replace("\\", "/"))):
            self.process.torch_folder = found[1]

    def _version(self, record: Record) -> None:
        self.process.versions["torch"] = str(json.loads(record.payload)["pytorch_version"])

    def _start(self, record: Record) -> None:
        key = self._id(record)
        frames = map(self._frame, record.data["dynamo_start"]["stack"])
        stack = tuple(frame for frame in frames if not stacks.is_recorder(frame.path))
        code = Code(stack[-1].path, stack[-1].line, stack[-1].name)
        self.process.paths.update(frame.path for frame in stack)
        self.process.callers.setdefault(code, set()).update((frame.path, frame.line) for frame in stack[:-1])
        self._codes[key[0]], self._stacks[key] = code, stack
        self._unplaced.place(code.path, code.name, code.line)
        self._compiled.discard(key)
        self._broken.discard(key)
        self._cost(key[0]).compilations += 1
        if key in self._pending:
            again = self._pending.pop(key)
            again.at_limit, again.above = False, tuple((frame.path, frame.line) for frame in stack[:-1])

    def _called_by(self, record: Record) -> None:
        called = {(_text(path), _count(line)) for path, line in json.loads(record.payload)}
        code = self._codes[self._id(record)[0]]
        self.process.callers[code].update(line for line in called if not stacks.is_recorder(line[0]))

    def _argument_names(self, record: Record) -> None:
        found = _TYPES.read(tuple[dict[str, str], tuple[str, int, str], str], json.loads(record.payload))
        code = self._codes[self._id(record)[0]]
        kept = self.process.argument_names.setdefault(code, ArgumentNames())
        for again in self.process.recompiles[-1:]:
            if again.code == code:
                # A wrapper of torch is one function, whatever it is around.
                again.names, again.is_first = ArgumentNames(), found[2] not in kept.objects
                again.names.add(*found)
        kept.add(*found)

    def _frame(self, entry: Mapping[str, Any]) -> RawFrame:
        path = self._names.get(entry["filename"], "<unknown>")
        line = _count(entry["line"])
        if entry.get("loc"):
            self.process.quoted[path, line] = _text(entry["loc"]).strip()
        return RawFrame(path, line, None, _text(entry["name"]))

    def _break(self, record: Record) -> None:
        key = self._id(record)
        self._broken.add(key)
        found = stacks.traced_break(record.payload, self._ids)
        if found is not None:
            found = stacks.with_frames(found, self._traced)
            found = stacks.of_whole_function(found) if self._whole_function else found
        self._keep(self._with_callers(found, key))
        self._traced, self._whole_function = (), False

    def _gives_up_function(self, record: Record) -> None:
        self._whole_function = json.loads(record.payload) is True

    def _traced_frames(self, record: Record) -> None:
        frames = _TYPES.read(tuple[tuple[str, int, int | None, str], ...], json.loads(record.payload))
        self._traced = tuple(RawFrame(*frame) for frame in frames)

    def _with_callers(self, found: stacks.TracedBreak | None, key: Id) -> stacks.TracedBreak | None:
        """``found`` with the frames that called the compiled one, which the texts of most breaks do not have."""
        if found is None:
            return None
        stack = tuple(frame for frame in found.event.traced if not stacks.is_recorder(frame.path))
        above = self._stacks.get(key, ())[:-1]
        outside = {(frame.path, frame.line) for frame in above}
        # Those that have them begin with them, and torch leaves the nearest callers out of the stack of a compilation:
        # the function that was compiled tells where they end.
        code = self._codes.get(key[0], _UNKNOWN)
        called = len(list(takewhile(lambda frame: (frame.path, frame.line) in outside, stack[:-1])))
        compiled = stacks.compiled_frame(stack, called, RawFrame(code.path, code.line, None, code.name))
        left_out = compiled is None and called < len(stack) and is_left_out(code.path, code.name, stack[called])
        start = called if compiled is None else compiled
        traced = stack[start:]
        if left_out:
            traced = (RawFrame(code.path, code.line, None, code.name), *traced)
        elif compiled is not None:
            traced = (replace(traced[0], name=code.name), *traced[1:])
        lines = tuple((frame.path, frame.line) for frame in traced)
        self.process.broken_calls.update(dict.fromkeys({*lines[:-1]} - outside, lines))
        event = replace(found.event, above=stack[:start] or above, traced=traced)
        if left_out:
            self._unplaced.wait(event)
        return replace(found, event=event)

    def _keep(self, found: stacks.TracedBreak | None) -> None:
        if found is None:
            return
        if found.event not in self.process.breaks:
            if len(self.process.breaks) >= BREAK_LIMIT or self._kept > TEXT_LIMIT:
                self.process.dropped += 1
                return
            self._kept += len(found.event.message) + sum(map(len, found.code.values()))
        self.process.breaks[found.event] += 1
        self.process.quoted.update(found.code)

    def _graph(self, record: Record) -> None:
        key = self._id(record)
        self.process.graphs += key not in self._compiled
        self._compiled.add(key)

    def _recompile(self, record: Record) -> None:
        key = self._id(record)
        self._pending[key] = Recompiled(self._codes[key[0]], guards.reasons(record.payload), key)
        self.process.recompiles.append(self._pending[key])

    def _guards(self, record: Record) -> None:
        if len(self.process.guarded) < GUARD_LIMIT:
            self.process.guarded.update(guarded(record.payload))

    def _metrics(self, record: Record) -> None:
        key, metrics = self._id(record), record.data["compilation_metrics"]
        cost = self._cost(key[0])
        cost.seconds += _seconds(metrics.get("entire_frame_compile_time_s") or 0.0)
        cost.restarts += len(metrics.get("restart_reasons") or ())
        self.process.operators += _count(metrics.get("graph_op_count") or 0)
        if skipped := metrics.get("cudagraph_skip_reason"):
            self.process.cudagraph_skips[_text(skipped)] += 1
        if python := metrics.get("python_version"):
            self.process.versions["python"] = str(python).partition(" ")[0]
        stack = self._stacks.pop(key, ())
        if metrics.get("fail_type") and key not in self._broken and key not in self._pending:
            if stack and self._failed_line is not None:
                stack = (*stack[:-1], replace(stack[-1], line=self._failed_line))
            self._keep(stacks.failed_compilation(metrics, stack, self._ids))
        self._failed_line = None

    def _failed_at(self, record: Record) -> None:
        self._failed_line = _count(json.loads(record.payload)["line"])

    def _backward(self, record: Record) -> None:
        self.process.trains = True
        metrics = record.data["bwd_compilation_metrics"]
        frame = _ID.search(str(metrics.get("compile_id")))
        if frame and int(frame[1]) in self._codes:
            self._cost(int(frame[1])).seconds += _seconds(metrics.get("duration_us") or 0) / 1e6

    def _trains(self, _record: Record) -> None:
        self.process.trains = True

    def _infers(self, _record: Record) -> None:
        self.process.infers = True

    def _tensor(self, record: Record) -> None:
        found = re.search(r"type='(\w+)'", str(record.data["describe_tensor"].get("device")))
        if found:
            self.process.devices.add(found[1])

    def _split(self, _record: Record) -> None:
        self.process.split_graphs += 1

    def _part(self, _record: Record) -> None:
        self.process.split_parts += 1

    def _cache(self, record: Record) -> None:
        code = self._codes.get(self._id(record)[0], _UNKNOWN)
        self.process.caches.take(record.name, code, record.payload)

    def _lines(self, record: Record) -> None:
        traced = {_text(path): {_count(line) for line in lines} for path, lines in json.loads(record.payload).items()}
        if self.process.traced is None:
            self.process.traced = {}
        for path, lines in traced.items():
            if not stacks.is_recorder(path):
                self.process.traced.setdefault(path, set()).update(lines)

    def _note(self, record: Record) -> None:
        kept = self.process.notes.setdefault(record.name, [])
        content = json.loads(record.payload)
        if isinstance(content, dict) and len(kept) < _NOTE_LIMIT:
            kept.append(content)

    def _id(self, record: Record) -> Id:
        rank = record.data.get("rank")
        if self.process.rank is None and isinstance(rank, int):
            self.process.rank = rank
        return record.data.get("frame_id", -1), record.data.get("frame_compile_id", -1)

    def _cost(self, frame: int) -> Cost:
        return self.process.costs.setdefault(self._codes.get(frame, _UNKNOWN), Cost())


def _text(raw: Any) -> str:
    """``raw``, which must be a text. Raises ValueError."""
    text: str = _TYPES.read(str, raw)
    return text


def _count(raw: Any) -> int:
    """``raw``, which must be a whole number. Raises ValueError."""
    number: int = _TYPES.read(int, raw)
    return number


def _seconds(raw: Any) -> float:
    """``raw``, which must be a number that is finite. Raises ValueError."""
    number: float = _TYPES.read(float, raw)
    if not math.isfinite(number):
        raise ValueError("no finite number")
    return number
