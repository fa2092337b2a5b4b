"""The child process: imports torch, then the user's file, runs the target, and writes results to a file descriptor.

Started by ``runner`` as ``main(request_file, descriptor)``. Standard output and error belong to the user's code.
"""

from __future__ import annotations

import faulthandler
import os
import platform
import socket
import sys
import sysconfig
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from graphdoctor.dynamic.channel import CRASHES, Channel, ending, moved_up
from graphdoctor.dynamic.places import Places, own_folders
from graphdoctor.dynamic.processes import adopt_orphans, die_with_parent
from graphdoctor.dynamic.protocol import RunRequest, dump_run, load_request
from graphdoctor.run_model import DynamicRun, FullGraph, Varied


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
    from graphdoctor.dynamic.startup import warm_up

    warm_up()
    channel = Channel(descriptor)
    with socket.socket(fileno=int(requests)) as asked:
        while True:
            file, descriptors, _, _ = socket.recv_fds(asked, 1 << 16, 1)
            if not descriptors:
                return
            pid = os.fork()
            if pid == 0:
                # What is said of forks, and to whom the next goes, is no business of the user's code.
                asked.close()
                channel.close()
                main(os.fsdecode(file), descriptors[0])
            os.close(descriptors[0])
            _, status = os.waitpid(pid, 0)
            channel.send("gone", code=os.waitstatus_to_exitcode(status))


def _work(request: RunRequest, channel: Channel) -> None:
    channel.progress("importing torch")
    # Before sys.path changes: a neighbour of the user's file called random.py must not break torch.
    import torch
    import torch._dynamo

    from graphdoctor.dynamic import load, sweep
    from graphdoctor.dynamic.backend import CountingBackend, replace_inductor
    from graphdoctor.dynamic.experiment import Experiment
    from graphdoctor.dynamic.inputs import InputSpecError
    from graphdoctor.dynamic.startup import skip_guard_timing
    from graphdoctor.dynamic.target import NoTarget, find, seed
    from graphdoctor.dynamic.tests_seen import record_tests
    from graphdoctor.dynamic.userfault import fault_of
    from graphdoctor.dynamic.vary import parse_variations

    places = _places(request)
    device = torch.device(_device(request.device, torch))
    if device.type == "cuda" and not torch.cuda.is_available():
        channel.send("failed", outcome="no-target", detail="the device cuda was asked for, and torch finds none")
        return
    backend = CountingBackend()
    replace_inductor(backend)
    skip_guard_timing()
    sys.argv = [str(request.file)]
    load.install_overlay(request.overlay)
    seen = record_tests(request.tests)
    settings = torch._dynamo.config.get_config_copy()
    stage = "at import"
    try:
        channel.progress(f"importing {request.file.name}")
        seed()
        module = load.load(request.file)
        channel.send("environment", environment=_environment(torch, device, settings))
        stage = "while the target was built"
        channel.progress("building the target")
        target = find(module, request.target, request.inputs, device)
        sweep.check(target, parse_variations(request.vary))
        modes = _modes(request.mode, target.sample("eval").module)
    except (NoTarget, InputSpecError) as error:
        channel.send("failed", outcome="no-target", detail=str(error))
        return
    except BaseException as error:
        channel.send("failed", **asdict(fault_of(error, places, stage)))
        return

    def send_varied(varied: Varied) -> None:
        channel.send("varied", varied=asdict(varied))

    for mode in modes:
        experiment = Experiment(target, mode, request, places, backend)
        if request.varied:
            seen.clear()
            send_varied(experiment.varied(seen, send_varied, channel.progress))
        else:
            _run(experiment, channel)


def _run(experiment: Any, channel: Channel) -> None:
    def update(run: DynamicRun, complete: bool = False) -> None:
        channel.send("run", run=dump_run(run), complete=complete)

    target = experiment.target
    update(DynamicRun(target.name, experiment.mode, str(target.device), "ok", fullgraph=FullGraph(None)))
    update(experiment.run(update, channel.progress), complete=True)


def _modes(mode: str, module: Any) -> tuple[Any, ...]:
    if mode != "both":
        return (mode,)
    trainable = module is not None and any(p.requires_grad for p in module.parameters())
    return ("eval", "train") if trainable else ("eval",)


def _places(request: RunRequest) -> Places:
    import torch

    return Places(
        root=str(request.root),
        own=own_folders(request.file, request.root),
        torch=str(Path(torch.__file__).parent),
        library=tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}),
    )


def _device(wanted: str, torch: ModuleType) -> str:
    if wanted != "auto":
        return wanted
    return "cuda" if torch.cuda.is_available() else "cpu"


def _environment(torch: ModuleType, device: Any, before: dict[str, Any]) -> dict[str, str | None]:
    after = torch._dynamo.config.get_config_copy()
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
