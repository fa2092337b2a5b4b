"""The child process: imports torch, then the user's file, runs the target, and writes results to a file descriptor.

Started by ``runner`` as ``main(request_file, descriptor)``. Standard output and error belong to the user's code.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import platform
import socket
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphdoctor.breaks.locations import Places, own_folders
from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.parent.channel import CRASHES, Channel, ending, moved_up
from graphdoctor.dynamic.parent.processes import adopt_orphans, die_with_parent
from graphdoctor.dynamic.parent.protocol import RunRequest, dump_run, load_request
from graphdoctor.dynamic.worker.budget import Budget
from graphdoctor.model.runs import DynamicRun, Varied

if TYPE_CHECKING:
    import torch

    from graphdoctor.dynamic.user_code.target import Mode, Target
    from graphdoctor.dynamic.worker.experiment import Experiment
    from graphdoctor.dynamic.worker.optional_checks import Deeper

#: Eager runs that a second mode is worth in time: one of them, and two backwards of twice its length.
_TRAIN_EAGER = 5


def main(request_file: str, descriptor: int) -> None:
    """Run the request and exit."""
    crashes = Path(request_file).with_name(CRASHES)
    with ending(crashes):
        die_with_parent()
        adopt_orphans()
        faulthandler.enable(moved_up(os.open(crashes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)))
        channel = Channel(descriptor, crashes)
        request = load_request(Path(request_file).read_text(encoding="utf-8"))
        _work(request, channel)
        channel.send("end")


def serve(requests: str, descriptor: int) -> None:
    """Run the requests that come over the socket ``requests``, each in a fork.

    A request is the name of its file, and the descriptor that its results go to.
    """
    die_with_parent()
    adopt_orphans()
    # What is imported stays, and the collector would look at it again and again.
    gc.disable()
    from graphdoctor.dynamic.worker.startup import warm_up

    warm_up()
    gc.enable()
    channel = Channel(descriptor)
    with socket.socket(fileno=int(requests)) as request_socket:
        while True:
            file, descriptors, _, _ = socket.recv_fds(request_socket, 1 << 16, 1)
            if not descriptors:
                return
            pid = os.fork()
            if pid == 0:
                # The user's code must not reach the descriptors about forks and further requests.
                request_socket.close()
                channel.close()
                main(os.fsdecode(file), descriptors[0])
            os.close(descriptors[0])
            _, status = os.waitpid(pid, 0)
            channel.send("gone", code=os.waitstatus_to_exitcode(status))


def _work(request: RunRequest, channel: Channel) -> None:
    """Build the target of ``request`` and run it in each mode."""
    budget = Budget(request.timeout)
    channel.progress(stages.TORCH)
    # Before sys.path changes: a neighbour of the user's file called random.py must not break torch. All other imports
    # come before the user's code too, which may change what they need. Without the collector, see ``server``.
    gc.disable()
    from graphdoctor.dynamic.tracing.backend import CountingBackend, replace_inductor
    from graphdoctor.dynamic.tracing.branch_coverage import record_tests
    from graphdoctor.dynamic.tracing.private_torch import keep_random_state_of_checkpoints, skip_guard_timing
    from graphdoctor.dynamic.user_code import devices, load
    from graphdoctor.dynamic.user_code.target import NoTarget
    from graphdoctor.dynamic.worker.draws import draw_each_alone
    from graphdoctor.dynamic.worker.experiment import Experiment
    from graphdoctor.dynamic.worker.optional_checks import Deeper
    from graphdoctor.dynamic.worker.varied_calls import varied

    gc.freeze()
    gc.enable()
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
    _run([Experiment(target, mode, request, places, backend, budget) for mode in modes], Deeper, request, channel)


def _build(
    request: RunRequest, places: Places, device: torch.device, channel: Channel
) -> tuple[Target, Sequence[Mode]] | None:
    """The target of ``request`` and its modes. Where it cannot be built, the reason is sent, and this is None."""
    import torch

    from graphdoctor.dynamic.parent.input_specs import InputSpecError
    from graphdoctor.dynamic.parent.vary_specs import parse_variations
    from graphdoctor.dynamic.recompiles import sweep
    from graphdoctor.dynamic.tracing.private_torch import config_copy
    from graphdoctor.dynamic.user_code import load
    from graphdoctor.dynamic.user_code.missing_modules import also_missing
    from graphdoctor.dynamic.user_code.target import NoTarget, find, seed
    from graphdoctor.dynamic.user_code.user_errors import fault_of
    from graphdoctor.dynamic.worker.inputs import described
    from graphdoctor.dynamic.worker.modes import modes_of
    from graphdoctor.dynamic.worker.out_of_memory import SHRINK

    settings = config_copy()
    stage = "at import"
    try:
        channel.progress(f"{stages.IMPORT} {request.file.name}")
        seed()
        module = load.load_text(request.sample, request.file) if request.sample else load.load(request.file)
        channel.send("environment", environment=_environment(torch, device, settings))
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


def _run(experiments: Sequence[Experiment], deeper: type[Deeper], request: RunRequest, channel: Channel) -> None:
    """The verdict in all modes, then what comes after it."""
    from graphdoctor.dynamic.worker import threads

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
            known[experiment.mode] = deeper(experiment, update, channel.progress).exported(known[experiment.mode])
    if request.part == "verdict" or not request.deeper:
        # Fixes may be verified next.
        last = experiments[-1]
        if request.reference is not None and known[last.mode].outcome == "ok":
            threads.choose(last, request.reference)
    if request.part == "verdict":
        return
    for experiment in experiments:
        if experiment.mode in known:
            update(deeper(experiment, update, channel.progress).run(known[experiment.mode]))


def _places(request: RunRequest) -> Places:
    import torch

    return Places(
        root=str(request.root),
        own=own_folders(request.file, request.root),
        torch=str(Path(torch.__file__).parent),
        library=tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}),
    )


def _environment(torch: ModuleType, device: Any, before: dict[str, Any]) -> dict[str, str | None]:
    from graphdoctor.dynamic.tracing.private_torch import config_copy

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
