"""Groups of options: several commands take them, and each gets their values as one frozen dataclass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])

#: What ``click.option(...)`` returns.
Option = Callable[[Any], Any]


def option_group(parameter: str, kind: type[Any], options: Mapping[str, Option]) -> Callable[[Command], Command]:
    """A decorator that gives a command ``options``, and their values as the argument ``parameter``, one ``kind``.

    ``options`` are by the names of the fields of ``kind``, in the order of the help. Raises TypeError where a field has
    no option, or an option no field.
    """
    names = {field.name for field in fields(kind)}
    if names != set(options):
        raise TypeError(f"{kind.__name__} and its options differ in {', '.join(sorted(names ^ set(options)))}")

    def decorate(command: Command) -> Command:
        @wraps(command)
        def grouped(*args: Any, **values: Any) -> Any:
            group = kind(**{name: values.pop(name) for name in options})
            return command(*args, **{parameter: group}, **values)

        taking: Any = grouped
        # The last decorator applied is shown first.
        for option in reversed(list(options.values())):
            taking = option(taking)
        result: Command = taking
        return result

    return decorate
