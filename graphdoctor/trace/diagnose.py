"""A folder of traces -> the diagnosis that all reports are made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import graphdoctor
from graphdoctor import registry
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.diagnosis.join import join, rule_texts
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.sites import sites
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.dynamic.places import function_at
from graphdoctor.model import Diagnosis, Finding, ScannedFile
from graphdoctor.run_model import DynamicRun
from graphdoctor.source.text import split_lines
from graphdoctor.static import catalog
from graphdoctor.trace.files import NoTrace, TraceFile, find
from graphdoctor.trace.notes import FrameTime, frame_times, notes
from graphdoctor.trace.places import JobPlaces, Sources, job_places
from graphdoctor.trace.process import Process, read
from graphdoctor.trace.ranks import Ran, grouped, ran, site, together, uneven_breaks


def diagnose(path: Path, command: str = "") -> Diagnosis:
    """Read the traces at ``path``. Raises NoTrace when there is no file, or none with a record."""
    processes, files = _read(find(path))
    if not processes:
        raise NoTrace(f"{path} has {files[0].path}, but no record can be read: {files[0].reason}")
    places = job_places(Path.cwd(), next((p.torch_folder for p in processes if p.torch_folder), ""))
    sources = Sources({line: text for process in processes for line, text in process.quoted.items()})
    every = ran(processes, places, sources)
    runs = grouped(every)
    findings = _findings(runs, every, places, sources)
    times = frame_times(every, places, _names(processes, sources))
    return Diagnosis(
        tool_version=graphdoctor.__version__,
        environment={**_versions(processes), "ranks": together([entry.label for entry in every])},
        command=command,
        summary=summarise(files, findings, runs),
        files=files,
        findings=findings,
        dynamic=runs,
        verification=None,
        notes=notes(every, times),
        timings=_timings(every, times),
        root=places.root,
    )


def _read(files: Iterable[TraceFile]) -> tuple[list[Process], tuple[ScannedFile, ...]]:
    # What the traced torch calls a break that its message has no link for.
    ids = {entry.gb_type: gb_id for gb_id, entry in registry.load().items()}
    processes, scanned = [], []
    for file in files:
        name = str(file.path)
        try:
            process = read(file, ids)
        except OSError as error:
            scanned.append(ScannedFile(name, 0, "failed", f"cannot be opened: {error.strerror}"))
            continue
        tally = process.tally
        if tally.records:
            processes.append(process)
            scanned.append(ScannedFile(name, tally.lines, "scanned"))
        else:
            reason = tally.damaged or ("it is empty" if not tally.lines else "it holds no trace record")
            scanned.append(ScannedFile(name, tally.lines, "failed", reason))
    # Ranks that only the records tell come after those that file names told.
    return sorted(processes, key=lambda p: (p.rank is None, p.rank or 0)), tuple(scanned)


def _findings(
    runs: Sequence[DynamicRun], every: Sequence[Ran], places: JobPlaces, sources: Sources
) -> tuple[Finding, ...]:
    """A finding for each break, with the ranks it is on where it is not on all."""
    uneven = uneven_breaks(every)
    found = []
    # Without findings of the source to match, ``join`` makes one for each site, in order.
    for met, finding in zip(sites(runs), join((), runs, rule_texts(catalog.rules())), strict=True):
        names = uneven.get(site(met.first))
        if names:
            finding = replace(finding, message=f"{finding.message} (on {together(names)} only)")
        place = finding.location
        snippet, start = sources.snippet(str(Path(places.root, place.path)), place.line)
        found.append(replace(finding, snippet=snippet, snippet_start=start))
    lines = {f.location.path: split_lines(sources.text(str(Path(places.root, f.location.path)))) for f in found}
    return rank(with_fingerprints(found, lines))


def _names(processes: Iterable[Process], sources: Sources) -> dict[tuple[str, int], str]:
    """The functions that were compiled, named by the source: ``Net.forward``."""
    codes = {(code.path, code.line) for process in processes for code in process.costs}
    named = {(path, line): function_at(sources.text(path), line) for path, line in codes}
    return {code: name for code, name in named.items() if name}


def _versions(processes: Iterable[Process]) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": None, "torch": None}
    for process in processes:
        versions.update(process.versions)
    return versions


def _timings(every: Sequence[Ran], times: Sequence[FrameTime]) -> dict[str, float]:
    """Compile seconds: of each process, and of each function over all of them."""
    return {
        **{f"compile {e.label}": round(sum(c.seconds for c in e.process.costs.values()), 3) for e in every},
        **{f"compile {time.place} {time.function}": time.seconds for time in times},
    }
