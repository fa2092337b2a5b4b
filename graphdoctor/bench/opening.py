"""The worker side of a question: the user's file imported and its target found, or the reason in one line."""

from __future__ import annotations

import platform
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from graphdoctor.breaks.locations import Places, own_folders
from graphdoctor.breaks.missing_packages import remedy_of_missing
from graphdoctor.dynamic.parent.channel import CRASHES, Channel, ending
from graphdoctor.dynamic.parent.input_specs import InputSpecError
from graphdoctor.dynamic.parent.measuring import load as load_question
from graphdoctor.dynamic.parent.processes import adopt_orphans, die_with_parent
from graphdoctor.dynamic.user_code import devices, load
from graphdoctor.dynamic.user_code.missing_modules import also_missing
from graphdoctor.dynamic.user_code.target import NoTarget, Target, find, seed
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.model.benchmark import Question


@dataclass(frozen=True)
class Opened:
    """A question with its target, ready to run."""

    question: Question
    target: Target
    places: Places
    channel: Channel


def answer(question_file: str, descriptor: int, work: Callable[[Opened], None]) -> None:
    """Open the target, do the ``work``, and end the process. Whatever the user's code raises ends as one message."""
    crashes = Path(question_file).with_name(CRASHES)
    with ending(crashes):
        die_with_parent()
        adopt_orphans()
        channel = Channel(descriptor, crashes)
        _answer(load_question(Path(question_file).read_text(encoding="utf-8")), channel, work)
        channel.send("end")


def _answer(question: Question, channel: Channel, work: Callable[[Opened], None]) -> None:
    places = Places(
        root=str(question.root),
        own=own_folders(question.file, question.root),
        torch=str(Path(torch.__file__).parent),
        library=tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}),
    )
    stage = "at import"
    try:
        device = devices.device(question.device)
        sys.argv = [str(question.file)]
        channel.progress(f"importing {question.file.name}")
        seed()
        module = load.load(question.file)
        stage = "while the target was built"
        target = find(module, question.target, question.inputs, device)
        channel.send("environment", environment=_environment(device), target=target.name)
        stage = "while it was measured"
        work(Opened(question, target, places, channel))
    except (NoTarget, InputSpecError) as error:
        channel.send("failed", detail=str(error))
    except BaseException as error:
        detail = fault_of(error, places, stage, also_missing(error, question.file)).detail
        channel.send("failed", detail="; ".join(filter(None, (detail, remedy_of_missing(detail)))))


def _environment(device: torch.device) -> dict[str, str | None]:
    transformers = sys.modules.get("transformers")
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": getattr(transformers, "__version__", None),
        "device": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"cpu, {torch.get_num_threads()} threads",
    }
