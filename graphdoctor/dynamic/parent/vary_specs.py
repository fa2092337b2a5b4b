"""The grammar of ``--vary``: what changes from call to call. No torch here.

x:0=4,5,7               the size of argument x (or of argument number 0) in dimension 0
batch=4,5,7             the size of every input's first dimension; seq=16,17 that of the sequence dimension
x=float32,float16       the dtype of argument x
temperature=0.5,0.7     the value of a number argument
mode=train,eval         module.train() and module.eval()
grad=on,off             with and without gradients (torch.no_grad)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from graphdoctor.dynamic.parent.input_specs import DTYPES, InputSpecError

Kind = Literal["size", "axis", "dtype", "value", "mode", "grad"]
Value = int | float | str

#: Named dimensions: their names on the command line, and what they are.
AXES = {"batch": "batch", "seq": "sequence", "sequence": "sequence"}

_SPEC = re.compile(r"\s*(?P<name>[A-Za-z_]\w*|\d+)\s*(?::\s*(?P<dimension>-?\d+)\s*)?=(?P<values>.*)", re.DOTALL)
_SWITCHES: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "mode": ("mode", ("train", "eval")),
    "grad": ("grad", ("on", "off")),
}


@dataclass(frozen=True)
class Variation:
    """One ``--vary``: ``values`` of what ``name`` names, in order. ``spec`` is the text it was read from."""

    kind: Kind
    name: str
    values: tuple[Value, ...]
    spec: str
    dimension: int | None = None


def parse_variations(specs: tuple[str, ...]) -> tuple[Variation, ...]:
    """Read the ``--vary`` options in order. Raises InputSpecError."""
    return tuple(_variation(spec) for spec in specs)


def _variation(spec: str) -> Variation:
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise error(
            spec, "it is not NAME:DIMENSION=SIZES or NAME=VALUES", "write like 'x:0=4,5,7', 'x=float32,float16'"
        )
    name = match["name"]
    words = tuple(word.strip() for word in match["values"].split(","))
    if not all(words):
        raise error(spec, "a value is missing", "separate the values by single commas")
    if match["dimension"] is not None:
        return Variation("size", name, _sizes(words, spec), spec.strip(), int(match["dimension"]))
    if name in _SWITCHES:
        kind, allowed = _SWITCHES[name]
        wrong = next((word for word in words if word not in allowed), None)
        if wrong is not None:
            raise error(
                spec, f"{wrong!r} is not one of {', '.join(allowed)}", f"write like '{name}={','.join(allowed)}'"
            )
        return Variation(kind, name, words, spec.strip())
    if all(word in DTYPES for word in words):
        return Variation("dtype", name, words, spec.strip())
    if name in AXES and all(word.isascii() and word.isdigit() for word in words):
        return Variation("axis", name, _sizes(words, spec), spec.strip())
    return Variation("value", name, tuple(_number(word, spec) for word in words), spec.strip())


def _sizes(words: tuple[str, ...], spec: str) -> tuple[int, ...]:
    wrong = next((word for word in words if not (word.isascii() and word.isdigit())), None)
    if wrong is not None:
        raise error(spec, f"the size {wrong!r} is not a whole number", "write sizes like 4,5,7")
    return tuple(int(word) for word in words)


def _number(word: str, spec: str) -> Value:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise error(spec, f"{word!r} is neither a number nor a dtype", f"dtypes are {', '.join(DTYPES)}")


def error(spec: str, what: str, remedy: str) -> InputSpecError:
    """The one line for a ``--vary`` that cannot be used."""
    return InputSpecError(f"--vary {spec!r}: {what}; {remedy}")
