"""What the command line, hooks and other programs call: ``scan`` and ``diff``."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import graphdoctor
from graphdoctor.cache import Cache, stamps
from graphdoctor.diagnosis.allow import expired, with_allowed
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.execution import Copies, is_run, result_of, run_request
from graphdoctor.followed import is_followed, marked
from graphdoctor.followed import packages as followed_packages
from graphdoctor.given import given
from graphdoctor.interrupt import Interrupts
from graphdoctor.model import Diagnosis, Finding
from graphdoctor.options import ScanOptions, UsageError, settings_for
from graphdoctor.permission import refusal
from graphdoctor.ruleset import LazyRuleSet, check_codes, torch_for
from graphdoctor.selection import kept, nothing_checked, unused_comments
from graphdoctor.source.discover import Discovery, shown
from graphdoctor.source.files import decode, text_of
from graphdoctor.sources import Sources, lines_of, read_texts, with_snippet
from graphdoctor.static_pass import Work, static_pass
from graphdoctor.torch_version import torch_available

if TYPE_CHECKING:
    from graphdoctor.advise.model import Advice
    from graphdoctor.baseline import Foresee
    from graphdoctor.config import Config
    from graphdoctor.dynamic import runner
    from graphdoctor.fixes.verify import Verified
    from graphdoctor.model import ScannedFile
    from graphdoctor.run_model import DynamicRun
    from graphdoctor.static.result import PathOf

__all__ = ["ScanOptions", "UsageError", "diff", "fixed", "scan", "third_party_patch"]

Progress = Callable[[str], None]

#: Which of the fixes that could be written shall be.
Choose = Callable[[Sequence[Finding]], Sequence[Finding]]


def scan(
    options: ScanOptions,
    progress: Progress = lambda _text: None,
    choose: Choose | None = None,
    interrupts: Interrupts | None = None,
) -> Diagnosis:
    """Analyse, run where a sample is declared, join, verify the fixes. Writes nothing unless ``options.fix``.

    ``choose`` gets the findings whose fixes would be written, and gives those that are. Where ``interrupts`` listens,
    Ctrl-C ends what is under way; the diagnosis has what is known by then, and nothing is written.

    Raises UsageError. Whatever the scanned code does, the static findings are complete.
    """
    with contextlib.ExitStack() as at_the_end:
        return _scan(options, progress, choose, interrupts or Interrupts(), at_the_end)


def _scan(
    options: ScanOptions,
    progress: Progress,
    choose: Choose | None,
    interrupts: Interrupts,
    at_the_end: contextlib.ExitStack,
) -> Diagnosis:
    # What only some scans do is imported where they do it: a scan of recalled files takes no longer than its imports.
    base = None
    if options.baseline is not None or options.diff_base is not None:
        from graphdoctor.baseline import opened

        base = opened(options)
    settings = settings_for(options)
    check_codes(settings)
    rules = LazyRuleSet(settings)
    followed = followed_packages(options, settings)
    what = given(options, settings)
    discovery = what.discovery
    timings: dict[str, float] = {}
    interrupts.hold()
    # Loading the rules takes longer than recalling what they said; those of the project may have something to say.
    notes = list(rules.loaded.problems if settings.rules else refusal(settings))
    server: runner.Server | None = None
    if is_run(options, discovery):
        from graphdoctor.dynamic import runner

        server = at_the_end.enter_context(runner.Server())
        # The worker imports torch while the files are read. Where it cannot be started, the run says so.
        with contextlib.suppress(OSError):
            server.start()

    started = time.monotonic()
    progress(f"reading {len(discovery.files)} {'file' if len(discovery.files) == 1 else 'files'}")
    helper = _helper(discovery, followed, options.only_given)
    work = Work(discovery.files, helper, options.target, what.unsaved, followed)
    counted = len(discovery.files)
    static = static_pass(
        work,
        lambda: rules.loaded.active,
        _cache(options, settings),
        options.jobs,
        lambda done: progress(f"reading {counted} files: {done}") if counted > 1 else None,
        interrupts,
    )
    sources = read_texts((*discovery.files, *((file, path) for path, file in static.helpers.items())), what.unsaved)
    timings["static"] = time.monotonic() - started

    request, reason = run_request(options, settings, discovery, static)
    if interrupts.requested:
        request, reason = None, "interrupted while the files were read: nothing was run"
    if reason:
        notes.append(reason)
    notes.extend(nothing_checked(static, settings, rules, discovery.root))
    runs: tuple[DynamicRun, ...] | None = None
    environment: Mapping[str, str | None] = {"python": platform.python_version(), "torch": torch_available()}
    verified: Verified | None = None
    findings = marked(static.findings, static.helpers, followed, options.fail_third_party, options.third_party_fixes)
    if request is not None:
        import tempfile

        from graphdoctor.dynamic import runner

        started = time.monotonic()
        folder = at_the_end.enter_context(
            tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True)
        )
        request = replace(request, reference=Path(folder))
        result = interrupts.attempt(partial(result_of, request, progress, server))
        if result is None:
            request = None
            notes.append("interrupted while the code was run: what a run would add is missing")
        else:
            runs, environment = result.runs, {**environment, **result.environment}
        timings["dynamic"] = time.monotonic() - started
    if options.third_party_fixes:
        from graphdoctor.third_party import at_breaks

        installed = at_breaks(runs or (), rules.loaded.active, discovery.root, findings)
        findings = (*findings, *installed.findings)
        sources = sources.extended(read_texts([(file, path) for path, file in installed.files.items()], what.unsaved))
    if runs:
        from graphdoctor.diagnosis.join import join, of_fullgraph, rule_texts
        from graphdoctor.static import catalog

        findings = join(findings, runs, rule_texts(catalog.rules()), of_fullgraph(rules.loaded.rules))
    if options.third_party_fixes:
        from graphdoctor.third_party import confirmed

        findings = confirmed(findings, runs or ())
    _check_target(options, runs or ())
    if static.judged:
        unused = unused_comments(findings, rules, settings, static, sources.texts, discovery.root, runs)
        findings = (*findings, *unused)
    findings = kept(findings, settings, sources.texts, discovery.root, options.possible)
    findings = with_fingerprints(findings, lines_of(findings, sources))
    if request is not None and runs is not None and options.verify:
        from graphdoctor.fixes.verify import verify

        started = time.monotonic()
        if all(run.outcome == "ok" for run in runs):
            try:
                copies = Copies(request, sources.files, progress, server)
                prove = partial(verify, findings, sources.texts, runs, copies)
                verified = interrupts.attempt(partial(prove, each=options.each_fix, seconds=request.timeout))
                if verified is None:
                    notes.append("fixes not verified: interrupted")
            except runner.NotStarted as error:
                notes.append(f"fixes not verified: {error}")
        else:
            notes.append("fixes not verified: the original code did not run to its end")
        timings["verify"] = time.monotonic() - started
    advice: Advice | None = None
    if options.advise and request is not None:
        from graphdoctor.advise.section import section

        started = time.monotonic()
        given_up = (None, "no advice on where to compile: interrupted")
        advice, reason = interrupts.attempt(partial(section, request, runs or (), progress)) or given_up
        notes.extend([reason] if reason else [])
        timings["advise"] = time.monotonic() - started
    if verified is not None:
        findings = verified.findings
    fixes = 0
    if options.fix and interrupts.requested:
        notes.append("fixed: nothing; interrupted")
    elif options.fix:
        if choose is not None:
            choose = _interruptible(choose, interrupts)
        from graphdoctor.fixes.write_chosen import writable, write_chosen

        places = writable(options.paths, [file for file, _ in discovery.files])
        findings, written = write_chosen(findings, sources, places, options.unsafe_fixes, choose)
        fixes = sum(f.fix is not None and f.fix.written for f in findings)
        notes.extend(written)
    findings = rank(with_snippet(f, sources) for f in findings)
    findings = with_allowed(findings, settings.allow, discovery.root, date.today())
    notes.extend(expired(settings.allow, date.today()))
    diagnosis = Diagnosis(
        tool_version=graphdoctor.__version__,
        environment=environment,
        command=options.command,
        summary=replace(summarise(static.files, findings, runs), fixed=fixes),
        files=static.files,
        findings=findings,
        dynamic=runs,
        verification=verified.verification if verified is not None else None,
        notes=tuple(notes),
        timings=timings,
        advice=advice,
        root=str(discovery.root),
    )
    if base is None:
        return diagnosis
    from graphdoctor.baseline import compared

    exclude = (*settings.exclude, *settings.extend_exclude)
    foresee = _foresee(options, settings, rules, followed, discovery.root)
    read_paths = frozenset(sources.files)
    comparison = interrupts.attempt(partial(compared, diagnosis, base, options, exclude, read_paths, foresee))
    if comparison is None:
        return replace(diagnosis, notes=(*diagnosis.notes, "not compared with the base: interrupted"))
    return comparison


def _interruptible(choose: Choose, interrupts: Interrupts) -> Choose:
    """``choose``, which waits for an answer; where Ctrl-C is one, nothing is chosen."""
    return lambda findings: interrupts.attempt(lambda: choose(findings)) or ()


def _cache(options: ScanOptions, settings: Config) -> Cache | None:
    if options.cache is None:
        return None
    own = (stamp for folder in settings.rules if folder.is_dir() for stamp in (str(folder), *stamps(folder)))
    return Cache(options.cache, (options.target or "", torch_for(settings), *own))


def diff(diagnosis: Diagnosis, unsafe: bool, stdin: bytes | None = None) -> str:
    """The unified diff of the suggested fixes against the files on disk; ``unsafe`` admits unsafe ones.

    ``stdin`` is what the one scanned file holds where it is not on disk. Fixes that verification showed not to work are
    left out.
    """
    from graphdoctor.fixes.diff import unified

    texts = {diagnosis.files[0].path: decode(stdin)[0]} if stdin is not None else {}
    before, after = _before_and_after(diagnosis, unsafe, texts)
    return "".join(unified(path, before[path], after[path]) for path in before)


def fixed(diagnosis: Diagnosis, unsafe: bool, stdin: bytes) -> bytes:
    """``stdin``, what the one scanned file holds, with the suggested fixes; ``unsafe`` admits unsafe ones."""
    text, encoding = decode(stdin)
    path = diagnosis.files[0].path
    return _before_and_after(diagnosis, unsafe, {path: text})[1].get(path, text).encode(encoding)


def third_party_patch(diagnosis: Diagnosis, unsafe: bool) -> str:
    """The fixes of installed packages as a patch, see graphdoctor.third_party; ``unsafe`` admits unsafe ones."""
    from graphdoctor.third_party import patch

    return patch(diagnosis.findings, Path(diagnosis.root), unsafe)


def _before_and_after(
    diagnosis: Diagnosis, unsafe: bool, texts: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the files that the fixes change, by shown path: of ``texts`` alone where there are any."""
    from graphdoctor.fixes.apply import fixed_texts, select_fixes

    chosen, _ = select_fixes((f for f in diagnosis.findings if not texts or f.location.path in texts), unsafe)
    paths = sorted({f.location.path for f in chosen})
    before = {path: texts[path] if texts else text_of(Path(diagnosis.root) / path) for path in paths}
    return before, fixed_texts(before, chosen)


