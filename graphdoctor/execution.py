"""Whether and how the scanned code is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.dynamic.sample import declares_sample
from graphdoctor.options import STDIN, UsageError
from graphdoctor.source.files import text_of
from graphdoctor.torch_version import torch_available

if TYPE_CHECKING:
    from graphdoctor import config
    from graphdoctor.dynamic import runner
    from graphdoctor.model import ScannedFile
    from graphdoctor.options import ScanOptions
    from graphdoctor.run_model import DynamicRun, Varied
    from graphdoctor.source.discover import Discovery
    from graphdoctor.static.result import StaticResult


def is_run(options: ScanOptions, discovery: Discovery) -> bool:
    """Whether a run is to be expected, as far as that is known before the static pass."""
    return options.run is not False and not _run_problem(options, discovery, ())


def run_request(
    options: ScanOptions, settings: config.Config, discovery: Discovery, static: StaticResult
) -> tuple[runner.RunRequest | None, str]:
    """What to run, or None with the note that says why nothing is. Raises UsageError where a run was asked for."""
    if options.run is False:
        return None, "not run: --no-run was given"
    problem = _run_problem(options, discovery, static.files)
    if problem:
        if options.run or options.target is not None or options.inputs or options.vary:
            raise UsageError(f"cannot run: {problem}")
        return None, f"not run: {problem}"
    from graphdoctor.dynamic.protocol import RunRequest

    file, _ = discovery.files[0]
    request = RunRequest(
        file=file,
        root=discovery.root,
        target=options.target,
        inputs=options.inputs,
        vary=options.vary,
        readiness=options.readiness or None,
        ladder=options.ladder or options.repro is not None or None,
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


def result_of(request: runner.RunRequest, progress: runner.Progress, server: runner.Server | None) -> runner.RunResult:
    """What the run gives; where its process does not start, a run that failed."""
    from graphdoctor.dynamic import runner

    try:
        return runner.run(request, progress, server)
    except runner.NotStarted as error:
        return error.result


class Copies:
    """Runs copies of the code on the same inputs, compared with the eager outputs that ``request`` saved.

    ``files`` says where the shown paths are on disk. See ``graphdoctor.fixes.trials.Copies``.
    """

    def __init__(
        self,
        request: runner.RunRequest,
        files: Mapping[str, Path],
        progress: runner.Progress,
        server: runner.Server | None,
    ) -> None:
        self._request = replace(request, compare=True, watch=(), explain=False, recompiles=False, deeper=False)
        self._files = files
        self._progress = progress
        self._server = server

    def run(self, texts: Mapping[str, str], mode: str | None = None) -> Sequence[DynamicRun]:
        """By default, with fullgraph=True, and compared with the original; in one mode, or as was asked for."""
        return self._run(replace(self._request, overlay=self._overlay(texts), mode=mode or self._request.mode)).runs

    def fullgraph(self, texts: Mapping[str, str], mode: str | None = None) -> bool | None:
        """Whether fullgraph=True passes in one mode or all; None when that could not be tried."""
        request = replace(self._request, overlay=self._overlay(texts), mode=mode or self._request.mode)
        runs = self._run(replace(request, only_fullgraph=True)).runs
        passes = [run.fullgraph.passes if run.outcome == "ok" else None for run in runs]
        return False if False in passes else None if None in passes else True

    def record(self, lines: Mapping[str, Sequence[int]], modes: Sequence[str]) -> Sequence[Varied]:
        """Run the original on varied inputs in each of ``modes``, and see the outcomes of the tests in ``lines``."""
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

    def vary(self, texts: Mapping[str, str]) -> Sequence[Varied]:
        """Run on varied inputs, one ``Varied`` for each mode that came to its end."""
        return self._run(replace(self._request, overlay=self._overlay(texts), varied=True)).varied

    def repeat(self) -> Sequence[Varied]:
        """Run the original once more: what differs from its first run is not compared from now on."""
        return self._run(replace(self._request, varied=True, repeat=True)).varied

    def _overlay(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {str(self._files[path].resolve()): text for path, text in texts.items()}

    def _run(self, request: runner.RunRequest) -> runner.RunResult:
        from graphdoctor.dynamic import runner

        self._progress("verifying fixes")
        return runner.run(request, self._progress, self._server)
