"""Attributes whose names are put together from text: ``setattr(self, f"layer_{i}", layer)``.

An object keeps them under ``layer_*``: one value for all names that begin and end so.
"""

from __future__ import annotations

from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import Const, Instance, PythonValue, Value

#: As many attributes as a name that is known in part may be read as.
_MOST = 8


def store(instance: Instance, name: Value, value: Value) -> bool:
    """Store ``value`` under ``name``, of which a part may be known; False where nothing of it is."""
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
    """The attributes, a few of them, whose names begin and end so."""
    found = [name for name in instance.attrs if name.startswith(begin) and name.endswith(end)]
    return found[:_MOST]


def named_in_part(instance: Instance, name: str) -> Value | None:
    """What is stored under names of which ``name`` may be one."""
    for key, value in instance.attrs.items():
        begin, star, end = key.partition("*")
        if star and len(name) > len(begin) + len(end) and name.startswith(begin) and name.endswith(end):
            return value
    return None
