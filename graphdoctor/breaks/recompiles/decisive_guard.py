"""Which of the guards that failed made Dynamo compile again. Pure.

Dynamo names one guard for each compilation that there is, the first that failed, and the compilation used last comes
first (``get_and_maybe_log_recompilation_reasons`` in torch/_dynamo/guards.py).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from graphdoctor.breaks.number_uses import names_dimension
from graphdoctor.breaks.recompiles.guard_kinds import spoken
from graphdoctor.breaks.recompiles.guards import Guard, read

#: Reasons of one compilation that are read: as many as Dynamo compiles a function by default.
READ = 8
#: Kinds of guards on what mostly has two values, and on numbers that may be others in each call.
_BACK_AND_FORTH = ("state", "mode", "requires_grad", "dtype", "presence", "type", "rank")
_COUNTERS = ("attribute", "length", "global", "value")
_FEW = re.compile(r" == (?:True|False|None|'.*')$")
_ONE_VALUE = re.compile(r"(\(.+\)) == -?\d[\d.e+-]*$")

#: Kind of guard, what it looks at, dimension.
What = tuple[str, str | None, int | None]


def what(guard: Guard) -> What:
    """What ``guard`` looks at, the same for each of its values: ``(1.0 + t) == 1.1`` is on the number ``1.0 + t``."""
    value = _ONE_VALUE.match(guard.text) if guard.name == guard.text else None
    return guard.kind, value[1] if value else guard.name, guard.dimension


class Compilations:
    """What each compilation of the functions was made for."""

    def __init__(self) -> None:
        self._made: defaultdict[int, dict[str, What]] = defaultdict(dict)

    def guard_of(self, reasons: Sequence[str], frame: int, attempt: int) -> Guard:
        """The guard that made Dynamo compile ``frame`` again, as its compilation ``attempt``.

        A call that is again as it was before a compilation fails the guard which that one was made for, and that says
        nothing. Of the rest, what changes back and forth, such as ``requires_grad`` or a flag, may have its compilation
        already, which only something new, a counter or a size refuses: it passed all that is checked before.
        """
        failed = [(read(reason), reason.partition(": ")[0]) for reason in reasons[:READ]]
        found = _decisive(failed, self._made[frame])
        self._made[frame][f"{frame}/{attempt}"] = found
        return next(guard for guard, _ in failed if what(guard) == found)


def _decisive(failed: Sequence[tuple[Guard, str]], made: Mapping[str, What]) -> What:
    left = [guard for guard, compilation in failed if _counts(guard) or made.get(compilation) != what(guard)]
    first = left[0] if left else failed[0][0]
    if not left or not _goes_back(first) or what(first) not in made.values():
        return what(first)
    new = [guard for guard in left if what(guard) not in made.values() and guard.name != first.name]
    varied = [guard for guard in left if guard.kind == "size" or _counts(guard)]
    return what([*new, *varied, first][0])


def _counts(guard: Guard) -> bool:
    return guard.kind in _COUNTERS and not _goes_back(guard)


def _goes_back(guard: Guard) -> bool:
    if guard.kind in _BACK_AND_FORTH or _FEW.search(guard.text) is not None:
        return True
    return names_dimension(guard.code, spoken(guard.name or ""))
