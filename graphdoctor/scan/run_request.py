"""Whether and how the scanned code is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.dynamic.parent.sample import declares_sample
from graphdoctor.scan.options import STDIN, UsageError
from graphdoctor.source.files import text_of
from graphdoctor.target_torch.installed import torch_available

if TYPE_CHECKING:
    from graphdoctor.config import project
    from graphdoctor.dynamic.parent import runner
    from graphdoctor.lint.result import StaticResult
    from graphdoctor.model.findings import Known, ScannedFile
    from graphdoctor.model.runs import DynamicRun, Varied
    from graphdoctor.scan.options import ScanOptions
    from graphdoctor.source.discover import Discovery


def is_run(options: ScanOptions, discovery: Discovery) -> bool:
    """Whether a run is to be expected, as far as that is known before the static pass."""
    return options.run is not False and not _run_problem(options, discovery, ())


def run_request(
    options: ScanOptions, settings: project.Config, discovery: Discovery, static: StaticResult
) -> tuple[runner.RunRequest | None, str]:
    """What to run, or None with the note that says why nothing is. Raises UsageError where a run was asked for."""
    if options.run is False:
        return None, "not run: --no-run was given"
    problem = _run_problem(options, discovery, static.files)
    if problem:
        if options.run or options.target is not None or options.inputs or options.vary:
            raise UsageError(f"cannot run: {problem}")
        return None, f"not run: {problem}"
    from graphdoctor.dynamic.parent.protocol import RunRequest

    file, _ = discovery.files[0]
    request = RunRequest(
        file=file,
        root=discovery.root,
        target=options.target,
        inputs=options.inputs,
        vary=options.vary,
        readiness=options.readiness or options.deep or None,
        ladder=options.ladder or options.deep or options.repro is not None or None,
        deep=options.deep,
        repro=options.repro is not None,
        optimizer=options.optimizer,
        compiled_autograd=options.compiled_autograd,
        device=options.device,
        mode=settings.mode,
        timeout=settings.timeout,
        watch=(str(file), *map(str, static.helpers.values())),
    )
    return request, ""


def _run_problem(options: ScanOptions, discovery: Discovery, files: Sequence[ScannedFile]) -> str:
    """Why the files cannot be run, and what to do about it; empty when they can. ``files`` once they are read."""
    if options.paths[0] == STDIN:
        return "what comes on the standard input is only read; scan the file to run it"
    if len(options.paths) != 1 or not Path(options.paths[0]).is_file():
        return "only a file that is given alone is run; scan one file that declares graphdoctor_target()"
    if files and files[0].status == "failed":
        return f"{files[0].path} {files[0].reason}"
    file, path = discovery.files[0]
    if options.target is None and not options.inputs and declares_sample(text_of(file)) is None:
        return f"{path} declares no sample input; add graphdoctor_target(), or give --target or --input"
    if torch_available() is None:
        return "torch is not installed; install graphdoctor[torch] to run the model"
    return ""


def problem_of_run(options: ScanOptions, discovery: Discovery, texts: Mapping[Path, str]) -> str:
    """Why the file cannot be run, and what to do about it; empty when it can. ``texts`` stand for files on disk."""
    text = texts.get(discovery.files[0][0].resolve())
    if text is not None and declares_sample(text) is not None and torch_available() is not None:
        return ""
    return _run_problem(options, discovery, ())


def result_of(request: runner.RunRequest, progress: runner.Progress, server: runner.Server | None) -> runner.RunResult:
    """What the run gives; where its process does not start, a run that failed."""
    from graphdoctor.dynamic.parent import runner

    try:
        return runner.run(request, progress, server)
    except runner.NotStarted as error:
        return error.result


def completed(
    request: runner.RunRequest, runs: Sequence[DynamicRun], progress: runner.Progress, server: runner.Server | None
) -> tuple[DynamicRun, ...]:
    """``runs``, whose verdict is known, with what comes behind it; what fails there only leaves something out."""
    from graphdoctor.dynamic.parent import runner

    known = tuple(runs)
    try:
        return runner.run(replace(request, part="rest", runs=known), progress, server).runs
    except runner.NotStarted as error:
        return (
            *known[:-1],
            replace(known[-1], left_out=(*known[-1].left_out, f"nothing was done behind the verdict: {error}")),
        )


class Copies:
    """Runs copies of the code on the same inputs, compared with the eager outputs that ``request`` saved.

    ``files`` says where the shown paths are on disk. See ``graphdoctor.fixes.verification.trials.Copies``.
    """

    def __init__(
        self,
        request: runner.RunRequest,
        files: Mapping[str, Path],
        progress: runner.Progress,
        server: runner.Server | None,
    ) -> None:
        self._request = replace(request, compare=True, watch=(), recompiles=False, deeper=False)
        self._files = files
        self._progress = progress
        self._server = server
        #: Whether random numbers depend on their draw alone, from ``record`` on.
        self._alone = False

    def run(
        self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
    ) -> Sequence[DynamicRun]:
        """By default, with fullgraph=True, and compared with the original; in one mode, or as was asked for.

        Where differences are ``known``, compiled and eager results of the same code are compared.
        """
        request = replace(self._request, overlay=self._overlay(texts), mode=mode or self._request.mode)
        return self._run(replace(request, known=tuple(known))).runs

    def fullgraph(self, texts: Mapping[str, str], mode: str | None = None) -> bool | None:
        """Whether fullgraph=True passes in one mode or all; None when that could not be tried."""
        request = replace(self._request, overlay=self._overlay(texts), mode=mode or self._request.mode)
        runs = self._run(replace(request, only_fullgraph=True)).runs
        passes = [run.fullgraph.passes if run.outcome == "ok" else None for run in runs]
        return False if False in passes else None if None in passes else True

    def record(
        self, lines: Mapping[str, Sequence[int]], modes: Sequence[str], known: Sequence[Known] = ()
    ) -> Sequence[Varied]:
        """Run the original on varied inputs in each of ``modes``, and see the outcomes of the tests in ``lines``."""
        self._alone = "early" in known
        tests = {str(self._files[path].resolve()): tuple(numbers) for path, numbers in lines.items()}
        shown = {str(self._files[path].resolve()): path for path in lines}
        request = replace(self._request, varied=True, compare=False, tests=tests)
        found: dict[str, Varied] = {}
        for mode in modes:
            # A variation that ends the process ends the run of the modes behind it too.
            if mode not in found:
                wanted = self._request.mode if not found else mode
                found |= {varied.mode: varied for varied in self._run(replace(request, mode=wanted)).varied}
        return [
            replace(varied, seen=tuple((shown[path], line, column, truth) for path, line, column, truth in varied.seen))
            for varied in found.values()
        ]

    def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
        """Run on varied inputs, one ``Varied`` for each mode that came to its end."""
        request = replace(self._request, overlay=self._overlay(texts), varied=True)
        return self._run(replace(request, known=tuple(known))).varied

    def repeat(self) -> Sequence[Varied]:
        """Run the original once more: what differs from its first run is not compared from now on."""
        return self._run(replace(self._request, varied=True, repeat=True)).varied

    def _overlay(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {str(self._files[path].resolve()): text for path, text in texts.items()}

    def _run(self, request: runner.RunRequest) -> runner.RunResult:
        from graphdoctor.dynamic.parent import runner, stages

        self._progress(stages.VERIFY)
        return runner.run(replace(request, alone=request.varied and self._alone), self._progress, self._server)
