"""Recall and precision over a folder of files that declare a sample.

Every such file is scanned, run under Dynamo, and compared line by line. A finding on a line that the sample did not
reach counts neither way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from benchmarks.accuracy.environment import versions
from graphdoctor.api import ScanOptions, scan
from graphdoctor.dynamic.parent.runner import declares_sample
from graphdoctor.model.findings import Diagnosis


@dataclass(frozen=True)
class Score:
    """Lines of one file, or the sum over several."""

    predicted: int = 0
    missed: int = 0
    false_alarms: int = 0
    not_reached: int = 0
    third_party: int = 0
    not_run: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    @property
    def recall(self) -> float:
        """The share of the breaks in scanned code that were predicted; 1 where there are none."""
        return self.predicted / max(self.predicted + self.missed, 1) if self.missed else 1.0

    @property
    def precision(self) -> float:
        """The share of the judged findings whose line really breaks; 1 where there are none."""
        return self.predicted / max(self.predicted + self.false_alarms, 1) if self.false_alarms else 1.0


def score(diagnosis: Diagnosis, path: str) -> Score:
    """Compare the break findings of ``path`` with the breaks of all its runs, by line."""
    runs = diagnosis.dynamic or ()
    if not runs or any(run.outcome != "ok" for run in runs):
        return Score(not_run=1)
    breaks = {(b.path, b.line) for run in runs for b in run.breaks}
    own = {line for name, line in breaks if name == path}
    spans = [
        (range(f.location.line, f.location.end_line + 1), f.status)
        for f in diagnosis.findings
        if f.gb_ids and f.location.path == path and f.status != "dynamic-only"
    ]
    right = [span for span, _ in spans if own.intersection(span)]
    wrong = [status for span, status in spans if not own.intersection(span)]
    predicted = {line for line in own if any(line in span for span in right)}
    return Score(
        predicted=len(predicted),
        missed=len(own - predicted),
        false_alarms=sum(status != "not-reached" for status in wrong),
        not_reached=wrong.count("not-reached"),
        third_party=len(breaks) - len(own),
    )


def samples(folder: Path) -> Iterator[Path]:
    """The files under ``folder`` that declare a sample, in stable order."""
    for file in sorted(folder.rglob("*.py")):
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        if declares_sample(text):
            yield file


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--mode", type=click.Choice(["eval", "train", "both"]), default="eval", show_default=True)
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for each run.")
@click.option("--json", "output", type=click.Path(path_type=Path), help="Save the result here.")
def folder(folder: Path, mode: str, timeout: float, output: Path | None) -> None:
    total, files = Score(), 0
    for file in samples(folder):
        diagnosis = scan(ScanOptions(paths=(str(file),), mode=mode, timeout=timeout, verify=False))
        one = score(diagnosis, diagnosis.files[0].path)
        click.echo(f"{file.relative_to(folder)}: " + ", ".join(f"{k} {v}" for k, v in asdict(one).items() if v))
        total, files = total + one, files + 1
    result = {
        "files": files,
        "mode": mode,
        **asdict(total),
        "recall": round(total.recall, 3),
        "precision": round(total.precision, 3),
        **versions(),
    }
    click.echo(json.dumps(result, indent=2))
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n")
