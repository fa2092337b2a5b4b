"""Assertions for tests: a model is one graph, has no graph breaks, is not compiled again and again.

They run in the process of the test and leave torch and the model as they were. torch is imported when one is called.

    from graphdoctor.testing import assert_fullgraph

    def test_net_is_one_graph():
        assert_fullgraph(Net(), torch.rand(4, 16))

The pytest plugin that comes with graphdoctor offers them as fixtures of the same names, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdoctor.in_process.listing import Compiled


def assert_fullgraph(model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    """``torch.compile(model, fullgraph=True)`` works on these arguments.

    Raises AssertionError with all breaks, not the first alone. What the model itself raises comes through.
    """
    __tracebackhide__ = True
    from graphdoctor.in_process import listing

    outcome = listing.compile_and_call(model, [(args, kwargs)], fullgraph=True)
    # Breaks without an error: fullgraph=True met code that catches it, or that switches it off.
    if outcome.error is None and not outcome.breaks:
        _check_compiled(model, outcome)
        return
    every = listing.compile_and_call(model, [(args, kwargs)], as_fullgraph=True).breaks or outcome.breaks
    if not every:
        raise AssertionError(f"{_name(model)} does not compile with fullgraph=True: {outcome.error}")
    breaks = _count(len(every), "graph break")
    raise AssertionError(f"{_name(model)} is not one graph, {breaks}:\n{listing.listed(every)}")


def assert_no_graph_breaks(
    model: Callable[..., Any], /, *args: Any, ignore: Sequence[str] = (), max_breaks: int = 0, **kwargs: Any
) -> None:
    """``torch.compile(model)`` breaks at no more than ``max_breaks`` places on these arguments.

    ``ignore`` holds patterns of modules (``transformers.*``), paths or graph-break ids; breaks in torch that
    no change of the code removes are never counted. Raises AssertionError with all breaks. What the model itself raises
    comes through.
    """
    __tracebackhide__ = True
    from graphdoctor.in_process import listing

    outcome = listing.compile_and_call(model, [(args, kwargs)])
    counted = listing.not_ignored(outcome.breaks, ignore)
    if len(counted) > max_breaks:
        allowed = f" where {_allowed(max_breaks)}" if max_breaks else ""
        ignored = len(outcome.breaks) - len(counted)
        besides = f" ({ignored} more ignored)" if ignored else ""
        breaks = _count(len(counted), "graph break")
        raise AssertionError(f"{_name(model)} has {breaks}{allowed}{besides}:\n{listing.listed(counted)}")
    if outcome.error is not None:
        raise AssertionError(f"{_name(model)} does not compile: {outcome.error}\n{listing.listed(outcome.breaks)}")
    if not outcome.breaks:
        _check_compiled(model, outcome)


def assert_max_recompiles(
    model: Callable[..., Any], calls: Sequence[tuple[Any, ...]], /, max_recompiles: int = 0
) -> None:
    """Called with each tuple of arguments in turn, no function of ``model`` is compiled again more often than that.

    Raises AssertionError with the causes. What the model itself raises comes through.
    """
    __tracebackhide__ = True
    from graphdoctor.in_process import listing

    for number, call in enumerate(calls):
        if not isinstance(call, (tuple, list)):
            raise TypeError(f"calls[{number}] is a {_name(type(call))}: give a tuple of arguments for each call, (x,)")
    outcome = listing.compile_and_call(model, [(tuple(args), {}) for args in calls])
    if outcome.error is not None:
        raise AssertionError(f"{_name(model)} does not compile:\n{listing.listed(outcome.breaks)}")
    if not outcome.recording.starts:
        raise AssertionError(_NOTHING.format(_name(model)))
    found = listing.recompiles(outcome.recording)
    if found.count > max_recompiles or found.at_limit:
        limit = ", and then Dynamo gave up: the recompile limit is reached" if found.at_limit else ""
        causes = "\n".join(f"    {cause}" for cause in found.causes)
        count = _count(found.count, "recompile")
        raise AssertionError(f"{_name(model)}: {count} where {_allowed(max_recompiles)}{limit}:\n\n{causes}")


def _check_compiled(model: Callable[..., Any], outcome: Compiled) -> None:
    """Raises AssertionError where there is no break because nothing, or not the whole model, was compiled."""
    __tracebackhide__ = True
    if outcome.graphs == 0:
        raise AssertionError(_NOTHING.format(_name(model)))
    if outcome.uncompiled:
        places = "".join(f"\n    {place}" for place in outcome.uncompiled)
        raise AssertionError(_PARTLY.format(_name(model), places))


_PARTLY = (
    "{}: only parts of it were compiled, and no break is recorded. These functions run uncompiled, because they are "
    "disabled (torch.compiler.disable(recursive=False)) or Dynamo passes over them:\n{}"
)
_NOTHING = (
    "{}: nothing was compiled (0 graphs, no break recorded). The model does nothing with tensors, is a scripted "
    "module, or compilation is switched off (torch.compiler.disable, TORCHDYNAMO_DISABLE=1)"
)


def _name(model: Callable[..., Any]) -> str:
    return getattr(model, "__qualname__", None) or type(model).__qualname__


def _allowed(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'} allowed"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
