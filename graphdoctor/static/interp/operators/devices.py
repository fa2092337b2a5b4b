"""Tests of the type of a device, as ``x.device.type == "mps"``: few compile for others than a CPU or CUDA."""

from __future__ import annotations

from collections.abc import Iterable

from graphdoctor.static.domain.values import Const, PythonValue, Value

_USUAL = ("cpu", "cuda")


def is_rare(asked: Value, named: Iterable[Value]) -> bool:
    """Whether ``asked`` is the type of a device, and ``named`` are types that code is rarely compiled for."""
    is_type = type(asked) is PythonValue and asked.family == "device" and asked.kind == "str"
    return is_type and all(type(v) is Const and isinstance(v.value, str) and v.value not in _USUAL for v in named)
