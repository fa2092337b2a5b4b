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
from graphdoctor.config.allow_list import expired, with_allowed
from graphdoctor.config.permission import refusal
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.interrupt import Interrupts
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.scan import notebooks
from graphdoctor.scan.cache import Cache, stamps
from graphdoctor.scan.filtering import kept, nothing_checked, unused_comments
from graphdoctor.scan.followed_packages import is_followed, marked
from graphdoctor.scan.followed_packages import packages as followed_packages
from graphdoctor.scan.inputs import given
from graphdoctor.scan.options import ScanOptions, UsageError, settings_for
from graphdoctor.scan.ruleset import LazyRuleSet, check_codes, torch_for
from graphdoctor.scan.run_request import Copies, completed, is_run, result_of, run_request
from graphdoctor.scan.source_texts import Sources, lines_of, read_texts, with_snippet
from graphdoctor.scan.static_pass import Work, static_pass
from graphdoctor.scan.steps import Steps
from graphdoctor.source.discover import Discovery, shown
from graphdoctor.source.files import decode, is_notebook
from graphdoctor.target_torch.installed import torch_available

if TYPE_CHECKING:
    from graphdoctor.config.project import Config
    from graphdoctor.dynamic.parent import runner
    from graphdoctor.fixes.verification.verify import Verified
    from graphdoctor.lint.result import PathOf
    from graphdoctor.model.advice import Advice
    from graphdoctor.model.findings import ScannedFile
    from graphdoctor.model.runs import DynamicRun
    from graphdoctor.scan.baseline import Predict
    from graphdoctor.source.cells import Cells

__all__ = ["ScanOptions", "UsageError", "diff", "fixed", "scan", "third_party_patch"]

Progress = Callable[[str], None]

#: Gets what the source shows, before the code is run.
Early = Callable[[Sequence[Finding]], None]

#: Which of the fixes that could be written shall be.
Choose = Callable[[Sequence[Finding]], Sequence[Finding]]

#: Runs that were made elsewhere, and the environment they ran in: asked when the files have been read, with the folder
#: that shown paths start from and the files by shown path.
Ran = Callable[[Path, Mapping[str, Path]], "tuple[tuple[DynamicRun, ...], Mapping[str, str | None]]"]


def scan(
    options: ScanOptions,
    progress: Progress = lambda _text: None,
    choose: Choose | None = None,
    interrupts: Interrupts | None = None,
    early: Early = lambda _findings: None,
    ran: Ran | None = None,
) -> Diagnosis:
    """Analyse, run where a sample is declared, join, verify the fixes. Writes nothing unless ``options.fix``.

    ``choose`` gets the findings whose fixes would be written, and gives those that are. Where ``interrupts`` listens,
    Ctrl-C ends what is under way; the diagnosis has what is known by then, and nothing is written. Where the code is
    run, ``early`` gets the findings of the static pass before that. With ``ran`` its runs are joined, and nothing is
    run here.

    Raises UsageError. Whatever the scanned code does, the static findings are complete.
    """
    with contextlib.ExitStack() as at_the_end:
        return _scan(options, progress, choose, interrupts or Interrupts(), early, at_the_end, ran)


