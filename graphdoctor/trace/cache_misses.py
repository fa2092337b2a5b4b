"""Why compiled code was not taken from a cache: a finding for each function, with what helps. Pure.

A miss is explained by the run before: the parts of the key that are others than there. What bypasses the cache is said
by torch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from graphdoctor.breaks.job_locations import JobPlaces
from graphdoctor.model.findings import Finding, Location
from graphdoctor.report.wording import plural
from graphdoctor.trace.caches import CacheUse, Part
from graphdoctor.trace.process import Code, Process

CODE, NAME = "GD003", "compile-cache-miss"
_WHY = "The code is generated and compiled again, which a warm cache would have saved."

#: What helps, by the beginning of a part's name.
_ADVICE = (
    ("gm", "the graph is another one: where the source is the same, a number, a size or a flag that it holds changed"),
    ("example_inputs", "give the first call inputs of the same sizes, dtypes and strides, or mark sizes as dynamic"),
    ("inductor_config", "set Inductor the same in all runs: the mode and options of torch.compile change it too"),
    ("system_info", "fill the cache on the same kind of device, with the same driver and CUDA version"),
    ("torch_version", "code is not shared between builds of torch: fill the cache anew after an upgrade"),
    ("cpp_runtime_thread_count", "set OMP_NUM_THREADS, or torch.set_num_threads, the same in all runs"),
    ("deterministic_algorithms", "call torch.use_deterministic_algorithms the same way in all runs"),
    ("cuda_matmul_settings", "set torch.backends.cuda.matmul, or the float32 matmul precision, the same in all runs"),
    ("default_dtype", "set the default dtype the same in all runs"),
    ("fx_kwargs", "compile in the same mode, and with or without gradients as before"),
)
_OTHER = "keep it the same in all runs that share the cache"
_ABSENT = (
    "the key is the one of the run before, so its cache was not there: set TORCHINDUCTOR_CACHE_DIR to a folder that "
    "all runs see and that is kept, or load what torch.compiler.save_cache_artifacts() gives"
)
_BYPASSED = "torch does not cache this code at all; without what it names, it is cached"
#: Changed parts that are named.
_NAMED = 3
_VALUE = 60
_FIELD = re.compile(r"(\w+)=((?:[^,()\[\]]|\([^()]*\)|\[[^\[\]]*\])+)")
_SIZE = re.compile(r"torch\.Size\((\[.*?\])\)")


@dataclass(frozen=True)
class _Cause:
    """What was found, and what helps."""

    text: str
    advice: str


def cache_misses(
    processes: Sequence[Process], before: Sequence[Process], places: JobPlaces, names: dict[tuple[str, int], str]
) -> tuple[Finding, ...]:
    """A finding for each function and advice, with the first cause.

    ``before`` are the processes of an earlier run, by rank; ``names`` has functions with a better name in the source.
    """
    found: dict[tuple[Code, str], list[_Cause]] = {}
    for number, process in enumerate(processes):
        same = (
            [other for other in before if other.rank == process.rank] if process.rank is not None else before[number:]
        )
        earlier = _by_place(same[0]) if same else {}
        for place, use in _by_place(process).items():
            was = earlier.get(place)
            cause = None
            if use.result == "bypass":
                cause = _Cause(f"bypasses the compile cache: {use.reason or 'no reason given'}", _BYPASSED)
            elif use.result == "miss" and was is not None:
                cause = _cause(same[0].caches.parts(was), process.caches.parts(use))
            if cause is not None:
                found.setdefault((use.code, cause.advice), []).append(cause)
    return tuple(_finding(code, causes[0], len(causes), places, names) for (code, _), causes in found.items())


def _by_place(process: Process) -> dict[tuple[str, str, int], CacheUse]:
    """The uses of Inductor's cache by function and number: its forward pass, its backward pass, later compilations.

    The cache of AOTAutograd does not record the parts of its key, and what it holds misses where this one does.
    """
    numbers: Counter[Code] = Counter()
    found = {}
    for use in process.caches.uses:
        if use.cache == "fx_graph":
            # A job may run from another folder than the one before.
            found[PurePath(use.code.path).name, use.code.name, numbers[use.code]] = use
            numbers[use.code] += 1
    return found


def _cause(was: dict[str, Part], now: dict[str, Part]) -> _Cause | None:
    """What differs between two keys; None where the parts are not known."""
    if not was or not now:
        return None
    changed = [name for name in {**was, **now} if _digest(was.get(name)) != _digest(now.get(name))]
    if not changed:
        return _Cause("was not in the compile cache", _ABSENT)
    # A changed input changes the graph too, and says more.
    telling = [name for name in changed if name != "gm"] or changed
    texts = [_difference(name, was.get(name), now.get(name)) for name in telling[:_NAMED]]
    if len(telling) > _NAMED:
        texts.append(f"{plural(len(telling) - _NAMED, 'more part')} of its key")
    advice = dict.fromkeys(
        next((text for start, text in _ADVICE if name.startswith(start)), _OTHER) for name in telling[:_NAMED]
    )
    return _Cause(f"was compiled again although an earlier run had: {_listed(texts)}", "; ".join(advice))


def _digest(part: Part | None) -> str:
    return part.digest if part is not None else ""


def _difference(name: str, was: Part | None, now: Part | None) -> str:
    if name == "gm":
        return "the graph changed"
    if was is None or now is None:
        return f"{name} is new" if was is None else f"{name} is gone"
    before, after = dict(_FIELD.findall(was.value)), dict(_FIELD.findall(now.value))
    fields = [field for field in before if field in after and before[field] != after[field]]
    if fields:
        return f"{name}: " + _listed([f"{f} was {_short(before[f])}, is {_short(after[f])}" for f in fields[:_NAMED]])
    if not (was.value + now.value).isprintable() or was.value == now.value:
        return f"{name} changed"
    return f"{name} was {_short(was.value)}, is {_short(now.value)}"


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _short(text: str) -> str:
    text = _SIZE.sub(r"\1", text)
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}..."


def _finding(code: Code, cause: _Cause, times: int, places: JobPlaces, names: dict[tuple[str, int], str]) -> Finding:
    name = names.get((code.path, code.line), code.name)
    return Finding(
        rule=CODE,
        name=NAME,
        severity="warning",
        confidence="certain",
        location=Location(places.show(code.path), code.line, 1, code.line, 1),
        function=name,
        fact=f"`{name}` {cause.text}",
        why=_WHY,
        suggestion=cause.advice,
        status="dynamic-only",
        owner="own" if places.kind(code.path) == "own" else "third-party",
        events=times,
    )
