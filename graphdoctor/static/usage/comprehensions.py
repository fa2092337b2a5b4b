"""Comprehensions of a script: the objects that they collect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from graphdoctor.static.usage.events import TrackedObject, dotted
from graphdoctor.static.usage.expressions import ONE_BY_ONE, Expressions

#: Calls after which a container holds more than it was made of.
GROWS = (".append", ".extend", ".insert", ".add_module", ".register_module", ".__setitem__")


class Comprehensions(Expressions):
    """The part of the script walker that knows comprehensions."""

    def comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.DictComp) -> TrackedObject:
        """What a comprehension makes."""
        if isinstance(node, cst.DictComp):
            return self._dict_comprehension(node)
        iterated = self.evaluate(node.for_in.iter)
        self.taken_apart(node.for_in.iter, "iter", iterated)
        items = self._rounds(node.for_in, iterated, node.elt)
        return TrackedObject(node, items=items, alike=not self._is_spelled_out(iterated), number=self.new_number())

    def listed(self, iterated: TrackedObject) -> TrackedObject:
        """The list that an ``nn.ModuleList`` was made of, where nothing was added since; else ``iterated`` itself."""
        made = iterated.maker
        is_list = made is not None and made.name == "torch.nn.ModuleList" and len(made.args) == 1
        if made is None or not is_list or any(step.name in GROWS for step in iterated.steps):
            return iterated
        return made.args[0] if made.args[0].items else iterated

    def elements(self, iterated: TrackedObject) -> Sequence[TrackedObject]:
        """The items of a loop over ``iterated``, where they are spelled out."""
        return iterated.items or tuple(key for key, _ in iterated.entries)

    def _is_spelled_out(self, iterated: TrackedObject) -> bool:
        """Whether each round over it is walked."""
        return 0 < len(self.elements(iterated)) <= ONE_BY_ONE and not iterated.alike

    def _dict_comprehension(self, node: cst.DictComp) -> TrackedObject:
        iterated, target = self.evaluate(node.for_in.iter), node.for_in.target
        items, made = self._rounds(node.for_in, iterated, node.value, node.key), iterated.maker
        state = made.receiver if made is not None and made.name == ".items" else None
        key = dotted(target.elements[0].value) if isinstance(target, cst.Tuple) else ""
        if state is not None and state.made_by == ".state_dict" and key and dotted(node.key) == key:
            # Only its values are changed: ``{k: v.cpu() for k, v in model.state_dict().items()}``.
            return replace(state, node=node, number=self.new_number())
        return TrackedObject(node, items=items, alike=not self._is_spelled_out(iterated), number=self.new_number())

    def _rounds(
        self, loop: cst.CompFor, iterated: TrackedObject, made: cst.BaseExpression, *others: cst.BaseExpression
    ) -> tuple[TrackedObject, ...]:
        """What a comprehension makes in its rounds: of all where few elements are spelled out, else of one."""
        elements = self.elements(iterated)
        several = not self._is_spelled_out(iterated)
        if several:
            elements = elements[:1] or (TrackedObject(loop.target, number=self.new_number()),)
        items = []
        self.measured += several
        for element in elements:
            self._comprehend(loop, element)
            for other in others:
                self.evaluate(other)
            items.append(self.evaluate(made))
        self.measured -= several
        return tuple(items)

    def _comprehend(self, loop: cst.CompFor, element: TrackedObject | None = None) -> None:
        elements = (element,) if element is not None else self.elements(self.evaluate(loop.iter))
        self.assign(loop.target, elements[0] if elements else TrackedObject(loop.target, number=self.new_number()))
        for test in loop.ifs:
            self.visit(test)
        if loop.inner_for_in is not None:
            self._comprehend(loop.inner_for_in)
