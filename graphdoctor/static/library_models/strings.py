"""Text that is known: what joining it, formatting it and searching in it give."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphdoctor.static.domain.values import Const, Mapping, NameOf, PythonValue, Seq, Value

_SOME = Seq("list", None, PythonValue("str"))
#: One of some words: to search for it takes no longer than the texts are long, whoever wrote them.
_WORDS = re.compile(r"\w+(\|\w+)*|\(\w+(\|\w+)*\)")


def text(value: Value) -> str | None:
    """The text that ``value`` is; None where it is another value or not known."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def joined(separator: Value, parts: Iterable[Value]) -> Value:
    """``separator.join(parts)``."""
    between, texts = text(separator), [text(part) for part in parts]
    known = [part for part in texts if part is not None]
    return PythonValue("str") if between is None or len(known) < len(texts) else Const(between.join(known))


def parts(value: Value) -> Iterable[Value]:
    """What ``join`` takes out of ``value``: the items of a list, the keys of a table."""
    if isinstance(value, Seq) and value.items is not None:
        return value.items
    if isinstance(value, Mapping) and value.rest is None:
        return [Const(key) for key, _ in value.items]
    return [PythonValue("str")]


def found(pattern: Value, where: Value) -> Value:
    """``re.findall(pattern, where)``, where the pattern is one of some words."""
    searched, wanted = text(where), text(pattern)
    if wanted is None or not _WORDS.fullmatch(wanted):
        return _SOME
    if isinstance(where, NameOf) and where.info is not None:
        return Seq("list", tuple(map(Const, where.info.found_in_name(wanted))))
    return _SOME if searched is None else Seq("list", tuple(map(Const, re.findall(wanted, searched))))


def method(name: str) -> Value:
    """What the method ``name`` of a text that is not known gives."""
    if name in ("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower"):
        return PythonValue("bool")
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        return Seq("list", None, PythonValue("str"))
    return PythonValue("int") if name in ("find", "count", "index", "rfind") else PythonValue("str")
