"""A folder of traces -> the diagnosis that all reports are made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import graphdoctor
from graphdoctor.breaks.job_locations import JobPlaces, Sources, generated_folder, job_places
from graphdoctor.breaks.locations import function_at
from graphdoctor.breaks.run_facts import facts_of
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.model.findings import Diagnosis, Finding, ScannedFile
from graphdoctor.scan.options import ScanOptions
from graphdoctor.source.text import split_lines
from graphdoctor.target_torch.tested import beside_tested
from graphdoctor.trace.cache_misses import cache_misses
from graphdoctor.trace.files import NoTrace, find
from graphdoctor.trace.joined import joined, own_files, static_scan, taken_part, without_source
from graphdoctor.trace.notes import FrameTime, frame_times, notes, read_files
from graphdoctor.trace.process import Code, Line, Process
from graphdoctor.trace.ranks import Ran, grouped, ran, together, uneven_breaks
from graphdoctor.trace.reading import read_processes
from graphdoctor.trace.uneven import with_rank_difference

#: Where torch's functions are that stand around the user's, such as a decorated one.
_WRAPPERS = "torch/_dynamo/external_utils.py"
#: Calls of such a function that are named with it.
_CALLS = 2


def diagnose(
    path: Path,
    command: str = "",
    options: ScanOptions | None = None,
    jobs: int | None = None,
    progress: Callable[[str], None] = lambda _text: None,
    against: Path | None = None,
) -> Diagnosis:
    """Read the traces at ``path``, ``jobs`` files at a time, and the source files of the job that are on this machine.

    ``against`` has the traces of an earlier run, by which misses of caches are explained.

    Raises NoTrace when there is no file, or none with a record, and UsageError for settings that cannot be read.
    """
    before = read_processes(find(against), jobs, progress)[0] if against is not None else ()
    processes, files = read_processes(find(path), jobs, progress)
    return of_processes(path, processes, files, options or ScanOptions((), command=command), before)


def of_processes(
    path: Path,
    processes: Sequence[Process],
    files: tuple[ScannedFile, ...],
    options: ScanOptions,
    before: Sequence[Process] = (),
) -> Diagnosis:
    """The diagnosis of ``processes``, whose ``files`` are at ``path``. Raises as ``diagnose`` does."""
    if not processes:
        raise NoTrace(f"{path} has {files[0].path}, but no record can be read: {files[0].reason}")
    busy = [process for process in processes if not process.is_idle]
    # Processes that only loaded data or compiled kernels for others are left out; where none compiled, all are listed.
    diagnosis = diagnosed(busy or processes, files, options, before=before, tell_files=True)
    summary = replace(diagnosis.summary, files=len(files), failed=sum(file.status == "failed" for file in files))
    return replace(diagnosis, files=files, summary=summary)


def diagnosed(
    processes: Sequence[Process],
    traces: tuple[ScannedFile, ...],
    options: ScanOptions,
    extra: Sequence[str] = (),
    before: Sequence[Process] = (),
    tell_files: bool = False,
) -> Diagnosis:
    """The diagnosis of what ``processes`` compiled, with ``extra`` notes, and with ``tell_files`` what was read.

    ``before`` are those of an earlier run.

    Its files are the source files that took part; ``traces``, where none of them is here.
    """
    torch = next((p.torch_folder for p in processes if p.torch_folder), "")
    sources = Sources({line: text for process in processes for line, text in process.quoted.items()})
    generated = generated_folder(taken_part(processes), Path.cwd())
    own = own_files(processes, job_places(Path.cwd(), torch, generated), sources)
    static = static_scan(own, options)
    places = job_places(Path(static.diagnosis.root) if static is not None else Path.cwd(), torch, generated)
    texts = {places.show(file): sources.text(file) for file in own}
    every = ran(processes, places, sources)
    runs = grouped(every)
    if static is not None:
        on_disk = {path: Path(places.root, path) for path in texts}
        breaks = (brk for run in runs for brk in run.breaks if brk.owner == "own")
        if facts := facts_of(breaks, static.diagnosis.findings, texts, on_disk):
            # A break shows what the source alone does not: that the result of a library call is a tensor.
            static = static_scan(own, replace(options, facts=facts))
    found = without_source(runs, options) if static is None else joined(static, runs, texts)
    names = _names(processes, sources, places)
    found = (*found, *cache_misses(processes, before, places, names))
    findings = _findings(found, every, places, sources)
    files = static.diagnosis.files if static is not None else traces
    times = frame_times(every, places, names)
    versions = _versions(processes)
    beside = beside_tested(versions["torch"])
    about = (*extra, *((beside,) if beside is not None else ()), *(read_files(every) if tell_files else ()))
    return Diagnosis(
        tool_version=graphdoctor.__version__,
        environment={**versions, "ranks": together([entry.label for entry in every])},
        command=options.command,
        summary=with_rank_difference(summarise(files, findings, runs), every),
        files=files,
        findings=findings,
        dynamic=runs,
        verification=None,
        notes=(*about, *notes(every, times)),
        timings=_timings(every, times),
        root=places.root,
    )


def _findings(
    found: Iterable[Finding], every: Sequence[Ran], places: JobPlaces, sources: Sources
) -> tuple[Finding, ...]:
    """``found`` with the ranks that a break is on where it is not on all, and with the source lines of new ones."""
    uneven = uneven_breaks(every)
    shown = []
    for finding in found:
        place = finding.location
        names = [
            names
            for (path, line, _, cause), names in uneven.items()
            if path == place.path and place.line <= line <= place.end_line and cause in finding.gb_ids
        ]
        if finding.events and names and finding.owner == "own":
            finding = replace(finding, fact=f"{finding.fact} (on {together(sorted({*chain(*names)}))} only)")
        if not finding.snippet:
            snippet, start = sources.snippet(str(Path(places.root, place.path)), place.line)
            finding = replace(finding, snippet=snippet, snippet_start=start)
        shown.append(finding)
    lines = {f.location.path: split_lines(sources.text(str(Path(places.root, f.location.path)))) for f in shown}
    return rank(with_fingerprints(shown, lines))


def _names(processes: Sequence[Process], sources: Sources, places: JobPlaces) -> dict[tuple[str, int], str]:
    """The functions that were compiled, named by the source: ``Net.forward``; torch's wrappers with their calls."""
    codes = {(code.path, code.line) for process in processes for code in process.costs}
    named = {(path, line): function_at(sources.text(path), line) for path, line in codes}
    callers: defaultdict[Code, set[Line]] = defaultdict(set)
    for process in processes:
        for code, lines in process.callers.items():
            callers[code] |= lines if code.path.replace("\\", "/").endswith(_WRAPPERS) else set()
    for code, lines in callers.items():
        calls = [f"{places.show(path)}:{line}" for path, line in sorted(lines) if places.kind(path) == "own"]
        if 0 < len(calls) <= _CALLS:
            name = named.get((code.path, code.line)) or code.name
            named[code.path, code.line] = f"{name} (called at {' and '.join(calls)})"
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
