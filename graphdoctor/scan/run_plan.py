"""Whether and how the scanned code is run, as far as that is known before a file is read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdoctor.dynamic.parent.requirements import cannot_run
from graphdoctor.dynamic.parent.sample import declares_sample, misnamed
from graphdoctor.scan.options import ScanOptions, UsageError
from graphdoctor.source.files import is_notebook
from graphdoctor.source.last_model import last_model

if TYPE_CHECKING:
    from graphdoctor.config.project import Config
    from graphdoctor.dynamic.parent.protocol import RunRequest
    from graphdoctor.lint.result import StaticResult
    from graphdoctor.model.findings import Finding
    from graphdoctor.scan.inputs import Inputs


@dataclass(frozen=True)
class RunPlan:
    """What is run. Where ``request`` is None, nothing is run for the reason ``problem``.

    ``one_file``: the only input is one file on disk, so where it cannot be read, nothing is run. ``required``: a scan
    that cannot run the code fails. ``only_verdict``: nothing is done after the verdict. ``advise``: further runs count
    where to put ``torch.compile``.
    """

    request: RunRequest | None
    problem: str
    mode: str
    one_file: bool = False
    required: bool = False
    only_verdict: bool = False
    advise: bool = False


def run_plan(options: ScanOptions, settings: Config, inputs: Inputs) -> RunPlan:
    """The plan of the run for ``options``."""
    if options.run is False:
        return RunPlan(None, "", settings.mode)
    problem = _problem(options, inputs)
    return RunPlan(
        request=None if problem else _request(options, settings, inputs),
        problem=problem,
        mode=settings.mode,
        one_file=_is_one_file(inputs),
        required=bool(
            options.run
            or options.target is not None
            or options.inputs
            or options.vary
            or options.sample
            or options.shrink
        ),
        only_verdict=options.quick or not options.behind_verdict,
        advise=options.advise,
    )


#: What compiles, also by an argument of a trainer. It stands in programs, and in few modules that are only imported.
_COMPILES = ("torch.compile(", "torch_compile=", "dynamo_backend=")
#: What else stands in programs.
_PROGRAM = ("__main__", ".backward(", "trainer.fit(", *_COMPILES)


def _is_one_file(inputs: Inputs) -> bool:
    return inputs.stdin is None and len(inputs.paths) == 1 and os.path.isfile(inputs.paths[0])


def _problem(options: ScanOptions, inputs: Inputs) -> str:
    """Why the files cannot be run, and what to do about it; empty when they can."""
    if inputs.stdin is not None:
        return "what comes on the standard input is only read; scan the file to run it"
    if not _is_one_file(inputs):
        return "only a file that is given alone is run; scan one file that declares graphdoctor_target()"
    file, path = inputs.discovery.files[0]
    if not (options.target or options.inputs or options.sample) and declares_sample(inputs.text(file)) is None:
        program = not is_notebook(path) and any(word in inputs.text(file) for word in _PROGRAM)
        compiles = any(word in inputs.text(file) for word in _COMPILES)
        run = f"graphdoctor run {'' if compiles else '--compile auto '}{shlex.quote(path)}"
        other = f"; a program runs as it is: {run}" if program else ""
        name = misnamed(inputs.text(file))
        declare = f"rename {name}() to graphdoctor_target()" if name else "add graphdoctor_target()"
        how = "give --target or --input" if other or name else _how_to_name(path, inputs.text(file))
        return f"{path} declares no sample input; {declare}, or {how}{other}"
    return cannot_run()


def _how_to_name(path: str, text: str) -> str:
    """How to run a class of the file from the command line, with the names of what the user has to give."""
    found = last_model(text)
    if found is None or not found[1]:
        return "give --target or --input"
    call, arguments = found
    given = [shlex.quote(f"{name.partition('=')[0]}=float32[8,3]") for name in arguments]
    command = " --input ".join((f"graphdoctor scan {shlex.quote(f'{path}:{call}')}", *given))
    return f"say what to run, with values of yours: {command}"


def run_request(plan: RunPlan, static: StaticResult) -> tuple[RunRequest | None, str]:
    """What to run of the files that were read, or None and a note with the reason.

    Raises UsageError where a run is required.
    """
    problem = plan.problem
    if plan.one_file and static.files[0].status == "failed":
        problem = f"{static.files[0].path} could not be read"
        if plan.required:
            problem += f": {static.files[0].reason}"
    if problem and plan.required:
        raise UsageError(f"cannot run: {problem}")
    if problem or plan.request is None:
        # With --no-run no note is needed: the headline says static analysis.
        return None, f"not run: {problem}" if problem else ""
    watch = (*plan.request.watch, *map(str, static.helpers.values()))
    return replace(plan.request, watch=watch, predicted=_predicted(static.findings)), ""


def _predicted(findings: Sequence[Finding]) -> Mapping[str, tuple[int, ...]]:
    """The lines where a graph break is predicted, by the path that findings show."""
    lines: dict[str, tuple[int, ...]] = {}
    for finding in findings:
        if finding.gb_ids:
            place = finding.location
            lines[place.path] = (*lines.get(place.path, ()), *range(place.line, place.end_line + 1))
    return lines


def _request(options: ScanOptions, settings: Config, inputs: Inputs) -> RunRequest:
    from graphdoctor.dynamic.parent.protocol import RunRequest

    file, _ = inputs.discovery.files[0]
    return RunRequest(
        file=file,
        root=inputs.root,
        target=options.target,
        sample=options.sample,
        sample_of=options.sample_of,
        inputs=options.inputs,
        vary=options.vary,
        readiness=options.readiness or options.deep or None,
        ladder=options.ladder or options.deep or (options.repro is not None and not options.audit) or None,
        audit=options.audit or options.deep,
        export=options.export,
        deep=options.deep,
        repro=options.repro is not None,
        optimizer=options.optimizer,
        compiled_autograd=options.compiled_autograd,
        device=options.device,
        shrink=options.shrink,
        mode=settings.mode,
        timeout=settings.timeout,
        watch=(str(file),),
    )
