"""Tests of a script: how a condition is recognised in another function, and which tests a call decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from graphdoctor.static.usage.calls import Calls
from graphdoctor.static.usage.events import MISSING, Condition, TrackedObject, dotted
from graphdoctor.syntax.walk import find, walk

#: How a line binds a name, or lets others bind it: an assignment, ``global``, a loop, an import.
_BINDS = (
    r"^[^#\n]*?(?<![\w.])NAME(?:[ \t]*:[^=\n()]+)?[ \t]*(?:[-+*/|&^]|:)?=(?!=)"
    r"|\b(?:global|nonlocal|for|as|import)\b[^#\n]*(?<![\w.])NAME\b"
)
#: Statements that bind names without naming them.
_BINDS_ANY = re.compile(r"\bexec\(|\bglobals\(\)|\bsetattr\(")


class Conditions(Calls):
    """The part of the script walker that knows tests."""

    def condition(self, test: cst.BaseExpression) -> tuple[str, bool]:
        """The question of a test, and the answer under which its first branch runs.

        Names of objects that are known stand as their numbers, so that a flag is the same in a helper that gets it.
        """
        holds = True
        while (inside := _asked_flag(test)) is not None:
            test, holds = inside[0], holds is inside[1]
        text = " ".join(self.frame.module.code(test).split())
        if dotted(test):
            number = self.evaluate(test).number
            return (f"#{number}" if number else text), holds
        named = {n.value: self.state.find(self.frame.scopes, n.value) for n in walk(test) if isinstance(n, cst.Name)}
        numbers = {name: tracked.number for name, tracked in named.items() if tracked is not None and tracked.number}
        known = ",".join(f"{name}=#{number}" for name, number in sorted(numbers.items()))
        return (f"{text} where {known}" if known else text), holds

    def conditions(self, test: cst.BaseExpression, answer: bool) -> tuple[Condition, ...]:
        """What holds where a test has this answer: where `a and b` is true, that a is and that b is, too."""
        key, holds = self.condition(test)
        while (inside := _asked_flag(test)) is not None:
            test, answer, holds = inside[0], answer is inside[1], holds is inside[1]
        parts: tuple[Condition, ...] = ()
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And) is answer:
            parts = (*self.conditions(test.left, answer), *self.conditions(test.right, answer))
        return ((key, holds is answer), *parts)

    def decided(self, test: cst.BaseExpression) -> bool | None:
        """The answer, where the arguments of the call decide it."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            answer = self.decided(test.expression)
            return None if answer is None else not answer
        if isinstance(test, cst.BooleanOperation):
            return self._both(test)
        if isinstance(test, cst.Comparison):
            return self._compared(test)
        if isinstance(test, cst.Call):
            return True if self._asks_for_wrapper(test) else None
        tracked = self._look(test)
        if tracked is None:
            return None
        if tracked.value is False and isinstance(test, cst.Name) and self._is_set_once(test.value):
            return False
        return bool(tracked.value) if tracked.passed and tracked.value is not MISSING else None

    def ran_before(self, node: cst.If) -> bool:
        """Whether the first branch of ``node`` ran for the same object, and keeps itself from running again:
        ``if not self.ready: ...; self.ready = True``.
        """
        stored = {dotted(t.target): assign.value for assign in find(node.body, cst.Assign) for t in assign.targets}
        for name, by_call in _asked(node.test):
            value = stored.get(name)
            if value is None or not (by_call or self._literal(value) is not MISSING):
                continue
            now = self._stands_for(name)
            if now is not None and now.node is value:
                return True
        return False

    def _asks_for_wrapper(self, test: cst.Call) -> bool:
        """Whether the test asks if an object is compiled, and it is: ``hasattr(model, "_orig_mod")``."""
        if dotted(test.func) not in ("hasattr", "isinstance") or len(test.args) != 2:
            return False
        tracked, asked = self._look(test.args[0].value), test.args[1].value
        name = asked.evaluated_value if isinstance(asked, cst.SimpleString) else dotted(asked).rpartition(".")[2]
        if tracked is None or tracked.inner is None or name not in ("_orig_mod", "OptimizedModule"):
            return False
        return self.is_compiled(tracked)

    def _is_set_once(self, name: str) -> bool:
        """Whether the file binds ``name`` in one place, and no other statement may bind it: a flag that is off stays
        off."""
        return _binds_once(self.frame.module.text, name)

    def _both(self, test: cst.BooleanOperation) -> bool | None:
        ends = isinstance(test.operator, cst.Or)
        answers = self.decided(test.left), self.decided(test.right)
        if ends in answers:
            return ends
        return None if None in answers else not ends

    def _compared(self, test: cst.Comparison) -> bool | None:
        if len(test.comparisons) != 1:
            return None
        operator, right = test.comparisons[0].operator, self._literal(test.comparisons[0].comparator)
        left = self._look(test.left)
        if left is None or right is MISSING:
            return None
        equal: bool | None = None
        if left.passed and left.value is not MISSING:
            equal = left.value == right
        elif right is None and (left.maker is not None or left.code is not None):
            equal = False
        if equal is None or left.unsure:
            return None
        if isinstance(operator, (cst.Equal, cst.Is)):
            return equal
        return not equal if isinstance(operator, (cst.NotEqual, cst.IsNot)) else None

    def _literal(self, node: cst.BaseExpression) -> object:
        if isinstance(node, (cst.SimpleString, cst.Integer, cst.Float)):
            return node.evaluated_value
        return {"None": None, "True": True, "False": False}.get(dotted(node), MISSING)

    def _look(self, node: cst.BaseExpression) -> TrackedObject | None:
        """What a chain of names stands for, without an event."""
        return self._stands_for(dotted(node))

    def _stands_for(self, name: str) -> TrackedObject | None:
        """What a dotted name stands for."""
        chain = name.split(".")
        tracked = self.state.find(self.frame.scopes, chain[0]) if chain[0] else None
        for name in chain[1:]:
            stored = self.state.objects.get(tracked.number, {}) if tracked is not None else {}
            tracked = stored.get(name)
        return tracked


def _asked(test: cst.BaseExpression) -> Iterator[tuple[str, bool]]:
    """The names and attributes that a test reads, and whether by a call: ``hasattr(self, "ready")``."""
    for node in walk(test):
        if isinstance(node, (cst.Name, cst.Attribute)):
            yield dotted(node), False
        elif isinstance(node, cst.Call) and dotted(node.func) in ("hasattr", "getattr") and len(node.args) > 1:
            attribute = node.args[1].value
            if isinstance(attribute, cst.SimpleString):
                yield f"{dotted(node.args[0].value)}.{attribute.evaluated_value!s}", True


def _asked_flag(test: cst.BaseExpression) -> tuple[cst.BaseExpression, bool] | None:
    """The flag of ``not flag``, ``flag == False`` or ``flag is True``, and whether the test asks that it is set."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression, False
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    operator, other = test.comparisons[0].operator, dotted(test.comparisons[0].comparator)
    if other not in ("True", "False") or not isinstance(operator, (cst.Equal, cst.Is, cst.NotEqual, cst.IsNot)):
        return None
    return test.left, (other == "True") is isinstance(operator, (cst.Equal, cst.Is))


# Kept, because each call of a function asks for the same.
@lru_cache(maxsize=64)
def _binds_once(text: str, name: str) -> bool:
    return _BINDS_ANY.search(text) is None and len(re.findall(_BINDS.replace("NAME", name), text, re.MULTILINE)) == 1
