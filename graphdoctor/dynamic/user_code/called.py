"""What a call that the user wrote as a target makes, such as ``Net(4, hidden=8)``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

_WRITTEN_AS = "<target>"


class NoTarget(Exception):
    """There is nothing to run; the text is one line: what is missing, and what to give."""


def result_of(module: ModuleType, call: str) -> Any:
    """The result of ``call``, whose names are those of ``module``.

    Raises NoTarget where it does not fit what is called, or what the code raises.
    """
    try:
        return eval(compile(call, _WRITTEN_AS, "eval"), vars(module))
    except (AttributeError, NameError, TypeError) as error:
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if last is None or last.tb_frame.f_code.co_filename != _WRITTEN_AS:
            raise
        raise NoTarget(f"{call} cannot be made: {error}") from None
