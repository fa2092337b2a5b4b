"""Values of arguments that compiled code holds for (``L['careful'] == True``), and which differ over ranks. Pure.

Dynamo writes such a guard with the line that asked for the value (torch/_dynamo/guards.py, get_verbose_code_part).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphdoctor.breaks.recompiles import guards

#: A guard on a plain value of a local variable or its attribute, with the line of the program behind it.
_PLAIN = re.compile(r"L\['\w+'\]\S* == (?:True|False|None|-?\d{1,9}|'[^'\n]{1,30}') +# .*  # .+:\d+ in \w+")


@dataclass(frozen=True)
class Guarded:
    """``name`` had ``value`` when the function was compiled; ``line`` of ``path`` asked for it."""

    path: str
    line: int
    name: str
    value: str


def guarded(payload: str) -> Iterator[Guarded]:
    """The plain values in the text of a compilation's guards."""
    for text in _PLAIN.findall(payload):
        guard = guards.read(text)
        name, equals, value = guard.text.partition(" == ")
        if guard.path is not None and guard.line is not None and equals:
            yield Guarded(guard.path, guard.line, name, value)


def deciding(some: Sequence[Guarded], others: Sequence[Guarded]) -> tuple[str, str, str] | None:
    """What all ``some`` processes have another value of than all ``others``: name, values of some, values of others.

    Of several the one that was asked for last, which is the closest to what follows; None where there is none.
    """
    for value in sorted(some, key=lambda value: -value.line):
        here, there = (
            {other.value for other in values if (other.line, other.name) == (value.line, value.name)}
            for values in (some, others)
        )
        if there and not here & there:
            return value.name, _listed(here), _listed(there)
    return None


def _listed(values: set[str]) -> str:
    return " or ".join(sorted(values))