def _scan(
    options: ScanOptions,
    progress: Progress,
    choose: Choose | None,
    interrupts: Interrupts,
    early: Early,
    at_the_end: contextlib.ExitStack,
    ran: Ran | None,
) -> Diagnosis:
    # What only some scans do is imported where they do it: a scan of recalled files takes no longer than its imports.
    base = None
    if options.baseline is not None or options.diff_base is not None:
        from graphdoctor.scan.baseline import opened

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
    if ran is None and is_run(options, discovery):
        from graphdoctor.dynamic.parent import runner

        server = at_the_end.enter_context(runner.Server())
        # The worker imports torch while the files are read. Where it cannot be started, the run says so.
        with contextlib.suppress(OSError):
            server.start()

    started = time.monotonic()
    steps = Steps(progress, settings.mode, options.verify and not options.quick, not options.quick)
    # Of a scan that runs nothing this is the only step.
    reading = progress if server is None else steps
    reading(f"reading {len(discovery.files)} {'file' if len(discovery.files) == 1 else 'files'}")
    helper = _helper(discovery, followed, options.only_given)
    work = Work(discovery.files, helper, options.target, what.unsaved, followed)
    counted = len(discovery.files)
    static = static_pass(
        work,
        lambda: rules.loaded.active,
        _cache(options, settings),
        options.jobs,
        lambda done: reading(f"reading {counted} files: {done}") if counted > 1 else None,
        interrupts,
    )
    sources = read_texts((*discovery.files, *((file, path) for path, file in static.helpers.items())), what.unsaved)
    # Before a fix is written, which moves the lines.
    cells = notebooks.cells_of(options, sources)
    timings["static"] = time.monotonic() - started

    request, reason = run_request(options, settings, discovery, static) if ran is None else (None, "")
    if interrupts.requested:
        request, reason = None, "interrupted while the files were read: nothing was run"
    if reason:
        notes.append(reason)
    notes.extend(nothing_checked(static, settings, rules, discovery.root))
    runs: tuple[DynamicRun, ...] | None = None
    environment: Mapping[str, str | None] = {"python": platform.python_version(), "torch": torch_available()}
    verified: Verified | None = None
    findings = marked(static.findings, static.helpers, followed, options.fail_third_party, options.third_party_fixes)
    if ran is not None:
        files = {**{path: file for file, path in discovery.files}, **static.helpers}
        runs, met = ran(discovery.root, files)
        environment = {**environment, **met}
    if request is not None:
        import tempfile

        from graphdoctor.dynamic.parent import runner

        early(rank(kept(findings, settings, sources.texts, discovery.root, options.possible)))
        # What comes behind the verdict waits for the verification of fixes, where there may be any.
        fixable = options.third_party_fixes or any(f.fix is not None for f in findings)
        if options.quick or (options.verify and fixable):
            request = replace(request, part="verdict")
        started = time.monotonic()
        folder = at_the_end.enter_context(
            tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True)
        )
        request = replace(request, reference=Path(folder))
        result = interrupts.attempt(partial(result_of, request, steps.run(request.timeout), server))
        if result is None:
            request = None
            notes.append("interrupted while the code was run: what a run would add is missing")
        else:
            runs, environment = result.runs, {**environment, **result.environment}
        timings["dynamic"] = time.monotonic() - started
    if options.third_party_fixes:
        from graphdoctor.scan.installed_fixes import at_breaks

        installed = at_breaks(runs or (), rules.loaded.active, discovery.root, findings)
        findings = (*findings, *installed.findings)
        sources = sources.extended(read_texts([(file, path) for path, file in installed.files.items()], what.unsaved))
    if runs:
        from graphdoctor.diagnosis.join import join, of_fullgraph, rule_texts
        from graphdoctor.lint import catalog

        findings = join(findings, runs, rule_texts(catalog.rules()), of_fullgraph(rules.loaded.rules))
    if options.third_party_fixes:
        from graphdoctor.scan.installed_fixes import confirmed

        findings = confirmed(findings, runs or ())
    _check_target(options, runs or ())
    if static.judged:
        unused = unused_comments(findings, rules, settings, static, sources.texts, discovery.root, runs)
        findings = (*findings, *unused)
    findings = kept(findings, settings, sources.texts, discovery.root, options.possible)
    findings = with_fingerprints(findings, lines_of(findings, sources))
    if request is not None and runs is not None and options.verify and not options.quick:
        from graphdoctor.fixes.verification.verify import verify

        started = time.monotonic()
        if all(run.outcome == "ok" for run in runs):
            try:
                steps.run(request.timeout)
                copies = Copies(request, sources.files, steps.verifying, server)
                each = options.each_fix or options.deep
                prove = partial(verify, findings, sources.texts, runs, copies, each, request.timeout)
                verified = interrupts.attempt(prove)
                if verified is None and interrupts.requested:
                    notes.append("fixes not verified: interrupted")
            except runner.NotStarted as error:
                notes.append(f"fixes not verified: {error}")
        else:
            notes.append("fixes not verified: the original code did not run to its end")
        timings["verify"] = time.monotonic() - started
    if request is not None and request.part == "verdict" and runs and not options.quick:
        started = time.monotonic()
        # The limit is for one run, which this is the end of.
        seconds = max(request.timeout - timings["dynamic"], request.timeout / 2)
        rest = replace(request, timeout=seconds)
        if any(run.numerics for run in runs):
            complete = interrupts.attempt(partial(completed, rest, runs, steps.run(seconds), server))
            notes.extend(["interrupted behind the verdict: recompiles were not counted"] if complete is None else [])
            runs = complete or runs
        timings["dynamic"] += time.monotonic() - started
    notes.extend(line for run in runs or () for line in run.left_out)
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
        from graphdoctor.scan.written_fixes import writable, write_chosen

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
        texts={f.location.path: sources.texts[f.location.path] for f in findings if f.location.path in sources.texts}
        if runs
        else {},
    )
    if diagnosis.verification is not None and diagnosis.verification.fixes and not fixes:
        diagnosis = replace(diagnosis, patch=diff(diagnosis, unsafe=False))
    if base is None:
        return notebooks.by_cell(diagnosis, cells)
    from graphdoctor.scan.baseline import compared

    exclude = (*settings.exclude, *settings.extend_exclude)
    base_cells: dict[str, Cells] = {}
    predict = _predict(options, settings, rules, followed, discovery.root, base_cells)
    read_paths = frozenset(sources.files)
    comparison = interrupts.attempt(partial(compared, diagnosis, base, options, exclude, read_paths, predict))
    if comparison is None:
        return notebooks.by_cell(
            replace(diagnosis, notes=(*diagnosis.notes, "not compared with the base: interrupted")), cells
        )
    return notebooks.by_cell(comparison, cells, base_cells)


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
    from graphdoctor.fixes.core.diff import unified

    texts = notebooks.texts_of(diagnosis, stdin) if stdin is not None else {}
    before, after = _before_and_after(diagnosis, unsafe, texts)
    return "".join(unified(path, before[path], after[path]) for path in before)


