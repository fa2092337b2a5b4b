"""Strings of which the text is known, at least in part: joining, formatting and searching them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import Const, Mapping, NameOf, PythonValue, Seq, Value

#: The number of alternatives of one string; with more it is unknown.
_MOST = 16

_SOME = Seq("list", None, PythonValue("str"))
#: A pattern of alternative words. Patterns come from strangers; a search for one of this form takes linear time.
_WORDS = re.compile(r"\w+(\|\w+)*|\(\w+(\|\w+)*\)")


def text(value: Value) -> str | None:
    """The text of ``value``; None where it is no string or not known."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def joined(separator: Value, parts: Iterable[Value]) -> Value:
    """``separator.join(parts)``; a part may be one of several texts."""
    between = text(separator)
    parts = list(parts)
    rows = [[text(option) for option in options(part)] for part in parts]
    if between is None or prod(map(len, rows)) > _MOST or any(None in row for row in rows):
        return _around(parts) if between == "" else PythonValue("str")
    return join(*(Const(between.join(map(str, row))) for row in product(*rows)))


def _around(parts: Sequence[Value]) -> PythonValue:
    """A string that begins and ends like the first and the last of ``parts``, as far as these are known."""
    begin, end = (_end_of(parts[0], 0), _end_of(parts[-1], 1)) if parts else ("", "")
    return PythonValue("str", affixes=(begin, end) if begin or end else None)


def _end_of(part: Value, which: int) -> str:
    if isinstance(part, PythonValue):
        return part.affixes[which] if part.affixes is not None else ""
    return text(part) or ""


def formatted(form: str, args: Sequence[Value]) -> Value:
    """``form.format(*args)``, where each field is an empty pair of braces."""
    pieces = form.split("{}")
    if len(pieces) != len(args) + 1 or any("{" in piece or "}" in piece for piece in pieces):
        return PythonValue("str")
    between = [part for piece, arg in zip(pieces, (*args, Const("")), strict=True) for part in (Const(piece), arg)]
    return joined(Const(""), between[:-1])


#: A field of ``"layer_%d" % i``.
_FIELD = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")


def interpolated(form: str | bytes) -> Value:
    """``form % values``, of which the values are not known."""
    if isinstance(form, bytes):
        return PythonValue("str")
    pieces = _FIELD.split(form)
    return _around([Const(piece) for piece in pieces]) if "%%" not in form else PythonValue("str")


def parts(value: Value) -> Iterable[Value]:
    """The strings that ``join`` takes from ``value``: the items of a list, the keys of a dict."""
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


def method(name: str, of: Value) -> Value:
    """The result of the method ``name`` of an unknown string."""
    if name in ("lower", "upper", "strip") and isinstance(of, PythonValue) and isinstance(of.sample, str):
        return PythonValue("str", sample=getattr(of.sample, name)())
    if name in ("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower"):
        return PythonValue("bool")
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        return Seq("list", None, PythonValue("str"))
    return PythonValue("int") if name in ("find", "count", "index", "rfind") else PythonValue("str")
