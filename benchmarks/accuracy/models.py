"""Recall and precision over models of the installed transformers and diffusers, built small with random weights.

Each model is run under graphdoctor's dynamic pass; the results are kept in RUNS, and what is there is not run again.
The files that the runs reached are then scanned as a project, and the findings compared with the breaks, by statement.
"""

from __future__ import annotations

import json
import linecache
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from benchmarks.accuracy import agreement, static
from benchmarks.accuracy import runs as recorded
from benchmarks.accuracy.environment import versions
from benchmarks.accuracy.score import Runs, Score, score
from benchmarks.accuracy.statements import Statement


@click.command(help=__doc__)
@click.argument("runs", type=click.Path(file_okay=False, path_type=Path))
@click.option("--models", "patterns", multiple=True, metavar="PATTERN", help="As transformers.Bert*; default: all.")
@click.option("--mode", type=click.Choice(["eval", "train", "both"]), default="both", show_default=True)
@click.option("--timeout", default=120.0, help="Seconds for each model.", show_default=True)
@click.option("--jobs", default=1, help="Models that run at once.", show_default=True)
@click.option("--only-score", is_flag=True, help="Run nothing: compare what RUNS holds.")
@click.option("--against", type=click.Path(path_type=Path), help="A record of runs: its models, and do they agree?")
@click.option("--list", "listed", is_flag=True, help="Also print every miss and every false alarm.")
@click.option("--json", "output", type=click.Path(path_type=Path), help="Save the result here.")
def models(
    runs: Path,
    patterns: tuple[str, ...],
    mode: str,
    timeout: float,
    jobs: int,
    only_score: bool,
    against: Path | None,
    listed: bool,
    output: Path | None,
) -> None:
    record = _record(against)
    named = {entry.model for entry in record}
    known = [model for model in _models() if model in named or against is None]
    chosen = [model for model in known if any(fnmatch(str(model), p) for p in patterns or ("*",))]
    if not chosen:
        raise click.UsageError(f"no model is called {' or '.join(patterns)}; give a pattern as transformers.Bert*")
    if not only_score:
        os.environ["OMP_NUM_THREADS"] = "1"
        recorded.run_all(chosen, runs, recorded.Settings(mode, timeout, jobs), _tell)
    kept = recorded.load(runs)
    found = {name: kept[name] for name in map(str, chosen) if name in kept}
    usable = {name: ran for name, ran in found.items() if _executed(ran)}
    files = sorted({path for ran in usable.values() for path in _executed(ran)})
    click.echo(f"scanning {len(files)} files", err=True)
    counted = score(static.findings(files) if files else (), usable, files)
    result = {**_summary(found, usable, counted, mode), "files": len(files), **versions(*recorded.LIBRARIES)}
    if against is not None:
        wanted = [entry for entry in record if entry.model in chosen]
        result["agreement"] = agreement.summary(wanted, agreement.compare(wanted, usable))
    click.echo(json.dumps(result, indent=2))
    if listed:
        click.echo("\n".join(_listed(counted)))
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _tell(number: int, model: str, ended: str) -> None:
    click.echo(f"{number}: {model}: {ended}", err=True)


def _record(file: Path | None) -> list[agreement.Recorded]:
    try:
        return agreement.read(file) if file is not None else []
    except agreement.BadRecord as error:
        raise click.UsageError(str(error)) from None


def _models() -> Iterable[recorded.Model]:
    for library in recorded.LIBRARIES:
        names = import_module(f"benchmarks.accuracy.{library}_models").names()
        yield from (recorded.Model(library, name) for name in names)


def _executed(ran: Sequence[Any]) -> set[str]:
    return {path for run in ran for path in run.executed}


def _summary(found: Runs, usable: Runs, counted: Score, mode: str) -> dict[str, Any]:
    skipped = Counter(_reason(ran) for name, ran in found.items() if name not in usable)
    breaking = sum(any(run.breaks for run in ran) for ran in usable.values())
    return {
        "models_run": len(usable),
        "models_that_break": breaking,
        "models_skipped": sum(skipped.values()),
        "reasons": dict(skipped.most_common()),
        "mode": mode,
        "broken_statements": len(counted.broken),
        "predicted": len(counted.predicted),
        "false_alarms": len(counted.refuted),
        "recall": counted.recall,
        "precision": counted.precision,
        "recall_by_cause": _table(counted.by_cause(), "broken", "predicted"),
        "precision_by_rule": _table(counted.by_rule(), "judged", "right"),
    }


def _reason(ran: Sequence[Any]) -> str:
    """Why a model has no eager run, without what differs from model to model."""
    if not ran:
        return "no result"
    return f"{ran[0].outcome}: {' '.join(ran[0].detail.split()[:9])}"


def _table(rows: Mapping[str, tuple[int, int]], whole: str, part: str) -> dict[str, dict[str, int]]:
    return {name: {whole: count, part: right} for name, (count, right) in rows.items()}


def _listed(counted: Score) -> Iterable[str]:
    for statement in sorted(counted.missed):
        tally = counted.broken[statement]
        yield f"missed {_place(statement)} {tally.cause} in {', '.join(sorted(tally.models)[:3])}: {_text(statement)}"
    for statement in sorted(counted.refuted):
        yield f"false alarm {_place(statement)} {', '.join(sorted(counted.refuted[statement]))}: {_text(statement)}"


def _place(statement: Statement) -> str:
    return f"{statement.path}:{statement.first}"


def _text(statement: Statement) -> str:
    return linecache.getline(statement.path, statement.first).strip()
