"""Where a script stands while it is walked: the function, its scopes, the loops and conditions around the statement."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.static.usage.events import Class, Condition, Function, TrackedObject
from graphdoctor.static.usage.state import State
from graphdoctor.syntax.module import SourceModule


@dataclass(eq=False)
class Frame:
    """One function being walked, or the top level of a module."""

    module: SourceModule
    #: The scopes in which names are looked up, the module's first.
    scopes: tuple[int, ...]
    name: str
    statement: cst.CSTNode
    code: Function | None = None
    #: The class whose body it is.
    owner: Class | None = None
    #: The loops around the statement, those of the callers too.
    loops: tuple[cst.For | cst.While, ...] = ()
    #: The conditions that the statement stands under, those of the calls that led here too.
    path: tuple[Condition, ...] = ()
    #: How many of them held already where the innermost loop began.
    outside: int = 0
    #: The texts of tests that the statement, or a ``return`` before it, stands under, and "try".
    guards: tuple[str, ...] = ()
    #: The caller discards the result of the function.
    unused: bool = False
    #: No gradients are computed.
    without_grad: bool = False
    #: Names declared ``global`` or ``nonlocal``.
    outer: set[str] = field(default_factory=set)
    #: What was returned so far, and the state then.
    returns: list[tuple[TrackedObject, State]] = field(default_factory=list)
