"""What went wrong beside the findings: a report without findings must not read as if all had been looked at.

Formats for continuous integration have a place for findings only, so each of them shows these in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphdoctor.diagnosis.summary import failures
from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import DynamicRun
from graphdoctor.report import wording


@dataclass(frozen=True)
class Problem:
    """Something that could not be checked (``stopped``), or that is wrong without a line to name.

    ``path`` is the file, as findings name it; None where it is not known. ``kind`` is a short name for programs.
    """

    kind: Literal["unreadable-file", "incomplete-file", "run-failed", "not-ready"]
    title: str
    text: str
    path: str | None
    stopped: bool = True


def problems(diagnosis: Diagnosis) -> tuple[Problem, ...]:
    """What went wrong, runs first."""
    first = diagnosis.files[0].path if diagnosis.files else None
    found = [problem for run in diagnosis.dynamic or () for problem in _of_run(run, first, diagnosis)]
    for file in diagnosis.files:
        if file.status == "failed":
            text = file.reason or "could not be read"
            found.append(Problem("unreadable-file", "this file could not be read", text, file.path))
        elif file.status == "scanned" and file.reason:
            found.append(Problem("incomplete-file", "this file was not analysed completely", file.reason, file.path))
    return tuple(found)


def _of_run(run: DynamicRun, path: str | None, diagnosis: Diagnosis) -> Iterator[Problem]:
    title = wording.run_title(run)
    if run.outcome != "ok":
        yield Problem("run-failed", "the run failed", f"{title}: {wording.run_counts(run)}", path)
        return
    clauses = list(failures(run))
    if run.graphs == 0:
        clauses.insert(0, "nothing is compiled (0 graphs)")
    elif run.fullgraph.passes is False and not any(f.status != "refuted" for f in diagnosis.findings):
        clauses.insert(0, f"fullgraph=True {wording.fullgraph(run.fullgraph)}")
    for clause in clauses:
        yield Problem("not-ready", "the run is not ready", f"{title}: {clause}", path, stopped=False)
