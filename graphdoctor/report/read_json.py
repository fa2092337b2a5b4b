"""Reads back what ``as_json`` wrote: a diagnosis from the JSON contract ``graphdoctor/1``.

Fields that are not known are passed over, fields that are missing get their defaults, and a value of the wrong kind is
an error that names its place.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from graphdoctor.advise.model import Advice
from graphdoctor.model import SCHEMA, Diagnosis, Finding, Location
from graphdoctor.run_model import DynamicRun, Frame, Verification


class ReadError(Exception):
    """JSON that is no report of graphdoctor; the text is one line for the user."""


def read(text: str) -> Diagnosis:
    """The diagnosis that ``text`` holds. Raises ReadError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ReadError(f"is no report of graphdoctor: it does not begin with the schema {SCHEMA!r}")
    tool = _table(data.get("tool"), "tool")
    diagnosis: Diagnosis = _value(Diagnosis, {**data, "tool_version": tool.get("version")}, "")
    return diagnosis


def _value(kind: Any, raw: Any, where: str) -> Any:
    """``raw`` as a value of the annotation ``kind``."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if raw is None else _value(next(part for part in parts if part is not type(None)), raw, where)
    if origin is Literal:
        return _checked(raw in parts, raw, f"one of {', '.join(map(str, parts))}", where)
    if origin is tuple:
        return _sequence(parts, raw, where)
    if get_origin(kind) is not None and issubclass(get_origin(kind), Mapping):
        return {key: _value(parts[1], item, f"{where}.{key}") for key, item in _table(raw, where).items()}
    if is_dataclass(kind):
        return _record(kind, raw, where)
    if kind is str:
        # The contract writes empty texts as null.
        return "" if raw is None else _checked(isinstance(raw, str), raw, "a text", where)
    if kind is bool:
        return _checked(isinstance(raw, bool), raw, "true or false", where)
    is_number = isinstance(raw, int if kind is int else (int, float)) and not isinstance(raw, bool)
    return _checked(is_number, raw, "a number", where)


def _record(kind: Any, raw: Any, where: str) -> Any:
    if kind is Frame and isinstance(raw, list):
        raw = dict(zip(("path", "line", "function"), raw, strict=False))
    table = _table(raw, where)
    values = {}
    for field in fields(kind):
        name = f"{where}.{field.name}".lstrip(".")
        if field.name == "location" and kind is Finding:
            values["location"] = _record(Location, table, where)
        elif field.name in table:
            values[field.name] = _value(_hints(kind)[field.name], table[field.name], name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ReadError(f"{name} is missing")
    return kind(**values)


def _sequence(parts: tuple[Any, ...], raw: Any, where: str) -> tuple[Any, ...]:
    _checked(isinstance(raw, list), raw, "a list", where)
    if parts[-1] is Ellipsis:
        return tuple(_value(parts[0], item, f"{where}[{number}]") for number, item in enumerate(raw))
    _checked(len(raw) == len(parts), raw, f"a list of {len(parts)}", where)
    return tuple(_value(part, item, where) for part, item in zip(parts, raw, strict=True))


def _table(raw: Any, where: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = _checked(isinstance(raw, dict), raw, "an object", where)
    return table


def _checked(is_right: bool, raw: Any, expected: str, where: str) -> Any:
    if not is_right:
        raise ReadError(f"{where or 'the report'} must be {expected}, not {json.dumps(raw)[:80]}")
    return raw


@cache
def _hints(kind: Any) -> dict[str, Any]:
    # These the model imports for type checkers alone.
    return get_type_hints(kind, localns={kind.__name__: kind for kind in (Advice, DynamicRun, Verification)})
