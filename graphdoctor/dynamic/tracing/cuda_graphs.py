"""What CUDA graphs leave out: the whole of a compiled graph, or the operators at which it is split for them.

What is left out is launched kernel by kernel, as without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.dynamic.tracing.torch_messages import listen
from graphdoctor.model.runs import Hint

#: The artifact "cudagraphs", by the modules that write it. The scheduler does since torch 2.11.
LOGGERS = ("torch._inductor.cudagraph_utils.__cudagraphs", "torch._inductor.scheduler.__cudagraphs")

#: The first call runs without them, the second records, the third replays.
_CALLS = 3

#: torch/_inductor/cudagraph_utils.py (format_default_skip_message): all of a graph is left out.
_SKIPPED = re.compile(r"(?:skipping|disabling) cudagraphs due to (.+?)(?:\. Found from|$)", re.DOTALL)
#: torch/_inductor/scheduler.py (_log_non_cudagraphable_node): an operator is; the lines of its stack follow.
_SPLIT = re.compile(r"\s+\S+: reason=(.+), ir=\w+(?:, fx=([\w.]+))?")
_SIZES = re.compile(r"We have observed (\d+) distinct sizes")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')

#: The reason -> what to do.
_ACTIONS = (
    ("mutated inputs", "write to a copy of the input, or keep it in a buffer of the model"),
    ("cpu device|cpu ops", "create this tensor on the GPU"),
    ("DeviceCopy", "keep the tensor in a buffer, or move it to the GPU before the call"),
    ("multiple devices", "keep all tensors of a graph on one device"),
    ("Conditional", "use `torch.where` in place of `torch.cond`"),
    ("unbacked|incompatible op|dynamic shape|symbolic|distinct sizes", "pad to one size, or to a few"),
)


def left_out(prepare: Callable[[], Callable[[], object]], places: Places) -> tuple[Hint, ...]:
    """Run a step that Inductor compiles with CUDA graphs switched on; what is left out, with its lines.

    ``prepare`` makes the step, and nothing is compiled before its first call.
    """
    torch._dynamo.reset()
    with listen(LOGGERS) as messages, private_torch.inductor_config(**{"triton.cudagraphs": True}):
        step = prepare()
        for _ in range(_CALLS):
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            step()
    torch._dynamo.reset()
    return read(messages, places)


def read(messages: Sequence[str], places: Places) -> tuple[Hint, ...]:
    """The hints that torch's messages are, each once; those that nobody can act on are dropped."""
    found: list[tuple[str, str, list[tuple[str, int]]]] = []
    for message in messages:
        frames = [(path, int(line)) for path, line in _FRAME.findall(message)]
        if skipped := _SKIPPED.search(message):
            found.append((skipped[1].strip(), "the whole graph is left out", frames))
        elif split := _SPLIT.match(message):
            found.append((split[1], f"`{split[2]}` is left out" if split[2] else "an operator is left out", []))
        elif sizes := _SIZES.search(message):
            found.append((f"{sizes[1]} distinct sizes", "one is recorded for each size", []))
        elif found:
            found[-1][2].extend(frames)
    events = Counter((reason, what, places.innermost(frames)) for reason, what, frames in found)
    hints = []
    for (reason, what, place), number in events.items():
        action = next((action for pattern, action in _ACTIONS if re.search(pattern, reason)), None)
        if action is not None:
            path, line = (places.show(place[0]), place[1]) if place else (None, None)
            hints.append(Hint(f"{what} ({reason})", action, path, line, number))
    return tuple(hints)
