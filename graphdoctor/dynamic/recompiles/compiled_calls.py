"""Calls in order on one compiled function: what Dynamo compiles, with and without a remedy."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.recompiles import arguments
from graphdoctor.dynamic.tracing.capture import Recording, record
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target, seed

#: File and first line of a function.
Code = tuple[str, int]
#: File, first and last line of a function.
Lines = tuple[str, int, int]


@dataclass(frozen=True)
class Step:
    """One call, and what is set before it; a ``change`` is given the model in place of a call."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    grad: bool | None = None
    training: bool | None = None
    change: Callable[[Any], object] | None = None


@dataclass(frozen=True)
class Remedy:
    """A change that may save compilations. ``text`` is what the user would do, code in backticks.

    ``keywords`` are those of torch.compile, ``config`` patches torch._dynamo.config, ``steps`` changes the calls, and
    ``model`` the sample while they run. ``equal`` says that the outputs must stay what they were; an ``alternative`` is
    tried even where another remedy has done all that can be done, a ``fallback`` only where the one before it fails.
    ``shorter``: all that it changes is that the last call is not made.
    """

    text: str
    keywords: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    steps: Callable[[Callable[..., Any], list[Step]], list[Step]] | None = None
    model: Callable[[Sample], AbstractContextManager[None]] | None = None
    equal: bool = True
    alternative: bool = False
    fallback: bool = False
    shorter: bool = False
    #: Applied after the others: a mark sticks to the tensor object that is passed.
    last: bool = False


class NotApplicable(Exception):
    """A suggested fix does not apply; the text is the reason."""


@dataclass(frozen=True)
class Call:
    """What one call made Dynamo record; its arguments by name, and as leaves; its outputs.

    ``shared`` are the functions that several submodules run, such as the forward of a block, and ``whole`` is the one
    that was given to torch.compile, where it is known: file, first and last line.
    """

    recording: Recording
    names: frozenset[str]
    inputs: Mapping[str, Any]
    outputs: Snapshot
    shared: tuple[Lines, ...] = ()
    whole: Lines | None = None

    def is_called_inside(self, code: Code) -> bool:
        """Whether the function, or what resumes in it behind a break, may run several times in one call: it is not the
        one that is compiled as a whole, or several submodules run that.
        """
        if self.whole is not None and not _is_in(code, self.whole):
            return True
        return any(_is_in(code, lines) for lines in self.shared)


def _is_in(code: Code, lines: Lines) -> bool:
    file, first, last = lines
    return file == code[0] and first <= code[1] <= last


def run(
    target: Target,
    mode: Mode,
    backend: Callable[..., Any],
    steps: Callable[[], list[Step]],
    remedies: Sequence[Remedy] = (),
) -> list[Call]:
    """Call a fresh sample with ``steps``, made anew, under the ``remedies``. Raises what the user's code raises."""
    torch._dynamo.reset()
    sample = target.sample(mode)
    planned = steps()
    for remedy in sorted(remedies, key=lambda remedy: remedy.last):
        planned = remedy.steps(sample.function, planned) if remedy.steps else planned
    keywords = {key: value for remedy in remedies for key, value in remedy.keywords.items()}
    config = {key: value for remedy in remedies for key, value in remedy.config.items()}
    calls = []
    with ExitStack() as stack:
        if config:
            stack.enter_context(torch._dynamo.config.patch(config))
        for remedy in remedies:
            if remedy.model:
                stack.enter_context(remedy.model(sample))
        function = torch.compile(sample.function, backend=backend, **keywords)
        for number in range(len(planned)):
            # Inputs go with their step: a guard on one that is gone fails, here as in a real run.
            call = _call(sample, function, planned.pop(0), number)
            if call is not None:
                calls.append(call)
    shared, whole = _shared(sample.module), _whole(sample)
    return [replace(call, shared=shared, whole=whole) for call in calls]


