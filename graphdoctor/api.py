"""What the command line, hooks and other programs call: ``scan`` and ``diff``."""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import graphdoctor
from graphdoctor import config
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.diagnosis.join import RuleText, join
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.dynamic import runner
from graphdoctor.execution import rerunner, run_request
from graphdoctor.fixes.apply import fixed_texts, select_fixes
from graphdoctor.fixes.diff import unified
from graphdoctor.fixes.verify import Verified, verify
from graphdoctor.fixes.write import write
from graphdoctor.model import Diagnosis, DynamicRun, Finding
from graphdoctor.options import ScanOptions, UsageError, settings_for
from graphdoctor.source.discover import Discovery, PathNotFound, discover, shown
from graphdoctor.source.module import SourceError, read, text_of
from graphdoctor.source.suppress import is_suppressed, matches, suppressions
from graphdoctor.source.text import split_lines
from graphdoctor.static import catalog, engine

__all__ = ["ScanOptions", "UsageError", "diff", "scan"]

Progress = Callable[[str], None]

#: Source lines shown around a finding that only the run saw.
_CONTEXT = 3


@dataclass(frozen=True)
class _Sources:
    """The texts of the scanned files that could be read, by shown path, and where they are on disk."""

    texts: Mapping[str, str]
    files: Mapping[str, Path]


def scan(options: ScanOptions, progress: Progress = lambda text: None) -> Diagnosis:
    """Analyse, run where a sample is declared, join, verify the fixes. Writes nothing unless ``options.fix``.

    Raises UsageError. Whatever the scanned code does, the static findings are complete.
    """
    settings = settings_for(options)
    discovery = _discover(options, settings)
    timings: dict[str, float] = {}
    notes: list[str] = []

    started = time.monotonic()
    progress(f"reading {len(discovery.files)} {'file' if len(discovery.files) == 1 else 'files'}")
    static = engine.analyse(discovery.files, helper=_helper(discovery), target=options.target)
    sources = _read((*discovery.files, *((file, path) for path, file in static.helpers.items())))
    timings["static"] = time.monotonic() - started

    request, reason = run_request(options, settings, discovery, static)
    if reason:
        notes.append(reason)
    runs: tuple[DynamicRun, ...] | None = None
    environment: Mapping[str, str | None] = {"python": platform.python_version(), "torch": runner.torch_available()}
    verified: Verified | None = None
    findings = static.findings
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as reference:
        if request is not None:
            started = time.monotonic()
            request = replace(request, reference=Path(reference))
            result = runner.run(request, progress)
            runs, environment = result.runs, {**environment, **result.environment}
            timings["dynamic"] = time.monotonic() - started
        findings = join(findings, runs or (), _rule_texts())
        findings = _kept(findings, settings, sources, options.possible)
        findings = with_fingerprints(findings, _lines_of(findings, sources))
        if request is not None and runs is not None and options.verify:
            started = time.monotonic()
            if all(run.outcome == "ok" for run in runs):
                verified = verify(findings, sources.texts, runs, rerunner(request, sources.files, progress))
            else:
                notes.append("fixes not verified: the original code did not run to its end")
            timings["verify"] = time.monotonic() - started
    if verified is not None:
        findings = verified.findings
    fixed = 0
    if options.fix:
        fixed, written = _write_fixes(findings, sources, options.unsafe_fixes)
        notes.extend(written)
    findings = rank(_with_snippet(f, sources) for f in findings)
    return Diagnosis(
        tool_version=graphdoctor.__version__,
        environment=environment,
        command=options.command,
        summary=replace(summarise(static.files, findings, runs), fixed=fixed),
        files=static.files,
        findings=findings,
        dynamic=runs,
        verification=verified.verification if verified is not None else None,
        notes=tuple(notes),
        timings=timings,
        root=str(discovery.root),
    )


def diff(diagnosis: Diagnosis, unsafe: bool) -> str:
    """The unified diff of the suggested fixes against the files on disk; ``unsafe`` admits unsafe ones.

    Fixes that verification showed not to work are left out.
    """
    chosen, _ = select_fixes(_usable(diagnosis.findings), unsafe)
    texts = {path: text_of(Path(diagnosis.root) / path) for path in sorted({f.location.path for f in chosen})}
    after = fixed_texts(texts, chosen)
    return "".join(unified(path, texts[path], after[path]) for path in texts)


