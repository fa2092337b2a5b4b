"""The folder of a recording, and how the program ended -> the diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten

from graphdoctor.breaks.explanations import remedy_of_error
from graphdoctor.breaks.recompiles import guards
from graphdoctor.diagnosis.join import is_usage
from graphdoctor.model.findings import Diagnosis
from graphdoctor.program.missing import lacking
from graphdoctor.program.process import Ended
from graphdoctor.program.samples import Saved, write_samples
from graphdoctor.program.verified import sources_of, verified
from graphdoctor.program.written import Writing, written
from graphdoctor.recorder.settings import AUTO
from graphdoctor.scan.options import ScanOptions
from graphdoctor.trace.diagnose import diagnosed
from graphdoctor.trace.files import NoTrace, find
from graphdoctor.trace.joined import static_scan
from graphdoctor.trace.process import Process
from graphdoctor.trace.reading import read_processes

#: Rules on calls that pass the compiled model by: warnings where that may be meant, and here nothing else was compiled.
_PASS_BY = ("GD601", "GD606")
#: Wrong uses that are named where nothing was compiled.
_MOST_USES = 3
_EXPORTS = "it exports, which is not recorded; `graphdoctor scan FILE --export`, with a sample, says where that fails"
_OVERWRITTEN = "the error is about memory of a CUDA graph, which the next call overwrites"
_NOTHING = "and compiled nothing"
_ASK = "--compile auto compiles its outermost modules, with nothing changed in the program"


class NothingRecorded(Exception):
    """There is nothing to report on; the text is one line for the user, ``exit_code`` that of the program.

    ``missing`` is a line on the modules that the program did not find, and ``hint`` what helps where its source does
    nothing wrong with torch.compile; each may be empty.
    """

    def __init__(self, text: str, exit_code: int, missing: str = "", hint: str = "") -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.missing = missing
        self.hint = hint


@dataclass(frozen=True)
class Proof:
    """Whether calls that were saved become files, ``sample`` and its like, and whether they prove the fixes.

    One run for that may take ``timeout`` seconds. ``writing`` says which of the fixes that stood are written.
    """

    sample: Path | None = None
    verify: bool = False
    timeout: float = 120.0
    writing: Writing | None = None


def report(
    folder: Path,
    name: str,
    ended: Ended,
    options: ScanOptions,
    missing: Sequence[int] = (),
    proof: Proof | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> Diagnosis:
    """What the program ``name`` compiled. ``missing`` are the ranks that had not ended.

    Raises NothingRecorded, UsageError for settings that cannot be read, and OSError where no sample can be written.
    """
    proof = proof or Proof()
    try:
        processes, traces = read_processes(find(folder))
    except NoTrace:
        processes, traces = [], ()
    busy = [process for process in processes if not process.is_idle]
    if not busy:
        modules = lacking(folder) if ended.exit_code else ""
        text = _nothing(folder, name, ended, processes)
        raise NothingRecorded(text, ended.exit_code, modules, _ASK if text.endswith(_NOTHING) else "")
    saved: tuple[Saved, ...] = ()
    about: tuple[str, ...] = ()
    notes = [*_how_it_ended(name, ended, busy, missing), *_about(busy)]
    if proof.sample is not None or proof.verify:
        saved, about = write_samples(proof.sample or folder / "first_call.py", folder, processes)
        notes += about if proof.sample is not None else ()
    progress("reading the files that took part")
    diagnosis = diagnosed(busy, traces, options, notes)
    if any(run.ladder is not None for run in diagnosis.dynamic or ()):
        diagnosis = replace(diagnosis, notes=(*diagnosis.notes, _which_layer(proof.sample)))
    if proof.verify:
        sources = sources_of(diagnosis)
        diagnosis = verified(diagnosis, sources, saved, about, proof.timeout, progress)
        if proof.writing is not None:
            diagnosis = written(diagnosis, sources, proof.writing, busy)
    if ended.exit_code and diagnosis.summary.verdict == "ready":
        headline = f"{diagnosis.summary.headline}; but the program {ended.words}"
        diagnosis = replace(diagnosis, summary=replace(diagnosis.summary, headline=headline))
    return diagnosis


def _nothing(folder: Path, name: str, ended: Ended, processes: Sequence[Process]) -> str:
    """Why there is no report, and what to do."""
    if failures := sorted(folder.glob("not_recorded_*.txt")):
        reason = failures[0].read_text(encoding="utf-8").strip().splitlines()[-1]
        return f"{name} was not recorded: the recorder does not fit this torch ({reason})"
    if not any(folder.glob("imported_torch_*")):
        what = "before it imported torch" if ended.exit_code else "and never imported torch"
        return f"nothing to report: {name} {ended.words} {what}"
    outermost = [note for process in processes for note in process.notes.get("graphdoctor_outermost", ())]
    if outermost:
        kind = "with parameters" if any(note.get("wanted") == AUTO for note in outermost) else "of that class"
        called = ", ".join(sorted({str(note.get("class")) for note in outermost}))
        return f"nothing was compiled: no module {kind} was called; {name} calls {called}"
    if any(process.notes.get("graphdoctor_program_compiles") for process in processes):
        return f"nothing was compiled: {name} {ended.words} and calls torch.compile, but nothing that this returned"
    what = "before it compiled anything" if ended.exit_code else _NOTHING
    exports = any(process.notes.get("graphdoctor_exports") for process in processes)
    return f"nothing was compiled: {name} {ended.words} {what}" + (f"; {_EXPORTS}" if exports else "")


def wrong_uses(script: str, options: ScanOptions) -> list[str]:
    """What the source of ``script`` does wrong with torch.compile, which may be why it compiled nothing, a line each.

    Raises UsageError for settings that cannot be read.
    """
    static = static_scan([script], options)
    usage = [f for f in static.diagnosis.findings if is_usage(f)] if static else []
    found = [f for f in usage if f.severity == "error" or f.rule in _PASS_BY]
    return [f"{f.location.path}:{f.location.line}: {f.rule} {f.message}" for f in found[:_MOST_USES]]


def _how_it_ended(name: str, ended: Ended, busy: Sequence[Process], missing: Sequence[int]) -> Iterator[str]:
    if any(process.notes.get("graphdoctor_steps_done") for process in busy):
        yield f"{name} was ended after the steps that --steps asked for"
    elif ended.exit_code:
        raised = next((note for process in busy for note in process.notes.get("graphdoctor_raised", ())), None)
        how = ended.words
        if raised is not None:
            how = f"raised {raised.get('type')}: {shorten(str(raised.get('message')), 200, placeholder='...')}"
        yield f"{name} {how}; this is what it had compiled by then"
        if refused := _refused(raised.get("guards") if raised is not None else None):
            yield f"the call that raised would have been compiled again: {refused}"
        remedy = remedy_of_error(str(raised.get("message"))) if raised is not None else ""
        if remedy:
            about = _OVERWRITTEN if "CUDAGraphs" in str(raised and raised.get("message")) else "what helps"
            yield f"{about}: {remedy}"
    if missing:
        yield f"ranks that had not ended when this was written: {', '.join(map(str, missing))}"


def _which_layer(sample: Path | None) -> str:
    file = sample or "sample.py"
    saved = "" if sample else f"`graphdoctor run --save-sample {file} PROGRAM` keeps the call, then "
    tried = f"`graphdoctor scan {file} --ladder --repro repro.py` runs it on each, and writes a script that fails"
    return f"which layer fails: {saved}{tried}"


def _refused(reasons: object) -> str:
    """What differed from all that was compiled, of a call that the settings forbid to be compiled again."""
    every = [guards.read(str(reason)).words for reason in reasons] if isinstance(reasons, list) else []
    return "; ".join(dict.fromkeys(every))


def _about(busy: Sequence[Process]) -> Iterator[str]:
    compiled = sorted({str(note.get("class")) for p in busy for note in p.notes.get("graphdoctor_compiled", ())})
    if compiled:
        yield f"compiled by --compile, with the backend eager: {', '.join(compiled)}"
    if any(process.notes.get("graphdoctor_compile_given_up") for process in busy):
        yield "--compile auto stopped where the program compiled something itself"
