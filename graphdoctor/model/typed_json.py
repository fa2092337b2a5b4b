"""Dataclasses from parsed JSON that is not trusted: each value must be of the kind that its field says.

Messages of a worker, entries of the cache and reports that are read back are checked here, so that a wrong value is
refused where it comes in, and does not fail somewhere else.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

#: Larger whole numbers are no counts, lines or bytes, and neither floats nor other programs can hold them.
_LARGEST = 1 << 53

_Read = Callable[[Any], Any]
Prepare = Callable[[type, Any], Any]


class Mismatch(ValueError):
    """A value of the wrong kind; the text is one line that names its place."""

    def __init__(self, expected: str, raw: Any, where: str = "") -> None:
        super().__init__()
        self._problem = expected if raw is _ABSENT else f"must be {expected}, not {_shown(raw)}"
        self.where = where

    def inside(self, where: str) -> Mismatch:
        """The same in something that is called ``where``."""
        self.where = where + (self.where if self.where.startswith("[") or not self.where else f".{self.where}")
        return self

    def __str__(self) -> str:
        return f"{self.where or 'it'} {self._problem}"


_ABSENT = object()


class Types:
    """Reads values of annotations. ``names`` are those that annotations use and their modules do not import.

    ``prepare`` may change what is read as a dataclass before its fields are looked at. Fields that are not known are
    passed over, fields that are missing get their defaults. ``null_text``: null stands for an empty text. The fields of
    the dataclasses in ``flat`` stand among those of the object that holds them.
    """

    def __init__(
        self,
        names: Mapping[str, Any] | None = None,
        prepare: Prepare = lambda _kind, raw: raw,
        null_text: bool = False,
        flat: frozenset[type] = frozenset(),
    ) -> None:
        self._names = dict(names or {})
        self._prepare = prepare
        self._null_text = null_text
        self._flat = flat
        self._known: dict[Any, _Read] = {}

    def read(self, kind: Any, raw: Any, where: str = "") -> Any:
        """``raw`` as a value of the annotation ``kind``. Raises Mismatch."""
        try:
            return self._reader(kind)(raw)
        except Mismatch as error:
            raise (error.inside(where) if where else error) from None

    def _reader(self, kind: Any) -> _Read:
        if kind not in self._known:
            self._known[kind] = self._made(kind)
        return self._known[kind]

    def _made(self, kind: Any) -> _Read:
        origin, parts = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            inner = self._reader(next(part for part in parts if part is not type(None)))
            return lambda raw: None if raw is None else inner(raw)
        if origin is Literal:
            words = f"one of {', '.join(map(str, parts))}"
            return lambda raw: _checked(isinstance(raw, (str, int)) and raw in parts, raw, words)
        if origin is tuple:
            return self._sequence(parts)
        if origin is frozenset:
            items = self._sequence((parts[0], Ellipsis))
            return lambda raw: frozenset(items(raw))
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(parts[1])
        if is_dataclass(kind):
            return self._record(kind)
        return self._plain(kind)

    def _plain(self, kind: Any) -> _Read:
        if kind is str:
            empty = self._null_text
            return lambda raw: "" if raw is None and empty else _checked(isinstance(raw, str), raw, "a text")
        if kind is bool:
            return lambda raw: _checked(isinstance(raw, bool), raw, "true or false")
        numbers = (int,) if kind is int else (int, float)
        return lambda raw: _checked(_is_number(raw, numbers), raw, "a number")

    def _sequence(self, parts: tuple[Any, ...]) -> _Read:
        length = None if parts[-1] is Ellipsis else len(parts)
        readers = [self._reader(part) for part in parts if part is not Ellipsis]

        def read(raw: Any) -> tuple[Any, ...]:
            _checked(isinstance(raw, list), raw, "a list")
            _checked(length in (None, len(raw)), raw, f"a list of {length}")
            found = []
            for number, item in enumerate(raw):
                try:
                    found.append(readers[0 if length is None else number](item))
                except Mismatch as error:
                    raise error.inside(f"[{number}]") from None
            return tuple(found)

        return read

    def _mapping(self, kind: Any) -> _Read:
        reader = self._reader(kind)

        def read(raw: Any) -> dict[str, Any]:
            found = {}
            for key, item in _checked(isinstance(raw, dict), raw, "an object").items():
                try:
                    found[key] = reader(item)
                except Mismatch as error:
                    raise error.inside(key) from None
            return found

        return read

    def _record(self, kind: Any) -> _Read:
        hints = get_type_hints(kind, localns=self._names)
        flat = {name: self._reader(hint) for name, hint in hints.items() if hint in self._flat}
        readers = {f.name: self._reader(hints[f.name]) for f in fields(kind) if f.name not in flat}
        needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]

        def read(raw: Any) -> Any:
            raw = _checked(isinstance(raw := self._prepare(kind, raw), dict), raw, "an object")
            values = {name: reader(raw) for name, reader in flat.items()}
            for name, reader in readers.items():
                if name in raw:
                    try:
                        values[name] = reader(raw[name])
                    except Mismatch as error:
                        raise error.inside(name) from None
            for name in needed:
                if name not in values:
                    raise Mismatch("is missing", _ABSENT, name)
            return kind(**values)

        return read


def _is_number(raw: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(raw, bool) or not isinstance(raw, kinds):
        return False
    return not isinstance(raw, int) or -_LARGEST <= raw <= _LARGEST


def _checked(is_right: bool, raw: Any, expected: str) -> Any:
    if not is_right:
        raise Mismatch(expected, raw)
    return raw


def _shown(raw: Any) -> str:
    if isinstance(raw, (dict, list)):
        return "an object" if isinstance(raw, dict) else "a list"
    try:
        return json.dumps(raw)[:80]
    except ValueError:  # a number of more digits than Python writes
        return "a number that large"
