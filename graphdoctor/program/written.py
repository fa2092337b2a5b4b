"""Writes the fixes of a program's report, those that stood, to the files that took part in the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphdoctor.fixes.core.write import NOT_GIVEN, project_of
from graphdoctor.model.findings import Diagnosis
from graphdoctor.scan.plan import WritePlan
from graphdoctor.scan.session import Callbacks, Choose
from graphdoctor.scan.source_texts import Sources
from graphdoctor.scan.steps.write import write
from graphdoctor.trace.process import Process

_OUTSIDE = (
    "is outside of the project of the script and of the folder that it was started in, so it was not written; start it "
    "in a folder around both files"
)


@dataclass(frozen=True)
class Writing:
    """Which fixes are written: ``unsafe`` admits unsafe ones, and of those that may be ``choose`` chooses some."""

    unsafe: bool = False
    choose: Choose | None = None


def written(diagnosis: Diagnosis, sources: Sources, writing: Writing, processes: Sequence[Process]) -> Diagnosis:
    """``diagnosis`` with its fixes written to the files of the projects that ``processes`` ran."""
    plan = WritePlan(writing.unsafe, _places(processes))
    result = write(plan, diagnosis.findings, sources, Callbacks(choose=writing.choose))
    return replace(
        diagnosis,
        findings=tuple(result.findings),
        notes=(*diagnosis.notes, *(note.replace(NOT_GIVEN, _OUTSIDE) for note in result.notes)),
        summary=replace(diagnosis.summary, fixed=result.count),
    )


def _places(processes: Sequence[Process]) -> tuple[Path, ...]:
    """The projects of the scripts, and of the folders in which they were started."""
    programs = [note for process in processes for note in process.notes.get("graphdoctor_program", ())]
    scripts = [Path(str(note["main"])) for note in programs if note.get("main")]
    started = [Path(str(note["folder"]), "__main__.py") for note in programs if note.get("folder")]
    return tuple(dict.fromkeys(project_of(file) for file in (*scripts, *started)))
