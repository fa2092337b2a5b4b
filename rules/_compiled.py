"""What is compiled, as rules on the use of models ask."""

from __future__ import annotations

from graphdoctor.static.usage.events import Operation, TrackedObject, compiled, target, unwrapped


def called_model(step: Operation) -> TrackedObject | None:
    """What a step calls, without its wrappers, where it was compiled by then; None for other steps.

    A call of a wrapper is among the steps of the model in it.
    """
    called = step.receiver if step.name == ".__call__" else None
    return unwrapped(called) if called is not None and compiled(called) is not None else None


def wrapper(tracked: TrackedObject) -> Operation | None:
    """The call of ``torch.compile`` that made the object."""
    by = made_as(tracked, "torch.compile")
    return by if by is not None and is_on(by) else None


def is_on(step: Operation) -> bool:
    """Whether ``torch.compile`` is not told to do nothing: ``disable=True``."""
    return "disable" not in step.kwargs or step.option("disable") is False


def made_as(tracked: TrackedObject, *names: str) -> Operation | None:
    """The call of one of ``names`` that wrapped what is inside into the object."""
    inner = tracked.inner
    if inner is None or not inner.number:
        return None
    wraps = (step for step in tracked.steps if step.name in names and (wrapped := target(step)) is not None)
    return next((step for step in wraps if (wrapped := target(step)) and wrapped.number == inner.number), None)
