"""``%load_ext graphdoctor``: the magics ``%graphdoctor model(x)`` and ``%%graphdoctor`` of IPython and Jupyter."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdoctor.in_process.result import Answers

_USAGE = "graphdoctor: give a call to check, as in `%graphdoctor model(x)`, or put `%%graphdoctor` alone above a cell"

#: What stands above the code of a cell that runs under the magic, so that its lines keep their numbers.
COMMENT = "# "


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext graphdoctor``; imports no torch before a magic is used."""
    shell.register_magic_function(_Magic(shell), "line_cell", "graphdoctor")


class _Magic:
    """``%graphdoctor model(x)`` checks one call; ``%%graphdoctor`` records what its cell compiles."""

    __name__ = "graphdoctor"

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def __call__(self, line: str, cell: str | None = None) -> Answers | None:
        return self._checked(line) if cell is None else self._recorded(line, cell)

    def _checked(self, line: str) -> Answers | None:
        from graphdoctor.in_process.checking import check

        try:
            call = ast.parse(line.strip(), mode="eval").body
        except SyntaxError:
            call = None
        if not isinstance(call, ast.Call):
            print(_USAGE, file=sys.stderr)
            return None
        names = self._shell.user_ns
        # The call without the call: what gives function and arguments is evaluated as Python would.
        bound = ast.Call(ast.Name("__given", ast.Load()), call.args, call.keywords)
        function = eval(compile(ast.Expression(call.func), "<graphdoctor>", "eval"), names)
        expression = compile(ast.fix_missing_locations(ast.Expression(bound)), "<graphdoctor>", "eval")
        args, kwargs = eval(expression, names, {"__given": lambda *args, **kwargs: (args, kwargs)})
        return check(function, *args, **kwargs)

    def _recorded(self, line: str, cell: str) -> Answers | None:
        from graphdoctor.in_process.recording import record

        if line.strip():
            print(_USAGE, file=sys.stderr)
            return None
        recording = record()
        with recording:
            done = self._shell.run_cell(f"{COMMENT}%%graphdoctor\n{cell}")
        error = done.error_in_exec
        if error is not None:
            # IPython has shown it; what the compiler raised is a break.
            recording.__exit__(type(error), error, error.__traceback__)
        return recording
