"""The backends one after the other, from Dynamo alone up to Inductor: which layer fails, where, with what message."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import fx

from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.messages import one_line, parse
from graphdoctor.dynamic.layers import inductor
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.tracing.capture import raised
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.model.runs import Stage

Run = Callable[[Sample, Callable[..., object] | None], comparison.Snapshot]

_FILE = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass(frozen=True)
class Fall:
    """The stages up to the one that failed; the graph it failed on, where there was one."""

    stages: tuple[Stage, ...]
    kept: inductor.Kept | None = None


def climb(
    target: Target,
    mode: Mode,
    run: Run,
    places: Places,
    same: Callable[[comparison.Snapshot], str],
    top: str = "inductor",
) -> Fall:
    """Run a fresh sample on each backend up to ``top``. ``same`` returns how outputs differ, or an empty text."""
    stages: list[Stage] = []
    for name in inductor.STAGES[: inductor.STAGES.index(top) + 1]:
        if reason := inductor.missing(name):
            stages.append(Stage(name, "skipped", detail=reason))
            continue
        torch._dynamo.reset()
        kept = inductor.Kept(name)
        sample = target.sample(mode)
        try:
            with inductor.settings():
                outputs = run(sample, torch.compile(sample.function, backend=kept))
        except BaseException as error:
            stages.append(_failed(name, error, kept.graph, places))
            return Fall(tuple(stages), kept)
        difference = same(outputs)
        layer = inductor.LAYERS[name] if difference else None
        stages.append(Stage(name, "differs" if difference else "ok", layer, difference))
        if difference:
            return Fall(tuple(stages), kept)
    torch._dynamo.reset()
    return Fall(tuple(stages))


def _failed(name: str, error: BaseException, graph: fx.GraphModule | None, places: Places) -> Stage:
    text = _text(error)
    stage = Stage(name, "failed", inductor.layer(name, error), _shortest(error, text))
    event = raised(error)
    files = [(frame.path, frame.line) for frame in event.traced] if event else []
    files += [(path, int(line)) for path, line in _FILE.findall(text)]
    operator = inductor.operator(text)
    if operator is not None and graph is not None:
        traces = [str(n.meta.get("stack_trace", "")) for n in graph.graph.nodes if str(n.target) == operator]
        files += [(path, int(line)) for trace in traces[:1] for path, line in _FILE.findall(trace)]
    place = places.innermost(files)
    return replace(stage, path=places.show(place[0]), line=place[1]) if place else stage


def _shortest(error: BaseException, text: str) -> str:
    """The first line of what was really raised, and the operator where a later line names it."""
    inner = getattr(error, "inner_exception", None) or error
    message = parse(text)
    line = f"{message.gb_type}: {message.explanation}" if message.gb_type else one_line(_text(inner) or text)
    operator = inductor.operator(text)
    return f"{type(inner).__name__}: {line}" + (f" (operator {operator})" if operator and operator not in line else "")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a broken __str__ in the user's exception
        return ""
