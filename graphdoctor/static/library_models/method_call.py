"""A call of a method that is not scanned code."""

from __future__ import annotations

from typing import Any

import libcst as cst

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.fast_frozen import frozen
from graphdoctor.static.domain.values import UNKNOWN, Value
from graphdoctor.static.interp.interpreter import Interpreter


@frozen
class MethodCall:
    """``receiver.name(*args, **kwargs)``, at ``node``."""

    node: cst.CSTNode
    #: Each kind of receiver has a handler of its own, which knows of what class it is.
    receiver: Any
    name: str
    args: tuple[Value, ...]
    kwargs: dict[str, Value]
    #: Whether the surrounding expression uses the value.
    used: bool

    def argument(self, position: int, *names: str) -> Value:
        """The argument at ``position``, or by one of its ``names``; an unknown value where there is none."""
        if position < len(self.args):
            return self.args[position]
        return next((self.kwargs[name] for name in names if name in self.kwargs), UNKNOWN)

    @property
    def written_receiver(self) -> cst.BaseExpression | None:
        """The expression before the dot; None where Python itself calls the method."""
        func = self.node.func if isinstance(self.node, cst.Call) else None
        return func.value if isinstance(func, cst.Attribute) else None

    def emit(self, interpreter: Interpreter, qualname: str) -> None:
        """Tell the rules of it, as a call of ``qualname``."""
        interpreter.emit(
            Call,
            self.node,
            qualname=qualname,
            args=self.args,
            kwargs=self.kwargs,
            receiver=self.receiver,
            used=self.used,
        )