def _check_target(options: ScanOptions, runs: Sequence[DynamicRun]) -> None:
    """Raises UsageError where a target that the user named could not be made."""
    if options.target is not None and runs and all(run.outcome == "no-target" for run in runs):
        raise UsageError(runs[0].detail)


def _foresee(
    options: ScanOptions, settings: Config, rules: LazyRuleSet, followed: Mapping[str, Path], root: Path
) -> Foresee:
    """The static pass as this scan makes it, for files that stand elsewhere than their paths say."""

    def foresee(files: Sequence[tuple[Path, str]], path_of: PathOf) -> tuple[Sequence[ScannedFile], Sequence[Finding]]:
        def helper(file: Path) -> str | None:
            return shown(file, root) if is_followed(file, followed) else path_of(file)

        work = Work(files, helper, options.target, {}, followed)
        static = static_pass(work, lambda: rules.loaded.active, jobs=options.jobs)
        read_files = read_texts((*files, *((file, path) for path, file in static.helpers.items())), {})
        sources = Sources(read_files.texts, {path: root / path for path in read_files.files})
        findings = marked(static.findings, static.helpers, followed, options.fail_third_party)
        if static.judged:
            unused = unused_comments(findings, rules, settings, static, sources.texts, root, None)
            findings = (*findings, *unused)
        findings = kept(findings, settings, sources.texts, root, possible=True)
        return static.files, with_fingerprints(findings, lines_of(findings, sources))

    return foresee


def _helper(discovery: Discovery, followed: Mapping[str, Path], only_given: bool) -> PathOf:
    """A file given alone is reported with the files of its own project that it calls; of several, only they are.

    ``only_given`` reports of one file too only itself. What is followed on request is always reported.
    """

    def path_of(file: Path) -> str | None:
        if is_followed(file, followed):
            return shown(file, discovery.root)
        own = len(discovery.files) == 1 and not only_given and not {"site-packages", "dist-packages"} & set(file.parts)
        return shown(file, discovery.root) if own else None

    return path_of
