"""Models of transformers and diffusers as cases: ``python -m benchmarks.fixes.cases CASES MODEL...``

MODEL is as in benchmarks.accuracy (``transformers.FlaubertModel``). With --runs, those that broke in the runs that
``python -m benchmarks.accuracy models RUNS`` recorded. Each gets a copy of its library, which counts as user code.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks.accuracy import runs as recorded
from benchmarks.fixes.case import SAMPLE

_SAMPLE = """import sys

sys.path.append({root!r})
from benchmarks.accuracy.{library}_models import build


def graphdoctor_target():
    return build({name!r})
"""


@click.command(help=__doc__)
@click.argument("cases", type=click.Path(file_okay=False, path_type=Path))
@click.argument("models", nargs=-1)
@click.option("--runs", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Recorded runs.")
def main(cases: Path, models: tuple[str, ...], runs: Path | None) -> None:
    named = [recorded.Model.named(model) for model in models]
    for model in (*named, *(_breaking(runs) if runs is not None else ())):
        make(model, cases)
        click.echo(str(model), err=True)


def make(model: recorded.Model, cases: Path) -> None:
    """Write the case of ``model``: a sample, and the sources of its library beside it."""
    spec = importlib.util.find_spec(model.library)
    if spec is None or spec.origin is None:
        raise click.UsageError(f"{model.library} is not installed")
    folder = cases / model.name
    source = Path(spec.origin).parent
    shutil.copytree(source, folder / model.library, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    text = _SAMPLE.format(root=str(recorded.ROOT), library=model.library, name=model.name)
    (folder / SAMPLE).write_text(text, encoding="utf-8")


def _breaking(runs: Path) -> Iterator[recorded.Model]:
    for name, ran in sorted(recorded.load(runs).items()):
        if any(run.breaks for run in ran):
            yield recorded.Model.named(name)


if __name__ == "__main__":
    main()
