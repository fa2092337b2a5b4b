"""The reason of a recompile, taken apart and put into words. Pure.

Dynamo names the first guard that failed (torch/_dynamo/guards.py); two changed dimensions come as one reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "size", "stride", "rank", "requires_grad", "dtype", "type", "length", "presence", "attribute", "mode", "global",
    "value", "state", "identity", "lifetime", "other",
]  # fmt: skip

_TENSOR = re.compile(r"tensor '(?P<name>.+?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<index>\d+))?\. (?P<values>.*)")
_TYPE = re.compile(r"expected type of '(?P<name>.+?)' to be a tensor type.*but found (?P<found>.+)")
_USER_CODE = re.compile(r"\s{2,}# (?P<code>.*?)\s+# (?P<path>[^#\s][^#]*):(?P<line>\d+) in \S+")
_STACK = re.compile(r'^[ \t]*File "(.+)", line (\d+), in ', re.MULTILINE)
_LOCAL = re.compile(r"L\['(\w+)'\]")
_COMPARED = re.compile(r"(?P<left>.+?) (?P<operator>==|is not|is|!=|in|not in) (?P<right>.+)")
_SIZE = re.compile(r"(?P<name>[^\s(]\S*?)\.(?:size\(\)|stride\(\))\[(?P<index>\d+)\]")
_OFFSET = re.compile(r"(?P<name>[^\s(]\S*?)\.storage_offset\(\)")
#: Python's error in a guard that asks an attribute of what is there now: the text names no expression.
_HAS_NOT = re.compile(r"'(?P<type>\w+)' object has no attribute '(?P<attribute>\w+)'")
#: What a guard asks for is not there; the tuple is in most cases the shape of a tensor.
_TOO_SHORT: dict[str, tuple[Kind, str]] = {
    "tuple index out of range": (
        "rank",
        "a tensor, or the one that it is a view of, has fewer dimensions than when compiled",
    ),
    "list index out of range": ("length", "a list has fewer items than when compiled"),
}
#: Dynamo compares sizes and numbers that it keeps symbolic by any relation: ``0 <= n <= 4``, ``(n % 5) != 0``.
_RELATION = re.compile(r"^(?:.*(?:<=|>=|<|>).*|\(.+\) (?:==|!=) .+)$")
_ZERO_ONE = re.compile(r"^2 <= \S+$")
_ADDRESS = re.compile(r"(___check_(?:obj|type)_id\(.+?, )\d+\)")
_CONTAINS = re.compile(r"(?:not )?___dict_contains\('(?P<key>\w+)', (?P<owner>.+)\.__dict__\)")
_HOLDS = re.compile(r"(?:not )?___dict_contains\((?P<key>.+), (?P<owner>[^(),]+)\)$")
_IDENTITY = re.compile(r"___check_(?P<what>obj|type)_id\((?P<name>.+?), ")
_DEALLOCATED = re.compile(r"because (?P<name>.+?) got deallocated")
#: What a graph break left on the stack, and a data-dependent float (torch/utils/_sympy/symbol.py).
_STACK_VALUE = re.compile(r"\b___stack\d+\b(?:\[\d+\])*")
_SYMBOL = re.compile(r"\bzu?f\d+\b")
#: Characters of a guard that are read.
_MOST = 5_000
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

_CONDITION = re.compile(r"(if|elif|while)\b")


@dataclass(frozen=True)
class Guard:
    """One failed guard.

    ``kind``: what the guard looked at; "presence" is None or not, "mode" train or eval, "state" grad mode, autocast and
    the like, "identity" which object it is, "lifetime" that an object still lives. ``name`` is the guarded expression
    as users write it. ``path`` may be the end of a longer path; ``stack`` has whole paths, outermost frame first.
    ``zero_one`` says that a size of 0 or 1 came to code compiled for sizes from 2 on, ``decides`` that the line is a
    condition.
    """

    kind: Kind
    name: str | None
    text: str
    words: str
    dimension: int | None = None
    path: str | None = None
    line: int | None = None
    stack: tuple[tuple[str, int], ...] = ()
    zero_one: bool = False
    decides: bool = False


@dataclass(frozen=True)
class _Part:
    kind: Kind
    name: str | None
    words: str
    dimension: int | None = None


def read(reason: str) -> Guard:
    """Take one reason apart; it may begin with the id of the cache entry ("0/0: ")."""
    whole = re.sub(r"^\d+/\d+: ", "", reason.strip())
    # What is longer was written by no guard, and the patterns take time that grows with its square.
    first = whole.partition("\n")[0].strip()[:_MOST]
    user = _USER_CODE.search(first)
    # Addresses differ from run to run, and have no meaning.
    text = _ADDRESS.sub(r"\1...)", _LOCAL.sub(r"\1", _USER_CODE.split(first)[0].strip() if user else first))
    path, line = (user["path"], int(user["line"])) if user else (None, None)
    stack = tuple((file, int(number)) for file, number in _STACK.findall(whole))
    bare = text.split("  # ")[0].strip()
    part = _classify(bare)
    zero_one = part.kind == "size" and bool(_ZERO_ONE.match(bare))
    words = f"{part.name} has size 0 or 1 in dimension {part.dimension}: {_ZERO_ONE_WORDS}" if zero_one else part.words
    decides = bool(user and _CONDITION.match(user["code"]))
    return Guard(
        part.kind, part.name, text, without_symbols(words), part.dimension, path, line, stack, zero_one, decides
    )


def without_symbols(words: str) -> str:
    """``words`` with the names that Dynamo itself gives to values (``___stack0``, ``zuf0``) described."""
    return _SYMBOL.sub(
        "a number computed from tensor data", _STACK_VALUE.sub("a value from before a graph break", words)
    )


_REMOVE = "remove the graph break"
#: What helps against recompiles of a function that several submodules share.
REMOVE_BREAKS = f"{_REMOVE}s: because of them the function is compiled separately, once for each kind of call"
#: What there is to say of a number that each call changes.
BECOMES_DYNAMIC = "a number that changes is dynamic from its second value on: one compilation more, and no further"
#: What helps where a condition asks for an attribute that changes: a tensor in its place would break the graph.
SET_ONCE = "set it once, before the first call: the code decides by it, so each value gets a compilation of its own"
#: What helps where the first call fills what the second finds.
FILL_BEFORE = "fill it before the first call of what is compiled"


def remove_break(place: str) -> str:
    """``REMOVE_BREAKS`` where it is known that the break at ``place`` is one of them."""
    return f"{_REMOVE} at {place}: because of it the function is compiled separately, once for each kind of call"


def comes_of_break(guard: str, remedy: str | None) -> bool:
    """Whether a recompile with this guard and this advice ends with a graph break."""
    return is_left_by_break(guard) or (remedy or "").startswith(_REMOVE)


#: What helps against recompiles for sizes of which ``is_of_zero_or_one`` is true.
AVOID_ZERO_AND_ONE = "sizes 0 and 1 are always compiled separately: avoid them, or accept the one compilation"
_NEW_SIZE = re.compile(r" size mismatch at index \d+\. expected (\d+), actual (\d+)")


def is_of_zero_or_one(guard: Guard) -> bool:
    """Whether ``guard`` failed because a size is 0 or 1, or no longer is: no dynamic dimension takes both."""
    changed = _NEW_SIZE.search(guard.text)
    return guard.zero_one or (changed is not None and min(int(changed[1]), int(changed[2])) < 2)


def is_left_by_break(guard: str) -> bool:
    """Whether the text of a guard is about a value that a graph break left: without the break there is no guard."""
    return _STACK_VALUE.search(guard) is not None


_ZERO_ONE_WORDS = "Dynamo always compiles sizes 0 and 1 separately, because broadcasting treats them differently"


def _classify(text: str) -> _Part:
    kind: Kind
    match = _TENSOR.match(text)
    if match:
        return _tensor(match)
    if match := _TYPE.match(text):
        name = _readable(match["name"])
        if match["found"] == "<class 'NoneType'>":
            return _Part("presence", name, f"{name} was a tensor when compiled, and is None now")
        return _Part("type", name, f"the type of {name} changed: found {match['found']}")
    if text.startswith("GLOBAL_STATE changed"):
        return _Part("state", None, f"global state changed: {text.partition(':')[2].strip()}")
    if match := _CONTAINS.match(text):
        name = f"{_readable(match['owner'])}.{match['key']}"
        set_when = "not set" if text.startswith("not ") else "set"
        return _Part("attribute", name, f"the attribute {name} was {set_when} on the object itself when compiled")
    if match := _HOLDS.match(text):
        table, held = _readable(match["owner"]), "did not hold" if text.startswith("not ") else "held"
        return _Part("length", table, f"{spoken(table)} {held} {_readable(match['key'])} when compiled")
    if match := _IDENTITY.search(text):
        name = _readable(match["name"])
        if match["what"] == "type":
            return _Part("type", name, f"the type of {name} changed")
        return _Part("identity", name, f"{name} is no longer the same object")
    if "got deallocated" in text or "invalidated" in text:
        match = _DEALLOCATED.search(text)
        owner = _readable(match["name"]) if match else None
        return _Part("lifetime", owner, f"{owner or 'an object'}, which the compiled code was tied to, is gone")
    size = _SIZE.search(text)
    if size and len(_STACK_VALUE.findall(text)) > 1:
        return _Part(
            "size", "___stack0", "the sizes of values from before a graph break changed in relation to each other"
        )
    if size:
        name, index = _readable(size["name"]), int(size["index"])
        return _Part("size", name, f"the size of {name} in dimension {index} no longer satisfies {text}", index)
    if match := _OFFSET.search(text):
        name = _readable(match["name"])
        return _Part("stride", name, f"the storage offset of {name} no longer satisfies {text}")
    if match := _HAS_NOT.fullmatch(text):
        kind = "presence" if match["type"] == "NoneType" else "type"
        now = "None" if kind == "presence" else f"of type {match['type']}"
        return _Part(kind, None, f"a value that had `{match['attribute']}` when compiled is {now} now")
    if text in _TOO_SHORT:
        kind, words = _TOO_SHORT[text]
        return _Part(kind, None, words)
    compared = _COMPARED.match(text)
    # A text may hold the signs of a relation: ``pattern == 'n -> 1 n'``.
    if _RELATION.match(text) and not (compared and compared["right"].startswith(("'", '"'))):
        return _relation(_readable(text))
    if compared:
        left, right = _readable(compared["left"]), compared["right"].strip()
        if compared["operator"] in ("is", "is not") and right not in ("None", "not None", "True", "False"):
            return _same(left, compared["operator"], _readable(right))
        return _comparison(left, right)
    if text.startswith("not "):
        name = _readable(text[4:])
        return _Part("length", name, f"{spoken(name)} is no longer empty")
    return _Part("other", None, text)


def _tensor(match: re.Match[str]) -> _Part:
    kind = _WHAT.get(match["what"].strip(), "type")
    index = int(match["index"]) if match["index"] and kind == "size" else None
    name = _readable(match["name"])
    place = f" in dimension {index}" if index is not None else ""
    values = match["values"].split(". Guard failed on")[0].rstrip(".")
    return _Part(kind, name, f"the {match['what']} of {name} changed{place}: {values}", index)


def _relation(text: str) -> _Part:
    """What is computed of one number, or a relation of several."""
    named = set(_NAMES.findall(text))
    if len(named) != 1 or _STACK_VALUE.search(text) or _SYMBOL.search(text):
        return _Part("value", text, f"{text} no longer holds")
    shorter = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", text)
    return _Part("value", text, f"{named.pop()} changed: the code was compiled for {shorter}")


#: The names in a relation, and not the functions in it.
_NAMES = re.compile(r"(?<![\w.\]])[A-Za-z_]\w*(?:\.\w+|\[\w+\])*(?![\w.\[]|\s*\()")
_LONG_NUMBER = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")


def _same(left: str, operator: str, right: str) -> _Part:
    """A guard on whether two names stand for one object, such as a parameter that is also passed in a dict."""
    were, now = ("one object", "are no longer") if operator == "is" else ("two objects", "are one now")
    return _Part("identity", left, f"{left} and {right} were {were} when compiled, and {now}")


def _comparison(left: str, right: str) -> _Part:
    right = right if len(right) <= _LONGEST else right[: _LONGEST - 1] + "…"
    right = f"{float(right):.4g}" if _DIGITS.fullmatch(right) else right
    if left.startswith("___stack"):
        return _Part("value", None, f"a value that was computed before a graph break is no longer {right}")
    if left.startswith("len("):
        name = left[4:].rstrip(")").removesuffix("._modules")
        return _Part("length", name, f"the length of {spoken(name)} is no longer {right}")
    if right in ("None", "not None"):
        return _Part("presence", left, f"{left} was {right} when compiled, and is no longer")
    if left.endswith(".training") and right in ("True", "False"):
        return _Part("mode", left, f"the module was switched between train and eval mode ({left} was {right})")
    if left.startswith("self."):
        return _Part("attribute", left, f"the attribute {left} is no longer {right}")
    if left.startswith("G["):
        return _Part("global", left, f"the global {spoken(left)} is no longer {right}")
    return _Part("value", left, f"{left} is no longer {right}")


def spoken(name: str) -> str:
    """A guarded name without Dynamo's marks: ``G['COUNT']`` is the global ``COUNT``, ``G['__import_a_dot_b']`` a.b."""
    imported = re.sub(r"^G\['__import_(\w+)'\]", lambda found: found[1].replace("_dot_", "."), name)
    return re.sub(r"^G\['(\w+)'\]", r"\1", imported)


def _readable(name: str) -> str:
    """``self._modules['layers']._modules['0']._parameters['bias']`` -> ``self.layers[0].bias``."""
    name = re.sub(r"^___from_numpy\((.+)\)$", r"\1", _LOCAL.sub(r"\1", name.strip()))
    name = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", name)
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", name)