def in_eager(target: Target, mode: Mode, steps: Callable[[], list[Step]]) -> list[Exception | None]:
    """What each step raises without the compiler; None where it runs."""
    sample = target.sample(mode)
    raised: list[Exception | None] = []
    with torch.compiler.set_stance("force_eager"):
        for number, step in enumerate(steps()):
            try:
                _call(sample, sample.function, step, number)
                raised.append(None)
            except Exception as error:
                raised.append(error)
    return raised


def _call(sample: Sample, function: Callable[..., Any], step: Step, number: int) -> Call | None:
    # Each call draws other random numbers, as in a real run, and the same ones under each remedy.
    seed(number)
    if step.change is not None:
        step.change(sample.function)
        return None
    if step.training is not None and sample.module is not None:
        sample.module.train(step.training)
    arguments_of_call = step.args, dict(step.kwargs)
    # *xs comes as xs[0], xs[1], ...
    names = frozenset(name.partition("[")[0] for name in arguments.named(sample.function, arguments_of_call))
    inputs = {name: _outline(leaf) for name, leaf in arguments.leaves(sample.function, arguments_of_call).items()}
    with record() as recording, nullcontext() if step.grad is None else torch.set_grad_enabled(step.grad):
        outputs = function(*step.args, **step.kwargs)
    recording.recompiles = [
        replace(failed, reasons=tuple(arguments.renamed(sample.function, arguments_of_call, r) for r in failed.reasons))
        for failed in recording.recompiles
    ]
    return Call(recording, names, inputs, _snapshot(outputs))


def _shared(module: nn.Module | None) -> tuple[Lines, ...]:
    # What is scripted or bound to C has no code of Python.
    found = (
        getattr(inspect.unwrap(type(m).forward), "__code__", None) for m in ([] if module is None else module.modules())
    )
    counts = Counter(code for code in found if code is not None)
    return tuple(_lines(code) for code, count in counts.items() if count > 1)


def _whole(sample: Sample) -> Lines | None:
    """Of a module its forward; None for what a decorator wraps, and for what has no code of Python."""
    function = sample.function if sample.module is None else type(sample.module).forward
    code = getattr(function, "__code__", None)
    return _lines(code) if isinstance(code, CodeType) and not hasattr(function, "__wrapped__") else None


def _lines(code: CodeType) -> Lines:
    return code.co_filename, code.co_firstlineno, max(line for _, _, line in code.co_lines() if line)


def _outline(leaf: Any) -> Any:
    """The properties of a tensor that guards look at, without its data."""
    if type(leaf) not in (torch.Tensor, nn.Parameter) or leaf.layout is not torch.strided:
        return leaf
    return torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device="meta").requires_grad_(
        leaf.requires_grad
    )


def _snapshot(outputs: Any) -> Snapshot:
    found = pytree.leaves(outputs, "output")
    return {name: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for name, leaf in found.items()}


def compilations(calls: Sequence[Call]) -> dict[Code, int]:
    """How often each function was compiled. (Dynamo numbers frames again in each sequence, so the place is the key.)"""
    starts = [start for call in calls for start in call.recording.starts]
    counts: dict[Code, int] = {}
    for (_, code), count in Counter((start.frame, (start.path, start.line)) for start in starts).items():
        counts[code] = max(count, counts.get(code, 0))
    return counts


def breaks_graph(after: Sequence[Call], before: Sequence[Call]) -> bool:
    """Whether the calls ``after`` a remedy break the graph where those ``before`` do not, or in an earlier call."""
    return any(_breaks(after[:count]) - _breaks(before[:count]) for count in range(1, len(after) + 1))


def _breaks(calls: Sequence[Call]) -> set[tuple[str | None, str, int]]:
    """The distinct graph breaks of the calls: id, path and line."""
    events = [event for call in calls for event in call.recording.events]
    return {(e.gb_id, e.traced[-1].path, e.traced[-1].line) for e in events if e.traced}
