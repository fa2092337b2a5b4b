"""What a failed guard was about, and the same in words: each kind of guard has a text of its own. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "size", "stride", "rank", "requires_grad", "dtype", "type", "length", "presence", "attribute", "mode", "global",
    "value", "state", "identity", "lifetime", "other",
]  # fmt: skip

_TENSOR = re.compile(r"tensor '(?P<name>.+?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<index>\d+))?\. (?P<values>.*)")
_KEYS = re.compile(r"DispatchKeySet\(([^)]*)\)")
_TYPE = re.compile(r"expected type of '(?P<name>.+?)' to be a tensor type.*but found (?P<found>.+)")
LOCAL = re.compile(r"L\['(\w+)'\]")
_COMPARED = re.compile(r"(?P<left>.+?) (?P<operator>==|is not|is|!=|in|not in) (?P<right>.+)")
_SIZE = re.compile(r"(?P<name>[^\s(]\S*?)\.(?:size\(\)|stride\(\))\[(?P<index>\d+)\]")
_OFFSET = re.compile(r"(?P<name>[^\s(]\S*?)\.storage_offset\(\)")
#: Python's error where a guard reads an attribute that the present object lacks: the text names no expression.
_HAS_NOT = re.compile(r"'(?P<type>\w+)' object has no attribute '(?P<attribute>\w+)'")
#: Python's errors where a guard asks for something that is missing; the tuple is in most cases the shape of a tensor.
_TOO_SHORT: dict[str, tuple[Kind, str]] = {
    "tuple index out of range": (
        "rank",
        "a tensor, or the one that it is a view of, has fewer dimensions than when compiled",
    ),
    "list index out of range": ("length", "a list has fewer items than when compiled"),
}
#: Dynamo compares sizes and numbers that it keeps symbolic by any relation: ``0 <= n <= 4``, ``(n % 5) != 0``.
_RELATION = re.compile(r"^(?:.*(?:<=|>=|<|>).*|\(.+\) (?:==|!=) .+)$")
_CONTAINS = re.compile(r"(?:not )?___dict_contains\('(?P<key>\w+)', (?P<owner>.+)\.__dict__\)")
_HOLDS = re.compile(r"(?:not )?___dict_contains\((?P<key>.+), (?P<owner>[^(),]+)\)$")
#: What a guard reads on its way is missing, or no function any more: its text names where it ended.
_MISSING = re.compile(r"(?P<what>getattr failed on source|KeyError on|IndexError on) (?P<name>.+)")
_NO_FUNCTION = re.compile(r"\w+: Not a function on (?P<name>.+)\.__\w+__")
_IDENTITY = re.compile(r"___check_(?P<what>obj|type)_id\((?P<name>.+?), ")
_DEALLOCATED = re.compile(r"because (?P<name>.+?) got deallocated")
#: A value that a graph break left on the stack, and a symbol for a data-dependent float (torch/utils/_sympy/symbol.py).
STACK_VALUE = re.compile(r"\b___stack\d+\b(?:\[\d+\])*")
SYMBOL = re.compile(r"\bzu?f\d+\b")
#: Characters of a compared value that are shown.
_LONGEST = 60
#: A number with more digits than anybody reads.
_DIGITS = re.compile(r"-?\d+\.\d{5,}(?:e[-+]\d+)?")

_WHAT: dict[str, Kind] = {
    "size": "size",
    "stride": "stride",
    "rank": "rank",
    "requires_grad": "requires_grad",
    "dtype": "dtype",
}


@dataclass(frozen=True)
class Part:
    """What a guard looked at (see ``Guard``), the expression that it guarded, and the failure in words."""

    kind: Kind
    name: str | None
    words: str
    dimension: int | None = None


def classify(text: str) -> Part:
    """What the guard ``text`` was about, without the line that asked for it."""
    for reader in _READERS:
        part = reader(text)
        if part is not None:
            return part
    return Part("other", None, text)


def _tensor(text: str) -> Part | None:
    """``tensor 'x' size mismatch at index 0. expected 4, actual 5``."""
    match = _TENSOR.match(text)
    if not match:
        return None
    kind = _WHAT.get(match["what"].strip(), "type")
    index = int(match["index"]) if match["index"] and kind == "size" else None
    name = _readable(match["name"])
    place = f" in dimension {index}" if index is not None else ""
    values = match["values"].split(". Guard failed on")[0].rstrip(".")
    if match["what"].strip() == "dispatch key set" and (words := _of_inference(values)):
        return Part("state", name, f"{name} {words}")
    return Part(kind, name, f"the {match['what']} of {name} changed{place}: {values}", index)


def _of_inference(values: str) -> str:
    """What is said of two sets of dispatch keys that differ in those of autograd alone; empty for others."""
    expected, actual = (set(re.findall(r"\w+", found)) for found in [*_KEYS.findall(values), "", ""][:2])
    differ = expected ^ actual
    if not differ or not all(key.startswith("Autograd") or key == "ADInplaceOrView" for key in differ):
        return ""
    now, then = ("is a tensor", "was none") if differ <= expected else ("is no tensor", "was one")
    return f"{now} of torch.inference_mode, and {then} when compiled"


def _no_tensor(text: str) -> Part | None:
    """``expected type of 'x' to be a tensor type, but found <class 'int'>``."""
    match = _TYPE.match(text)
    if not match:
        return None
    name = _readable(match["name"])
    if match["found"] == "<class 'NoneType'>":
        return Part("presence", name, f"{name} was a tensor when compiled, and is None now")
    return Part("type", name, f"the type of {name} changed: found {match['found']}")


def _state(text: str) -> Part | None:
    """``GLOBAL_STATE changed: grad_mode``."""
    if not text.startswith("GLOBAL_STATE changed"):
        return None
    return Part("state", None, f"global state changed: {text.partition(':')[2].strip()}")


def is_of_holding(text: str) -> bool:
    """Whether a guard asks if an object has an attribute of its own, which was set or deleted after the first call."""
    return _CONTAINS.match(text) is not None or text.startswith("getattr failed on source ")


def is_of_keys(text: str) -> bool:
    """Whether a guard found that a dict lacks a key."""
    return text.startswith("KeyError on ")


def _held(text: str) -> Part | None:
    """``not ___dict_contains('scale', self.__dict__)``, and the same of a table."""
    if match := _CONTAINS.match(text):
        name = f"{_readable(match['owner'])}.{match['key']}"
        set_when = "not set" if text.startswith("not ") else "set"
        return Part("attribute", name, f"the attribute {name} was {set_when} on the object itself when compiled")
    if match := _HOLDS.match(text):
        table, held = _readable(match["owner"]), "did not hold" if text.startswith("not ") else "held"
        return Part("length", table, f"{spoken(table)} {held} {_readable(match['key'])} when compiled")
    return None


def _identity(text: str) -> Part | None:
    """``___check_obj_id(self.config, ...)``, and what became of an object that is no more."""
    if match := _IDENTITY.search(text):
        name = _readable(match["name"])
        if match["what"] == "type":
            return Part("type", name, f"the type of {name} changed")
        if name.endswith(".__code__"):
            name = name.removesuffix(".__code__")
            return Part("identity", name, f"{name} is another function than when compiled")
        return Part("identity", name, f"{name} is no longer the same object")
    if "got deallocated" in text or "invalidated" in text:
        match = _DEALLOCATED.search(text)
        owner = _readable(match["name"]) if match else None
        return Part("lifetime", owner, f"{owner or 'an object'}, which the compiled code was tied to, is gone")
    return None


def _size(text: str) -> Part | None:
    """``2 <= x.size()[0]``, and the same of strides and storage offsets."""
    size = _SIZE.search(text)
    if size and len(STACK_VALUE.findall(text)) > 1:
        return Part(
            "size", "___stack0", "the sizes of values from before a graph break changed in relation to each other"
        )
    if size:
        name, index = _readable(size["name"]), int(size["index"])
        return Part("size", name, f"the size of {name} in dimension {index} no longer satisfies {text}", index)
    if match := _OFFSET.search(text):
        name = _readable(match["name"])
        return Part("stride", name, f"the storage offset of {name} no longer satisfies {text}")
    return None


def _error(text: str) -> Part | None:
    """An error of Python in a guard: ``'NoneType' object has no attribute 'size'``, ``list index out of range``."""
    if match := _HAS_NOT.fullmatch(text):
        kind: Kind = "presence" if match["type"] == "NoneType" else "type"
        now = "None" if kind == "presence" else f"of type {match['type']}"
        return Part(kind, None, f"a value that had `{match['attribute']}` when compiled is {now} now")
    if text in _TOO_SHORT:
        kind, words = _TOO_SHORT[text]
        return Part(kind, None, words)
    return None


def _compared(text: str) -> Part | None:
    """``n == 8``, ``self.mode is None``, ``x is y``, and relations of numbers: ``0 <= n <= 4``."""
    compared = _COMPARED.match(text)
    # A text may hold the signs of a relation: ``pattern == 'n -> 1 n'``.
    if _RELATION.match(text) and not (compared and compared["right"].startswith(("'", '"'))):
        return _relation(_readable(text))
    if not compared:
        return None
    left, right = _readable(compared["left"]), compared["right"].strip()
    if compared["operator"] in ("is", "is not") and right not in ("None", "not None", "True", "False"):
        return _same(left, compared["operator"], _readable(right))
    return _comparison(left, right)


def _missing(text: str) -> Part | None:
    """``getattr failed on source o.cfg``, ``KeyError on d['k']``, ``...Accessor: Not a function on f.__code__``."""
    if match := _NO_FUNCTION.fullmatch(text):
        name = _readable(match["name"])
        return Part("type", name, f"the type of {name} changed: it is no Python function now")
    match = _MISSING.fullmatch(text)
    if match is None:
        return None
    kind: Kind = "attribute" if match["what"].startswith("getattr") else "length"
    name = _readable(match["name"])
    return Part(kind, name, f"{spoken(name)} was there when compiled, and is not now")


def _empty(text: str) -> Part | None:
    """``not self.hooks``."""
    if not text.startswith("not "):
        return None
    name = _readable(text[4:])
    return Part("length", name, f"{spoken(name)} is no longer empty")


#: The readers of guards. The order counts: a later one would also read some texts that are meant for an earlier one.
_READERS = (_tensor, _no_tensor, _state, _held, _identity, _size, _error, _missing, _compared, _empty)


def _relation(text: str) -> Part:
    """A relation of several numbers, or of an expression of one number."""
    named = set(_NAMES.findall(text))
    if len(named) != 1 or STACK_VALUE.search(text) or SYMBOL.search(text):
        return Part("value", text, f"{text} no longer holds")
    shorter = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", text)
    return Part("value", text, f"{named.pop()} changed: the code was compiled for {shorter}")


#: The names in a relation, and not the functions in it.
_NAMES = re.compile(r"(?<![\w.\]])[A-Za-z_]\w*(?:\.\w+|\[\w+\])*(?![\w.\[]|\s*\()")
_LONG_NUMBER = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")


def _same(left: str, operator: str, right: str) -> Part:
    """A guard on whether two names stand for one object, such as a parameter that is also passed in a dict."""
    were, now = ("one object", "are no longer") if operator == "is" else ("two objects", "are one now")
    return Part("identity", left, f"{left} and {right} were {were} when compiled, and {now}")


def _comparison(left: str, right: str) -> Part:
    right = right if len(right) <= _LONGEST else right[: _LONGEST - 1] + "…"
    right = f"{float(right):.4g}" if _DIGITS.fullmatch(right) else right
    if left.startswith("___stack"):
        return Part("value", None, f"a value that was computed before a graph break is no longer {right}")
    if left.startswith("len("):
        name = left[4:].rstrip(")").removesuffix("._modules")
        return Part("length", name, f"the length of {spoken(name)} is no longer {right}")
    if right in ("None", "not None"):
        return Part("presence", left, f"{left} was {right} when compiled, and is no longer")
    if left.endswith(".training") and right in ("True", "False"):
        return Part("mode", left, f"the module was switched between train and eval mode ({left} was {right})")
    if left.startswith("self."):
        return Part("attribute", left, f"the attribute {left} is no longer {right}")
    if left.startswith("G["):
        return Part("global", left, f"the global {spoken(left)} is no longer {right}")
    return Part("value", left, f"{left} is no longer {right}")


def spoken(name: str) -> str:
    """A guarded name without Dynamo's marks: ``G['COUNT']`` is the global ``COUNT``, ``G['__import_a_dot_b']`` a.b."""
    imported = re.sub(r"^G\['__import_(\w+)'\]", lambda found: found[1].replace("_dot_", "."), name)
    return re.sub(r"^G\['(\w+)'\]", r"\1", imported)


def _readable(name: str) -> str:
    """``self._modules['layers']._modules['0']._parameters['bias']`` -> ``self.layers[0].bias``."""
    name = re.sub(r"^___from_numpy\((.+)\)$", r"\1", LOCAL.sub(r"\1", name.strip()))
    name = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", name)
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", name)
