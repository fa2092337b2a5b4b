"""What was compiled in this process, joined with the static pass over the files or cells that it came from."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import torch

from graphdoctor.api import scan
from graphdoctor.breaks.backend_failures import failed_backends, is_backend_failure
from graphdoctor.breaks.grouping import RawEvent, RawFrame, distinct
from graphdoctor.breaks.locations import Places
from graphdoctor.diagnosis.cells import in_cells
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.dynamic.tracing.capture import Recording
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.in_process.listing import places_below
from graphdoctor.in_process.recompiles import recompiles
from graphdoctor.in_process.typed import MODULE, Typed, typed
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import DynamicRun, FullGraph
from graphdoctor.scan.options import STDIN, ScanOptions

#: Runs the code in eager and gives the lines that ran, of files by the names that their code objects have.
Lines = Callable[[Sequence[str]], Mapping[str, set[int]]]


@dataclass(frozen=True)
class Traced:
    """The result of compiling in this process. ``lines`` is None where the code cannot be run once more.

    ``target`` is the name that the code was defined under where that is a name of its file, else None.
    """

    name: str
    mode: Literal["eval", "train"]
    device: str
    graphs: int
    operators: int
    events: tuple[RawEvent, ...]
    recording: Recording
    target: str | None = None
    lines: Lines | None = None
    #: One line each, for the report.
    notes: tuple[str, ...] = ()
    #: The verdict of ``fullgraph=True``, with the places as they are shown; None where it was not tried.
    fullgraph: Callable[[Places], FullGraph] = field(default=lambda _places: FullGraph(None))


def diagnosis_of(traced: Traced, command: str) -> Diagnosis:
    """The diagnosis of what was traced: its findings are those at which something broke, or that ran after a break."""
    made_of_cells = typed()
    files = _own_files(traced, made_of_cells)
    on_disk = [file for file in files if made_of_cells.line(file, 1) is None]
    if len(on_disk) < len(files):
        # Files that cells import are read as their helpers.
        options = ScanOptions(
            (STDIN,), run=False, command=command, stdin=made_of_cells.cells.text.encode(), stdin_filename=MODULE
        )
    elif on_disk:
        target = traced.target if len(on_disk) == 1 else None
        options = ScanOptions(tuple(on_disk), run=False, command=command, target=target, jobs=1)
    else:
        return _without_source(traced, made_of_cells, command)

    def ran(root: Path, scanned: Mapping[str, Path]) -> tuple[tuple[DynamicRun, ...], Mapping[str, str | None]]:
        return (_Run(traced, made_of_cells, root, scanned).run(),), _environment(traced)

    diagnosis = scan(options, ran=ran)
    shown = _shown(diagnosis)
    shown = replace(shown, notes=(*shown.notes, *traced.notes))
    return in_cells(shown, {MODULE: made_of_cells.cells} if options.stdin else {})


def _own_files(traced: Traced, made_of_cells: Typed) -> list[str]:
    """The user's files that were compiled or broke, as their code objects name them."""
    places = places_below(os.getcwd())
    frames = (frame.path for event in traced.events for frame in (*event.above, *event.traced))
    compiled = (start.path for start in traced.recording.starts)
    return [
        path
        for path in dict.fromkeys((*compiled, *frames))
        if places.kind(path) == "own" and (made_of_cells.line(path, 1) is not None or os.path.isfile(path))
    ]


@dataclass(frozen=True)
class _Run:
    """Makes the run of what was traced, with paths from ``root`` and typed code at its line of the module."""

    traced: Traced
    typed: Typed
    root: Path
    scanned: Mapping[str, Path]

    def run(self) -> DynamicRun:
        """The run, as a scan would have made it."""
        traced, places = self.traced, places_below(str(self.root))
        module = str(self.root / MODULE)

        def source(path: str) -> str:
            return self.typed.cells.text if path == module else source_of(path)

        def placed(path: str, line: int) -> tuple[str, int]:
            at = self.typed.line(path, line)
            return (path, line) if at is None else (module, at)

        events = [_moved(event, placed) for event in traced.events]
        fullgraph = traced.fullgraph(places)
        if fullgraph.path is not None and fullgraph.line is not None:
            path, line = placed(fullgraph.path, fullgraph.line)
            fullgraph = replace(fullgraph, path=places.show(path), line=line)
        return DynamicRun(
            target=traced.name,
            mode=traced.mode,
            device=traced.device,
            outcome="ok",
            graphs=traced.graphs,
            operators=traced.operators,
            breaks=distinct([event for event in events if not is_backend_failure(event)], places, source),
            fullgraph=fullgraph,
            ladder=failed_backends(events, places),
            recompiles=recompiles(traced.recording, places, placed),
            executed=self._executed(placed),
        )

    def _executed(self, placed: Callable[[str, int], tuple[str, int]]) -> dict[str, frozenset[int]]:
        """The lines that ran, of the scanned files by shown path; none where that is not known."""
        if self.traced.lines is None:
            return {}
        shown = {str(file): path for path, file in self.scanned.items()}
        watched = (*shown, *(self.typed.files if MODULE in self.scanned else ()))
        found: dict[str, set[int]] = {path: set() for path in self.scanned}
        for file, lines in self.traced.lines(watched).items():
            for line in lines:
                path, number = placed(file, line)
                found[shown[path]].add(number)
        return {path: frozenset(lines) for path, lines in found.items()}


def _moved(event: RawEvent, placed: Callable[[str, int], tuple[str, int]]) -> RawEvent:
    def frames(every: Iterable[RawFrame]) -> Iterator[RawFrame]:
        for frame in every:
            path, line = placed(frame.path, frame.line)
            yield replace(frame, path=path, line=line)

    return replace(event, above=tuple(frames(event.above)), traced=tuple(frames(event.traced)))


def _without_source(traced: Traced, made_of_cells: Typed, command: str) -> Diagnosis:
    """The diagnosis where no code of the user's has a source: of an installed model, or typed at an old prompt."""
    from graphdoctor import __version__
    from graphdoctor.diagnosis.fingerprint import with_fingerprints
    from graphdoctor.diagnosis.join import join, rule_texts
    from graphdoctor.diagnosis.rank import rank
    from graphdoctor.lint import catalog

    root = Path.cwd()
    runs = (_Run(traced, made_of_cells, root, {}).run(),)
    findings = rank(with_fingerprints(join((), runs, rule_texts(catalog.rules())), {}))
    return Diagnosis(
        tool_version=__version__,
        environment=_environment(traced),
        command=command,
        summary=summarise((), findings, runs),
        files=(),
        findings=findings,
        dynamic=runs,
        verification=None,
        notes=traced.notes,
        root=str(root),
    )


def _environment(traced: Traced) -> Mapping[str, str | None]:
    return {"python": platform.python_version(), "torch": torch.__version__, "device": traced.device}


def _shown(diagnosis: Diagnosis) -> Diagnosis:
    """``diagnosis`` with the findings that are about the code that ran: the files may hold other models."""
    executed = {path: lines for run in diagnosis.dynamic or () for path, lines in run.executed.items()}

    def is_shown(finding: Finding) -> bool:
        place = finding.location
        if finding.status == "static-only":
            return not executed.get(place.path, frozenset()).isdisjoint(range(place.line, place.end_line + 1))
        return finding.status in ("confirmed", "dynamic-only")

    findings = tuple(filter(is_shown, diagnosis.findings))
    return replace(diagnosis, findings=findings, summary=summarise(diagnosis.files, findings, diagnosis.dynamic))
