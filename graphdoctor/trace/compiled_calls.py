"""Which compiled function called which: a call that recompiles fails the same guard in all it comes through. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from graphdoctor.breaks.grouping import resumed
from graphdoctor.breaks.locations import Places, function_at
from graphdoctor.trace.process import Code, Process

#: Path and name. What goes on after a break is the function itself.
Function = tuple[str, str]


class CompiledCalls:
    """The calls of ``process``; ``text`` gives the source of a path, or nothing."""

    def __init__(self, process: Process, places: Places, text: Callable[[str], str]) -> None:
        self._process = process
        self._places = places
        self._text = text

    def outermost(self, code: Code) -> Function:
        """The compiled function that the call of ``code`` began with: itself where no compiled one called it."""
        called = self._called_by(code)
        first = {function for function in called if not self._callers[function] - {function}}
        return min(first or called, default=self._function(code))

    @cached_property
    def _compiled(self) -> dict[Function, set[Code]]:
        found: dict[Function, set[Code]] = {}
        for code in self._process.costs:
            found.setdefault(self._function(code), set()).add(code)
        return found

    @cached_property
    def _callers(self) -> dict[Function, set[Function]]:
        """The compiled functions that called each compiled function."""
        return {
            function: {caller for code in codes for caller in self._called_by(code)}
            for function, codes in self._compiled.items()
        }

    def _called_by(self, code: Code) -> set[Function]:
        lines = self._process.callers.get(code, set())
        return {found for path, line in lines if (found := self._at(path, line, "")) in self._compiled}

    def _function(self, code: Code) -> Function:
        return self._at(code.path, code.line, resumed(code.name))

    def _at(self, path: str, line: int, name: str) -> Function:
        shown = self._places.show(path)
        return shown, function_at(self._text(path), line) or name
