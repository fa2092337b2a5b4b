"""A generated program: its text, how it is called, and which features of the grammar it was made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """``text`` is a complete module that binds ``entry``: a function ``f``, or a class ``Net`` to be instantiated.

    ``arguments`` are the roles of the positional arguments, as ``inputs.ROLES`` lists them.
    """

    name: str
    text: str
    entry: str
    arguments: tuple[str, ...]
    features: frozenset[str] = frozenset()
    #: The code of the arguments in the sample that the program declares; empty where it declares none.
    sample: tuple[str, ...] = ()
