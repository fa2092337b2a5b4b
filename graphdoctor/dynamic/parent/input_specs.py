"""The grammar of ``--input``: ``[name=]spec``, where spec is a tensor or a Python constant. No torch here.

float32[8,3,224,224]          a tensor of normally distributed numbers
input_ids=int64[2,16]<1000    a keyword argument; integers from 0 up to 1000, the bound excluded
bool[4]    float32[]          random truth values; a scalar tensor
3   0.5   true   none         Python constants
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
COMPLEX = ("complex64", "complex128")
DTYPES = (*FLOATS, *INTEGERS, *COMPLEX, "bool")

#: Integers are drawn below this bound when the spec gives none: small enough to index into most embeddings.
DEFAULT_BOUND = 2

_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
_TENSOR = re.compile(r"([A-Za-z]\w*)\s*\[([^\]]*)\]\s*(?:<\s*(.+))?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


class InputSpecError(ValueError):
    """An ``--input`` that cannot be read; the text is one line: what, where, and what to write instead."""


@dataclass(frozen=True)
class TensorSpec:
    """A random tensor; ``bound`` is the exclusive upper end of integer values."""

    dtype: str
    shape: tuple[int, ...]
    bound: int = DEFAULT_BOUND


@dataclass(frozen=True)
class Argument:
    """One argument; ``name`` is None for a positional one."""

    name: str | None
    value: TensorSpec | bool | int | float | None


def parse_inputs(specs: tuple[str, ...]) -> tuple[Argument, ...]:
    """Read the ``--input`` options in order. Raises InputSpecError."""
    arguments = tuple(_argument(spec) for spec in specs)
    named: set[str] = set()
    for argument, spec in zip(arguments, specs, strict=True):
        if argument.name is None and named:
            raise _error(spec, "a positional input follows a named one", "put the positional inputs first")
        if argument.name in named:
            raise _error(spec, f"the name {argument.name!r} is given twice", "give each name once")
        if argument.name is not None:
            named.add(argument.name)
    return arguments


def _argument(spec: str) -> Argument:
    match = _NAME.fullmatch(spec)
    name, text = (match[1], match[2]) if match else (None, spec)
    return Argument(name, _value(text.strip(), spec))


def _value(text: str, spec: str) -> TensorSpec | bool | int | float | None:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    match = _TENSOR.fullmatch(text)
    if match:
        return _tensor(match[1], match[2], match[3], spec)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise _error(
        spec, "it is neither a tensor nor a number", "write like 'float32[8,3]', 'ids=int64[2,16]<1000' or '3'"
    )


def _tensor(dtype: str, dims: str, bound: str | None, spec: str) -> TensorSpec:
    if dtype not in DTYPES:
        raise _error(spec, f"{dtype!r} is not a dtype", f"use one of {', '.join(DTYPES)}")
    shape = tuple(_dimension(d, spec) for d in dims.split(",")) if dims.strip() else ()
    if bound is None:
        return TensorSpec(dtype, shape)
    if dtype not in INTEGERS:
        raise _error(spec, f"a bound is given for {dtype}", f"give '<' only with {', '.join(INTEGERS)}")
    if not bound.isascii() or not bound.isdigit() or int(bound) < 1:
        raise _error(spec, f"the bound {bound!r} is not a positive integer", "write like 'int64[2,16]<1000'")
    return TensorSpec(dtype, shape, int(bound))


def _dimension(text: str, spec: str) -> int:
    text = text.strip()
    if not text.isascii() or not text.isdigit():
        raise _error(spec, f"the size {text!r} is not a whole number", "write sizes like [8,3,224,224]")
    return int(text)


def _error(spec: str, what: str, remedy: str) -> InputSpecError:
    return InputSpecError(f"--input {spec!r}: {what}; {remedy}")
