"""What a worker does with a request: the target built and run in each mode.

All imports come before the user's code, which may change what they need, and before ``sys.path`` has its folder: a
neighbour of the user's file called random.py must not break torch.
"""

from __future__ import annotations

import gc
import os
import platform
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from graphdoctor.breaks.locations import Places, own_folders
from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.parent.channel import Channel
from graphdoctor.dynamic.parent.input_specs import InputSpecError
from graphdoctor.dynamic.parent.protocol import RunRequest, dump_run
from graphdoctor.dynamic.parent.vary_specs import parse_variations
from graphdoctor.dynamic.recompiles import sweep
from graphdoctor.dynamic.tracing.backend import CountingBackend, replace_inductor
from graphdoctor.dynamic.tracing.branch_coverage import record_tests
from graphdoctor.dynamic.tracing.private_torch import (
    config_copy,
    keep_random_state_of_checkpoints,
    skip_guard_timing,
)
from graphdoctor.dynamic.user_code import devices, load
from graphdoctor.dynamic.user_code.missing_modules import also_missing
from graphdoctor.dynamic.user_code.target import Mode, NoTarget, Target, find, seed
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.dynamic.worker import threads
from graphdoctor.dynamic.worker.budget import Budget
from graphdoctor.dynamic.worker.draws import draw_each_alone
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.dynamic.worker.inputs import described
from graphdoctor.dynamic.worker.modes import modes_of
from graphdoctor.dynamic.worker.optional_checks import Deeper
from graphdoctor.dynamic.worker.out_of_memory import SHRINK
from graphdoctor.dynamic.worker.varied_calls import varied
from graphdoctor.model.runs import DynamicRun, Varied

#: Eager runs that a second mode is worth in time: one of them, and two backwards of twice its length.
_TRAIN_EAGER = 5


def execute(request: RunRequest, channel: Channel, budget: Budget) -> None:
    """Build the target of ``request`` and run it in each mode."""
    places = _places(request)
    try:
        device = devices.device(request.device)
    except NoTarget as error:
        channel.send("failed", outcome="no-target", detail=str(error))
        return
    backend = CountingBackend()
    replace_inductor(backend)
    skip_guard_timing()
    keep_random_state_of_checkpoints()
    sys.argv = [str(request.file)]
    load.install_overlay(request.overlay)
    seen = record_tests(request.tests)
    if request.alone:
        draw_each_alone()
    built = _build(request, places, device, channel)
    if built is None:
        return
    target, modes = built

    # Compiling makes many objects, and the collector would look at all of the model and its libraries again and again.
    gc.collect()
    gc.freeze()

    def send_varied(varied: Varied) -> None:
        channel.send("varied", varied=asdict(varied))

    if request.varied:
        for mode in modes:
            seen.clear()
            experiment = Experiment(target, mode, request, places, backend, budget)
            send_varied(varied(experiment, seen, send_varied, channel.progress))
        return
    _run([Experiment(target, mode, request, places, backend, budget) for mode in modes], request, channel)


def _build(
    request: RunRequest, places: Places, device: torch.device, channel: Channel
) -> tuple[Target, Sequence[Mode]] | None:
    """The target of ``request`` and its modes. Where it cannot be built, the reason is sent, and this is None."""
    settings = config_copy()
    stage = "at import"
    try:
        channel.progress(f"{stages.IMPORT} {request.file.name}")
        seed()
        module = load.load_text(request.sample, request.file) if request.sample else load.load(request.file)
        channel.send("environment", environment=_environment(device, settings))
        stage = "while the target was built"
        channel.progress(stages.BUILD)
        target = find(module, request.target, request.inputs, device, request.shrink)
        sweep.check(target, parse_variations(request.vary))
        sample = target.sample("eval")
        target = replace(target, inputs=described(sample, request.sample_of, request.file.name))
        return target, [r.mode for r in request.runs if r.mode != "unknown"] or modes_of(request, sample.module)
    except (NoTarget, InputSpecError) as error:
        channel.send("failed", outcome="no-target", detail=str(error))
    except BaseException as error:
        # The user's code may raise anything, also SystemExit.
        fault = fault_of(error, places, stage, also_missing(error, request.file))
        more = f"; {SHRINK}" if fault.memory and request.shrink is None else ""
        raised_at = fault.raised_at and asdict(fault.raised_at)
        channel.send("failed", outcome=fault.outcome, detail=f"{fault.detail}{more}", raised_at=raised_at)
    return None


def _run(experiments: Sequence[Experiment], request: RunRequest, channel: Channel) -> None:
    """The verdict in all modes, then what comes after it."""

    def update(run: DynamicRun, complete: bool = True) -> None:
        channel.send("run", run=dump_run(run), complete=complete)

    known = {run.mode: run for run in request.runs}
    for number, experiment in enumerate(experiments if request.part != "rest" else ()):
        budget, blank = experiment.budget, experiment.blank()
        needed = budget.estimate(eager=_TRAIN_EAGER, compiles=2) if number else 0.0
        if why := budget.refusal(needed):
            known[blank.mode] = replace(blank, outcome="timeout", detail=f"not begun: {why}")
        else:
            update(blank, complete=False)
            known[blank.mode] = experiment.run(update, channel.progress)
        update(known[blank.mode])
    if request.compare or request.only_fullgraph:
        return
    for experiment in experiments if request.export and request.part != "rest" else ():
        if experiment.is_main and experiment.mode in known:
            known[experiment.mode] = Deeper(experiment, update, channel.progress).exported(known[experiment.mode])
    if request.part == "verdict" or not request.deeper:
        # Fixes may be verified next.
        last = experiments[-1]
        if request.reference is not None and known[last.mode].outcome == "ok":
            threads.choose(last, request.reference)
    if request.part == "verdict":
        return
    for experiment in experiments:
        if experiment.mode in known:
            update(Deeper(experiment, update, channel.progress).run(known[experiment.mode]))


def _places(request: RunRequest) -> Places:
    return Places(
        root=str(request.root),
        own=own_folders(request.file, request.root),
        torch=str(Path(torch.__file__).parent),
        library=tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}),
    )


def _environment(device: torch.device, before: dict[str, Any]) -> dict[str, str | None]:
    after = config_copy()
    flips = sorted(f"{name}={after[name]!r}" for name in after if name in before and after[name] != before[name])
    flips += sorted(
        f"{name}={value}" for name, value in os.environ.items() if name.startswith(("TORCHDYNAMO_", "TORCH_COMPILE_"))
    )
    transformers = sys.modules.get("transformers")
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "transformers": getattr(transformers, "__version__", None),
        "config": ", ".join(flips) or None,
    }
