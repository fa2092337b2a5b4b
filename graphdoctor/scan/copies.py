"""Copies of the scanned code, run on the same inputs and compared with the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.dynamic.parent import runner
    from graphdoctor.model.findings import Known
    from graphdoctor.model.runs import DynamicRun, Varied


class Copies:
    """Runs copies of the code on the same inputs, compared with the eager outputs that ``request`` saved.

    ``files`` has the files on disk of the shown paths. See ``graphdoctor.fixes.verification.trials.Copies``.
    """

    def __init__(
        self,
        request: runner.RunRequest,
        files: Mapping[str, Path],
        progress: runner.Progress,
        server: runner.Server | None,
    ) -> None:
        traced = tuple(str(file.resolve()) for file in files.values())
        self._request = replace(request, compare=True, watch=(), traced=traced, recompiles=False, deeper=False)
        self._files = files
        self._progress = progress
        self._server = server
        #: Whether random numbers depend on their draw alone, from ``record`` on.
        self._alone = False

    def run(
        self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
    ) -> Sequence[DynamicRun]:
        """By default, with fullgraph=True, and compared with the original; in one mode, or in those of the request.

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
            # A variation that ends the process ends the run of the modes after it too.
            if mode not in found:
                wanted = self._request.mode if not found else mode
                found |= {varied.mode: varied for varied in self._run(replace(request, mode=wanted)).varied}
        return [
            replace(varied, seen=tuple((shown[path], line, column, truth) for path, line, column, truth in varied.seen))
            for varied in found.values()
        ]

    def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
        """Run on varied inputs, one ``Varied`` for each mode that finished."""
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
