"""Do models break where a record of other runs of the same models says?

A record is a JSON file, ``{"models": [...]}``. Each model has a ``name`` (its class), its ``model_file`` (as
``library/folder/file.py``), and for each mode it ran in, ``eval`` or ``train``: ``{"breaks": [{"site_file",
"site_line"}]}`` and, as ``executed_eval`` or ``executed_train``, the ranges of lines that ran, by file.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.runs import Model
from graphdoctor.model.runs import DynamicRun

Place = tuple[str, int]

#: Executed lines of a model's file that are nearly those of the record: shared ones among all.
NEARLY = 0.9


class BadRecord(Exception):
    """The file is no record; the text says what is wrong, in one line."""


@dataclass(frozen=True)
class Recorded:
    """One model in one mode, as the record has it; files are named from the library's folder on."""

    model: Model
    mode: str
    file: str
    executed: frozenset[int]
    places: frozenset[Place]


@dataclass(frozen=True)
class Compared:
    """A recorded run beside ours: ``alike`` is the share of the executed lines of the model's file that both ran."""

    recorded: Recorded
    alike: float
    missing: tuple[Place, ...]
    added: tuple[Place, ...]

    @property
    def same(self) -> bool:
        """The distinct places that broke are the same."""
        return not self.missing and not self.added


def read(file: Path) -> list[Recorded]:
    """The record in ``file``. Raises BadRecord."""
    try:
        models = json.loads(file.read_text(encoding="utf-8"))["models"]
        return [recorded for model in models for recorded in _modes(model)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadRecord(f"{file} is no record of runs: {type(error).__name__}: {error}") from error


def _modes(model: Mapping[str, Any]) -> Iterator[Recorded]:
    named, file = Model(model["model_file"].split("/")[0], model["name"]), model["model_file"]
    for mode in ("eval", "train"):
        if model.get(mode):
            ranges = (model.get(f"executed_{mode}") or {}).get(file, ())
            lines = frozenset(line for first, last in ranges for line in range(first, last + 1))
            places = frozenset((found["site_file"], found["site_line"]) for found in model[mode]["breaks"])
            yield Recorded(named, mode, file, lines, places)


def compare(record: Iterable[Recorded], runs: Mapping[str, Sequence[DynamicRun]]) -> list[Compared]:
    """The recorded runs that ``runs``, by model, have too."""
    found = []
    for recorded in record:
        for run in runs.get(str(recorded.model), ()):
            if run.mode == recorded.mode and run.executed:
                found.append(_compared(recorded, run))
    return found


def _compared(recorded: Recorded, run: DynamicRun) -> Compared:
    root = _folder(recorded.model.library)
    lines = frozenset(line for path, ran in run.executed.items() if _from(root, path) == recorded.file for line in ran)
    either = lines | recorded.executed
    places = {(_from(root, found.path), found.line) for found in run.breaks}
    return Compared(
        recorded,
        alike=len(lines & recorded.executed) / len(either) if either else 1.0,
        missing=tuple(sorted(recorded.places - places)),
        added=tuple(sorted(places - recorded.places)),
    )


def _folder(library: str) -> Path | None:
    """Where the package of ``library`` lies."""
    spec = importlib.util.find_spec(library)
    return Path(spec.origin).parents[1] if spec and spec.origin else None


def _from(root: Path | None, path: str) -> str:
    return Path(path).relative_to(root).as_posix() if root and Path(path).is_relative_to(root) else path


def summary(record: Sequence[Recorded], compared: Sequence[Compared]) -> dict[str, Any]:
    """Counts, and every difference, as JSON data."""
    exact = [c for c in compared if c.alike == 1.0]
    nearly = [c for c in compared if c.alike >= NEARLY]
    return {
        "models_recorded": len({r.model for r in record}),
        "models_compared": len({c.recorded.model for c in compared}),
        "runs_with_the_same_lines": len(exact),
        "of_them_with_the_same_breaks": sum(c.same for c in exact),
        f"runs_with_{NEARLY:.0%}_of_the_lines": len(nearly),
        f"of_the_{NEARLY:.0%}_with_the_same_breaks": sum(c.same for c in nearly),
        "differences": [
            {
                "model": str(c.recorded.model),
                "mode": c.recorded.mode,
                "alike": round(c.alike, 3),
                "only_in_the_record": [f"{path}:{line}" for path, line in c.missing],
                "only_here": [f"{path}:{line}" for path, line in c.added],
            }
            for c in compared
            if not c.same
        ],
    }
