"""Whether and how the scanned code is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphdoctor import config
from graphdoctor.dynamic import runner
from graphdoctor.fixes.verify import Rerun
from graphdoctor.model import DynamicRun, ScannedFile
from graphdoctor.options import ScanOptions, UsageError
from graphdoctor.source.discover import Discovery
from graphdoctor.source.module import text_of
from graphdoctor.static.engine import StaticResult


def run_request(
    options: ScanOptions, settings: config.Config, discovery: Discovery, static: StaticResult
) -> tuple[runner.RunRequest | None, str]:
    """What to run, or None with the note that says why nothing is. Raises UsageError where a run was asked for."""
    if options.run is False:
        return None, "not run: --no-run was given"
    problem = _run_problem(options, discovery, static.files)
    if problem:
        if options.run or options.target is not None or options.inputs:
            raise UsageError(f"cannot run: {problem}")
        return None, f"not run: {problem}"
    file, _ = discovery.files[0]
    request = runner.RunRequest(
        file=file,
        root=discovery.root,
        target=options.target,
        inputs=options.inputs,
        device=options.device,
        mode=settings.mode,
        timeout=settings.timeout,
        watch=(str(file), *map(str, static.helpers.values())),
    )
    return request, ""


def _run_problem(options: ScanOptions, discovery: Discovery, files: Sequence[ScannedFile]) -> str:
    """Why the files cannot be run, and what to do about it; empty when they can."""
    if len(options.paths) != 1 or not Path(options.paths[0]).is_file():
        return "only a file that is given alone is run; scan one file that declares graphdoctor_target()"
    if files[0].status == "failed":
        return f"{files[0].path} {files[0].reason}"
    file, path = discovery.files[0]
    if options.target is None and not options.inputs and runner.declares_sample(text_of(file)) is None:
        return f"{path} declares no sample input; add graphdoctor_target(), or give --target or --input"
    if runner.torch_available() is None:
        return "torch is not installed; install graphdoctor[torch] to run the model"
    return ""


def rerunner(request: runner.RunRequest, files: Mapping[str, Path], progress: runner.Progress) -> Rerun:
    """Runs copies of the code: on the same inputs, compared with the eager outputs that ``request`` saved.

    ``files`` says where the shown paths are on disk.
    """

    def rerun(texts: Mapping[str, str]) -> Sequence[DynamicRun]:
        progress("verifying fixes")
        overlay = {str(files[path].resolve()): text for path, text in texts.items()}
        return runner.run(replace(request, overlay=overlay, compare=True, watch=(), explain=False), progress).runs

    return rerun
