"""Calls of builtins in a script that pass their arguments on: ``list``, ``zip``, ``getattr``, ``.items()``."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain.events import Event
from graphdoctor.static.usage.comprehensions import Comprehensions
from graphdoctor.static.usage.events import Operation, Output, TrackedObject
from graphdoctor.static.usage.outputs import output_of

#: The class whose objects record when a GPU reaches them.
GPU_EVENTS = frozenset(("torch.cuda.Event", "torch.xpu.Event", "torch.Event"))


class BuiltinCalls(Comprehensions):
    """The part of the script walker that knows Python's own functions."""

    def __init__(self) -> None:
        super().__init__()
        self._outputs: list[Event] = []

    def emit_output(self, node: cst.Call, step: Operation, tracked: TrackedObject) -> None:
        """Emit ``Output`` where ``tracked``, the result of a call, is an output of a compiled object."""
        made = output_of(tracked)
        if made is step or (made is not None and step.followed and made.order > step.order):
            known = len(self._outputs)
            self.emit(Output, node, made=made, without_grad=made.without_grad, outputs=self._outputs, position=known)
            self._outputs.append(self.events[-1])

    def builtin(self, node: cst.Call, step: Operation) -> TrackedObject | None:
        """The result of a builtin that passes its arguments on."""
        receiver = step.receiver
        if step.name in (".items", ".values") and receiver is not None and receiver.entries:
            pairs = [
                TrackedObject(node, items=pair, number=self.new_number()) if step.name == ".items" else pair[1]
                for pair in receiver.entries
            ]
            return TrackedObject(node, items=tuple(pairs), number=self.new_number())
        if step.name == ".pop" and receiver is not None and step.args and isinstance(step.args[0].value, str):
            return self.taken_out(receiver, f"[{step.args[0].value!r}]")
        if step.name == "dict" and step.kwargs and not step.args:
            entries = tuple((TrackedObject(node, value=name), value) for name, value in step.kwargs.items())
            return TrackedObject(node, entries=entries, number=self.new_number())
        if step.name == "typing.cast" and len(step.args) == 2:
            return replace(step.args[1], node=node)
        if step.name in ("list", "tuple", "reversed", "sorted") and step.args and step.args[0].items:
            return replace(step.args[0], node=node)
        if step.name == "enumerate" and step.args and (counted := self.listed(step.args[0])).items:
            items = tuple(TrackedObject(node, items=(TrackedObject(node), each)) for each in counted.items)
            return TrackedObject(node, items=items, alike=counted.alike, number=self.new_number())
        if step.name == "zip" and step.args and all(arg.items for arg in step.args):
            rows = zip(*(arg.items for arg in step.args), strict=False)
            return TrackedObject(
                node, items=tuple(TrackedObject(node, items=row) for row in rows), number=self.new_number()
            )
        name = step.args[1].value if len(step.args) > 1 else None
        if step.name == "getattr" and isinstance(name, str):
            return self.attribute(node, step.args[0], name)
        return None

    def emit_gpu_timing(self, node: cst.Call, step: Operation) -> None:
        """Emit ``Timed`` for ``start.elapsed_time(end)`` of two GPU events, whose ``record()`` are the readings."""
        start, end = step.receiver, step.argument(0, "end_event")
        if start is None or end is None or not {start.made_by, end.made_by} <= GPU_EVENTS:
            return
        recorded = {s.receiver.number: s for s in self.log if s.name == ".record" and s.receiver is not None}
        if start.number in recorded and end.number in recorded:
            self.between(node, recorded[start.number], recorded[end.number], waits=True)
