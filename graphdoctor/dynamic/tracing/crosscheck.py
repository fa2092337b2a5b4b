"""Two checks that users make themselves: ``torch.compile(fullgraph=True)`` and ``torch._dynamo.explain``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from graphdoctor.breaks.explanations import error_in_words, in_plain_words
from graphdoctor.breaks.grouping import RawFrame, user_stack
from graphdoctor.breaks.locations import Kind, Places
from graphdoctor.breaks.messages import parse
from graphdoctor.dynamic.tracing.capture import raised, record
from graphdoctor.dynamic.tracing.private_torch import TorchDynamoException, forget_divergences
from graphdoctor.dynamic.user_code.target import Sample
from graphdoctor.model.runs import Break, Explain, FullGraph

#: How sympy writes a comparison.
_EQUALITY = re.compile(r"\b(Eq|Ne)\(([^(),]+), ([^(),]+)\)")
_SIGNS = {"Eq": "==", "Ne": "!="}
#: What ``fullgraph=True`` says where the trace needs the value of an unbacked symbol.
_UNKNOWN = re.compile(r"Could not guard on data-dependent expression (.+?)(?: \(unhinted|\n|$)")


def fullgraph(sample: Sample, backend: Callable[..., Any], places: Places, further: Iterable[Sample] = ()) -> FullGraph:
    """Compile ``sample`` with ``fullgraph=True`` and call it; with ``further`` inputs while that compiles more."""
    torch._dynamo.reset()
    forget_divergences()
    try:
        function = torch.compile(sample.function, backend=backend, fullgraph=True)
        function(*sample.args, **sample.kwargs)
    except BaseException as error:  # the user's code may raise SystemExit, too
        return failure(error, places)
    for again in further:
        try:
            with record() as recording:
                function(*again.args, **again.kwargs)
        except TorchDynamoException as error:
            return failure(error, places)
        except BaseException:  # not all code can be called twice
            break
        if not recording.starts:
            break
    return FullGraph(True)


def failure(error: BaseException, places: Places) -> FullGraph:
    """The verdict for what ``fullgraph=True`` raised."""
    event = raised(error)
    stack = user_stack(event, places) if event else []
    site = _innermost(stack, places, "own") or _innermost(stack, places, "third-party")
    if site is None and stack:
        site = stack[-1]
    text = short(error)
    return FullGraph(False, text, places.show(site.path) if site else None, site.line if site else None)


def _innermost(stack: Sequence[RawFrame], places: Places, kind: Kind) -> RawFrame | None:
    return next((f for f in reversed(stack) if places.kind(f.path) == kind), None)


def short(error: BaseException) -> str:
    """An exception of ``torch.compile`` in one line."""
    message = parse(_text(error))
    if message.gb_type is None:
        if unknown := _UNKNOWN.search(_text(error)):
            symbols = ", ".join(sorted(set(re.findall(r"\b(?:u|zu?f)\d+\b", unknown[1]))))
            test = _EQUALITY.sub(lambda call: f"{call[2]} {_SIGNS[call[1]]} {call[3]}", unknown[1].strip())
            if test == symbols:
                return "tracing cannot decide a branch on a number that tensor data or a random draw gives"
            where = f", where {symbols} stands for a number that tensor data gives" if symbols else ""
            return f"tracing cannot decide `{test}`{where or ': it depends on the data'}"
        return f"{type(error).__name__}: {error_in_words(_text(error))}"
    reason, _ = in_plain_words(message)
    return f"{message.gb_type}: {reason}" if message.gb_type not in reason else reason


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a broken __str__ in the user's exception
        return type(error).__name__


def explain(breaks: Sequence[Break], graphs: int, reasons: int) -> Explain:
    """What ``torch._dynamo.explain`` counts, compared with the trace.

    It compiles in the same way and counts what its backend is given (torch/_dynamo/backends/debugging.py), so nothing
    is compiled again: ``graphs``, and how many of them a break ended (``reasons``).
    """
    counts = graphs, graphs - 1, reasons
    return Explain(*counts, disagrees=disagreement(*counts, breaks=breaks, graphs=graphs))


def disagreement(count: int, break_count: int, reasons: int, breaks: Sequence[Break], graphs: int) -> str | None:
    """A sentence for the user when explain's numbers are not those of the trace, else None.

    ``graph_break_count`` is literally graphs - 1 (torch/_dynamo/eval_frame.py), and a reason is kept only with a graph
    that was produced, so dropped frames are missing.
    """
    events = sum(found.events for found in breaks)
    if (count, break_count, reasons) == (graphs, events, events):
        return None
    less_one = "the number of graphs less one" if count else "no graph, less one"
    breaks_of_explain = f"{_count(break_count, 'graph break')} ({less_one})"
    why = f"{_count(reasons, 'reason')} (none for a function that was given up)"
    counts = f"{breaks_of_explain}, {_count(count, 'graph')} and {why}"
    traced = f"{_count(events, 'time')} at {_count(len(breaks), 'place')}, and compiled {_count(graphs, 'graph')}"
    return f"torch._dynamo.explain counts {counts}; Dynamo broke {traced}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
