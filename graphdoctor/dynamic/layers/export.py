"""``torch.export`` on the sample input, in both ways, and where in the code it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from graphdoctor.breaks.grouping import user_stack
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.tracing.capture import raised
from graphdoctor.dynamic.tracing.crosscheck import short
from graphdoctor.dynamic.tracing.private_torch import same_buffer_hooks
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.model.export import Exported

#: What torch.export says in its own words, and the same for people who do not know its internals.
_WORDS = (
    (
        re.compile(r"data-dependent expression"),
        "the code decides by a number that comes from tensor data, which is not known when it is exported "
        "(torch.cond chooses between tensors, torch._check says what such a number always is)",
    ),
    (
        re.compile(r"(?:Found|unrecognized type|with type) `?(?:<class '|UserDefined\w*\()([\w.]+)"),
        r"\1 is no type that torch.export can take apart (torch.export.register_dataclass tells it how)",
    ),
    (
        re.compile(r"\.numpy\(\) is not supported for tensor subclasses"),
        "numpy code is run while it is exported, when tensors have no values",
    ),
)


class _Function(nn.Module):
    """A module around what is called, because nothing else is exported."""

    def __init__(self, function: Callable[..., Any], owner: nn.Module | None) -> None:
        super().__init__()
        self.owner = owner
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def export(target: Target, mode: Mode, places: Places, expected: Snapshot) -> Iterator[Exported]:
    """Both ways, one after the other; ``expected`` is what the eager run left behind."""
    for strict in (True, False):
        torch._dynamo.reset()
        sample = target.sample(mode)
        try:
            with same_buffer_hooks():
                program = torch.export.export(_module(sample), sample.args, sample.kwargs, strict=strict)
        except BaseException as error:  # the user's code may raise SystemExit, too
            yield _failed(strict, error, places)
            continue
        operators = sum(node.op == "call_function" for node in program.graph.nodes)
        differs = _difference(program, target.sample(mode), expected)
        yield Exported(strict, "differs" if differs else "ok", operators, differs)
    torch._dynamo.reset()


def _module(sample: Sample) -> nn.Module:
    if isinstance(sample.function, nn.Module):
        return sample.function
    return _Function(sample.function, sample.module)


def _difference(program: torch.export.ExportedProgram, sample: Sample, expected: Snapshot) -> str:
    """What is wrong with the outputs of the exported program, as a clause; empty where nothing is."""
    try:
        outputs = program.module()(*sample.args, **sample.kwargs)
    except Exception as error:
        return f"the exported program raises {short(error)}"
    found = pytree.leaves(outputs, "output")
    wanted = {name: leaf for name, leaf in expected.items() if name.startswith("output")}
    return comparison.compare(wanted, found).where or ""


def _failed(strict: bool, error: BaseException, places: Places) -> Exported:
    event = raised(error)
    frames = [frame for frame in user_stack(event, places) if not places.is_tool(frame.path)] if event else []
    kinds = [[frame for frame in frames if places.kind(frame.path) == kind] for kind in ("own", "third-party")]
    site = next((found[-1] for found in kinds if found), None)
    return Exported(
        strict,
        "failed",
        error=_words(error),
        path=places.show(site.path) if site else None,
        line=site.line if site else None,
        function=site.name if site else "",
        gb_id=event.gb_id if event else None,
    )


def _words(error: BaseException) -> str:
    text = short(error)
    for pattern, words in _WORDS:
        if match := pattern.search(text):
            return match.expand(words)
    return text
