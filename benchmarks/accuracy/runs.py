"""Runs models under graphdoctor's dynamic pass, one sample file for each, and keeps what came of it."""

from __future__ import annotations

import importlib.util
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Event

from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.protocol import dump_run, load_run
from graphdoctor.fleet import drive
from graphdoctor.fleet.drive import Plan
from graphdoctor.fleet.store import NAME, existing
from graphdoctor.fleet.worker import Stopped
from graphdoctor.model.fleet import Limits, Result, Target
from graphdoctor.model.runs import DynamicRun

LIBRARIES = ("transformers", "diffusers")
ROOT = Path(__file__).parents[2]
_MEMORY_MB = 9000

#: Gets the number of a run that has ended, its model's name, and one word for each mode on how it ended.
OnEnded = Callable[[int, str, str], None]

_SAMPLE = """import sys

sys.path.append({root!r})
from benchmarks.accuracy.{library}_models import build


def graphdoctor_target():
    return build({name!r})
"""


@dataclass(frozen=True)
class Model:
    """A model class of an installed library."""

    library: str
    name: str

    @classmethod
    def named(cls, name: str) -> Model:
        """The model that is called ``name``, as ``str`` calls it."""
        return cls(*name.split(".", 1))

    def __str__(self) -> str:
        return f"{self.library}.{self.name}"


@dataclass(frozen=True)
class Settings:
    """How models are run: modes, seconds for each model, and how many at once."""

    mode: str
    timeout: float
    jobs: int


def run_all(models: Iterable[Model], folder: Path, settings: Settings, on_ended: OnEnded) -> None:
    """Run the models that ``folder`` has no result of, as a fleet; an interrupted one goes on where it stopped."""
    targets = [Target(str(model), (settings.mode,), folder) for model in models]
    plan = Plan(targets, (), Limits(settings.timeout, _MEMORY_MB), settings.jobs)
    drive.run(plan, folder, lambda result, number, _: on_ended(number, result.name, result.detail), _run)


def load(folder: Path) -> dict[str, tuple[DynamicRun, ...]]:
    """The runs that ``folder`` holds, by the name of their model."""
    results = existing(folder) if (folder / NAME).is_file() else {}
    return {name: tuple(load_run(run) for run in json.loads(result.report)) for name, result in results.items()}


def sources(library: str) -> tuple[Path, ...]:
    """The Python files of an installed library."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        return ()
    return tuple(sorted(Path(spec.origin).parent.rglob("*.py")))


@lru_cache(maxsize=1)
def _watched() -> tuple[str, ...]:
    return tuple(str(file) for library in LIBRARIES for file in sources(library))


def _run(target: Target, options: Sequence[str], limits: Limits, folder: Path, key: str, stop: Event) -> Result:
    """What the fleet asks of a target: here the dynamic pass alone, for the lines that ran, which no report has."""
    if stop.is_set():
        raise Stopped
    started = time.monotonic()
    model, [mode] = Model.named(target.name), target.arguments
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as made:
        sample = Path(made) / "sample.py"
        sample.write_text(_SAMPLE.format(root=str(ROOT), library=model.library, name=model.name), encoding="utf-8")
        request = runner.RunRequest(
            file=sample,
            root=Path(made),
            device="cpu",
            mode=mode,
            timeout=limits.seconds,
            memory_mb=limits.memory_mb,
            watch=_watched(),
            recompiles=False,
            deeper=False,
        )
        runs = tuple(_slim(run) for run in runner.run(request).runs)
    ended = ", ".join(f"{run.mode} {run.outcome}" for run in runs)
    report = json.dumps([dump_run(run) for run in runs])
    return Result(target.name, key, "done", time.monotonic() - started, detail=ended, report=report)


def _slim(run: DynamicRun) -> DynamicRun:
    reached: Mapping[str, frozenset[int]] = {path: lines for path, lines in run.executed.items() if lines}
    return replace(run, executed=reached)
