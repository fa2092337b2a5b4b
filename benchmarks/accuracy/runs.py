"""Runs models under graphdoctor's dynamic pass, one sample file for each, and keeps what came of it."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.protocol import dump_run, load_run
from graphdoctor.model.runs import DynamicRun

LIBRARIES = ("transformers", "diffusers")
ROOT = Path(__file__).parents[2]
_MEMORY_MB = 9000

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

    def __str__(self) -> str:
        return f"{self.library}.{self.name}"


@dataclass(frozen=True)
class Settings:
    """How models are run: modes, seconds for each model, and how many at once."""

    mode: str
    timeout: float
    jobs: int


def run_all(models: Iterable[Model], folder: Path, settings: Settings) -> Iterator[tuple[Model, str]]:
    """Run the models that ``folder`` has no result of; each with one word on how it ended, as they come."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [model for model in models if not _file(folder, model).exists()]
    with ProcessPoolExecutor(settings.jobs) as pool:
        running = {pool.submit(_run, model, settings): model for model in missing}
        for done in as_completed(running):
            model, runs = running[done], done.result()
            _keep(_file(folder, model), runs)
            yield model, ", ".join(f"{run.mode} {run.outcome}" for run in runs)


def load(folder: Path, model: Model) -> tuple[DynamicRun, ...] | None:
    """The runs of ``model`` that ``folder`` holds; None without any."""
    file = _file(folder, model)
    if not file.exists():
        return None
    return tuple(load_run(run) for run in json.loads(file.read_text(encoding="utf-8")))


def sources(library: str) -> tuple[Path, ...]:
    """The Python files of an installed library."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        return ()
    return tuple(sorted(Path(spec.origin).parent.rglob("*.py")))


@lru_cache(maxsize=1)
def _watched() -> tuple[str, ...]:
    return tuple(str(file) for library in LIBRARIES for file in sources(library))


def _run(model: Model, settings: Settings) -> tuple[DynamicRun, ...]:
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as folder:
        sample = Path(folder) / "sample.py"
        sample.write_text(_SAMPLE.format(root=str(ROOT), library=model.library, name=model.name), encoding="utf-8")
        request = runner.RunRequest(
            file=sample,
            root=Path(folder),
            device="cpu",
            mode=settings.mode,
            timeout=settings.timeout,
            memory_mb=_MEMORY_MB,
            watch=_watched(),
            recompiles=False,
            deeper=False,
        )
        return tuple(_slim(run) for run in runner.run(request).runs)


def _slim(run: DynamicRun) -> DynamicRun:
    reached: Mapping[str, frozenset[int]] = {path: lines for path, lines in run.executed.items() if lines}
    return replace(run, executed=reached)


def _file(folder: Path, model: Model) -> Path:
    return folder / f"{model}.json"


def _keep(file: Path, runs: tuple[DynamicRun, ...]) -> None:
    """Write the result whole or not at all: an interrupted benchmark goes on where it stopped."""
    data: list[dict[str, Any]] = [dump_run(run) for run in runs]
    part = file.with_suffix(".part")
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(file)