def _discover(options: ScanOptions, settings: config.Config) -> Discovery:
    try:
        return discover(options.paths, settings.exclude)
    except PathNotFound as error:
        raise UsageError(str(error)) from None


def _helper(discovery: Discovery) -> engine.PathOf:
    """A file given alone is reported with the files of its own project that it calls; of several, only they are."""

    def path_of(file: Path) -> str | None:
        own = len(discovery.files) == 1 and not {"site-packages", "dist-packages"} & set(file.parts)
        return shown(file, discovery.root) if own else None

    return path_of


def _read(files: Sequence[tuple[Path, str]]) -> _Sources:
    texts: dict[str, str] = {}
    for file, path in files:
        try:
            texts[path], _ = read(file)
        except SourceError:
            continue
    return _Sources(texts, {path: file for file, path in files})


def _rule_texts() -> dict[str, RuleText]:
    """The rule behind each graph-break id that exactly one rule owns."""
    owners: dict[str, list[RuleText]] = {}
    for rule in catalog.rules():
        for gb_id in rule.gb_ids:
            owners.setdefault(gb_id, []).append(RuleText(rule.code, rule.name, rule.why, rule.how))
    return {gb_id: rules[0] for gb_id, rules in owners.items() if len(rules) == 1}


def _kept(
    findings: Sequence[Finding], settings: config.Config, sources: _Sources, possible: bool
) -> tuple[Finding, ...]:
    """The findings that are sure enough or confirmed, selected, not ignored and not silenced by a comment."""
    silenced = {path: suppressions(text) for path, text in sources.texts.items()}

    def is_kept(finding: Finding) -> bool:
        code, name, place = finding.rule, finding.name, finding.location
        if finding.confidence == "possible" and finding.status != "confirmed" and not possible:
            return False
        if settings.select and not any(matches(code, name, pattern) for pattern in settings.select):
            return False
        if any(matches(code, name, pattern) for pattern in settings.ignore):
            return False
        return not is_suppressed(code, name, place.line, silenced.get(place.path, {}))

    return tuple(f for f in findings if is_kept(f))


def _usable(findings: Sequence[Finding]) -> list[Finding]:
    """Findings whose fix may be written: not for what the run refuted, and not where verification failed."""
    return [f for f in findings if f.status != "refuted" and f.fix is not None and f.fix.grade != "none"]


def _write_fixes(findings: Sequence[Finding], sources: _Sources, unsafe: bool) -> tuple[int, list[str]]:
    """Write the fixes, file by file: how many were written, and one note for each file."""
    chosen, overlapping = select_fixes(_usable(findings), unsafe)
    notes = []
    written = 0
    for path, text in fixed_texts(sources.texts, chosen).items():
        count = sum(f.location.path == path for f in chosen)
        try:
            write(sources.files[path], sources.texts[path], text)
            written += count
            notes.append(f"fixed: {path} ({count} {'fix' if count == 1 else 'fixes'} written)")
        except SourceError as error:
            notes.append(f"not fixed: {path} {error}")
    notes.extend(f"not fixed: {f.location.path}:{f.location.line} {f.rule} overlaps another fix" for f in overlapping)
    return written, notes or ["fixed: nothing; there is no fix to write"]


def _with_snippet(finding: Finding, sources: _Sources) -> Finding:
    """Source lines around a finding that only the run saw."""
    if finding.snippet:
        return finding
    place = finding.location
    path = sources.files.get(place.path, Path(place.path))
    lines = split_lines(sources.texts.get(place.path) or text_of(path))
    start = max(place.line - _CONTEXT, 1)
    return replace(finding, snippet=tuple(lines[start - 1 : place.end_line + _CONTEXT]), snippet_start=start)


def _lines_of(findings: Sequence[Finding], sources: _Sources) -> dict[str, list[str]]:
    """The lines of the files that have findings."""
    paths = {f.location.path for f in findings} & set(sources.texts)
    return {path: split_lines(sources.texts[path]) for path in paths}
