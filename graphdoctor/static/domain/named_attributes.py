"""Attributes whose names the code does not spell out.

Names may be computed, ``setattr(self, f"layer_{i}", layer)``: an object keeps these under ``layer_*``, with one value
for all names of that form. In some dicts the attributes are the entries: ``__getattr__ = dict.get``.
"""

from __future__ import annotations

from collections import OrderedDict

from graphdoctor.static.domain.program import ClassInfo
from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import Const, External, Instance, PythonValue, Value

#: The number of attributes that a partly known name may stand for; with more the value is unknown.
_MOST = 8


def store(instance: Instance, name: Value, value: Value) -> bool:
    """Store ``value`` under ``name``, which may be known in part; False where it is unknown."""
    if isinstance(name, Const) and isinstance(name.value, str):
        instance.attrs[name.value] = value
        return True
    if not isinstance(name, PythonValue) or name.affixes is None:
        return False
    key = "*".join(name.affixes)
    known = instance.attrs.get(key)
    instance.attrs[key] = value if known is None else join(known, value)
    return True


def names_between(instance: Instance, begin: str, end: str) -> list[str]:
    """The attributes whose names begin and end so, where they are few."""
    found = [name for name in instance.attrs if name.startswith(begin) and name.endswith(end)]
    return found[:_MOST]


def named_in_part(instance: Instance, name: str) -> Value | None:
    """The values that are stored under partly known names that match ``name``."""
    for key, value in instance.attrs.items():
        begin, star, end = key.partition("*")
        if star and len(name) > len(begin) + len(end) and name.startswith(begin) and name.endswith(end):
            return value
    return None


_DICTS = frozenset(("builtins.dict", "collections.OrderedDict"))
_GETTERS = frozenset(f"{name}.{method}" for name in _DICTS for method in ("get", "__getitem__"))
_SETTERS = frozenset(f"{name}.__setitem__" for name in _DICTS)


def reads_entry(info: ClassInfo, name: str) -> bool:
    """Whether a method of ``dict`` looks up the attribute ``name`` of an object, which the class itself has not."""
    if not _is_one_of(info.lookup("__getattr__"), _GETTERS) or not _is_dict(info):
        return False
    return not hasattr(OrderedDict, name) and info.lookup(name) is None


def stores_entry(info: ClassInfo) -> bool:
    """Whether a method of ``dict`` stores the attributes of an object as entries."""
    return _is_one_of(info.lookup("__setattr__"), _SETTERS) and _is_dict(info)


def _is_one_of(found: Value | None, names: frozenset[str]) -> bool:
    return isinstance(found, External) and found.qualname in names


def _is_dict(info: ClassInfo) -> bool:
    return bool(info.externals) and set(info.externals) <= _DICTS