def fixed(diagnosis: Diagnosis, unsafe: bool, stdin: bytes) -> bytes:
    """``stdin``, what the one scanned file holds, with the suggested fixes; ``unsafe`` admits unsafe ones."""
    text, encoding = decode(stdin)
    texts = notebooks.texts_of(diagnosis, stdin)
    after = {**texts, **_before_and_after(diagnosis, unsafe, texts)[1]}
    if not is_notebook(diagnosis.files[0].path):
        return after[diagnosis.files[0].path].encode(encoding)
    from graphdoctor.source.notebook import Notebook

    return Notebook(text).with_cells(after.values()).encode(encoding)


def third_party_patch(diagnosis: Diagnosis, unsafe: bool) -> str:
    """The fixes of installed packages as a patch (``scan.installed_fixes``); ``unsafe`` admits unsafe ones."""
    from graphdoctor.scan.installed_fixes import patch

    return patch(diagnosis.findings, Path(diagnosis.root), unsafe)


def _before_and_after(
    diagnosis: Diagnosis, unsafe: bool, texts: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the files that the fixes change, by shown path: of ``texts`` alone where there are any."""
    from graphdoctor.fixes.core.apply import fixed_texts, select_fixes

    chosen, _ = select_fixes((f for f in diagnosis.findings if not texts or f.location.path in texts), unsafe)
    paths = sorted({f.location.path for f in chosen})
    before = {path: texts[path] if texts else notebooks.text_at(Path(diagnosis.root) / path) for path in paths}
    return before, fixed_texts(before, chosen)


def _check_target(options: ScanOptions, runs: Sequence[DynamicRun]) -> None:
    """Raises UsageError where a target that the user named could not be made."""
    if options.target is not None and runs and all(run.outcome == "no-target" for run in runs):
        raise UsageError(runs[0].detail)


def _predict(
    options: ScanOptions,
    settings: Config,
    rules: LazyRuleSet,
    followed: Mapping[str, Path],
    root: Path,
    cells: dict[str, Cells],
) -> Predict:
    """The static pass as this scan makes it, for files that stand elsewhere than their paths say.

    ``cells`` gets those of their notebooks.
    """

    def predict(files: Sequence[tuple[Path, str]], path_of: PathOf) -> tuple[Sequence[ScannedFile], Sequence[Finding]]:
        def helper(file: Path) -> str | None:
            return shown(file, root) if is_followed(file, followed) else path_of(file)

        work = Work(files, helper, options.target, {}, followed)
        static = static_pass(work, lambda: rules.loaded.active, jobs=options.jobs)
        read_files = read_texts((*files, *((file, path) for path, file in static.helpers.items())), {})
        cells.update(read_files.cells())
        sources = Sources(read_files.texts, {path: root / path for path in read_files.files})
        findings = marked(static.findings, static.helpers, followed, options.fail_third_party)
        if static.judged:
            unused = unused_comments(findings, rules, settings, static, sources.texts, root, None)
            findings = (*findings, *unused)
        findings = kept(findings, settings, sources.texts, root, possible=True)
        return static.files, with_fingerprints(findings, lines_of(findings, sources))

    return predict


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
