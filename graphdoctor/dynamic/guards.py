"""The reason of a recompile, taken apart and put into words. Pure.

Dynamo names the first guard that failed (torch/_dynamo/guards.py); two changed dimensions come as one reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TENSOR = re.compile(r"tensor '(?P<name>.+?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<index>\d+))?\. (?P<values>.*)")
_USER_CODE = re.compile(r"\s{2,}# (?P<code>.*?)\s+# (?P<path>\S+):(?P<line>\d+) in \S+")
_LOCAL = re.compile(r"L\['(\w+)'\]")
_COMPARED = re.compile(r"(?P<left>.+?) (?P<operator>==|is not|is|!=|in|not in) (?P<right>.+)")
_SIZE = re.compile(r"(?P<name>\S+?)\.(?:size\(\)|stride\(\))\[(?P<index>\d+)\]")
_WHAT = {"size": "size", "stride": "stride", "rank": "rank", "requires_grad": "requires_grad", "dtype": "dtype"}


@dataclass(frozen=True)
class Guard:
    """One failed guard.

    ``kind``: "size", "stride", "rank", "requires_grad", "dtype", "tensor", "length", "presence" (None or not),
    "attribute" (of a module), "global", "value", "state" (grad mode, autocast and the like), "lifetime", "other".
    ``name`` is the guarded expression as users write it; ``path`` may be the end of a longer path.
    """

    kind: str
    name: str | None
    text: str
    words: str
    dimension: int | None = None
    path: str | None = None
    line: int | None = None


#: What to do, by kind; only the kinds in ``recompile.SETTINGS`` have a setting that is tried out.
REMEDIES = {
    "size": "torch.compile(dynamic=True), or torch._dynamo.mark_dynamic on the dimension that varies",
    "stride": "call .contiguous() before the compiled function",
    "rank": "pass tensors of one rank (unsqueeze before the call)",
    "requires_grad": "pass tensors that agree in requires_grad (detach before the call)",
    "dtype": "pass tensors of one dtype",
    "length": "pass a tensor (torch.stack) in place of the list",
    "presence": "pass a neutral tensor in place of None; one compilation for each case is the least otherwise",
    "attribute": "keep the number in a tensor buffer, or set torch._dynamo.config.allow_unspec_int_on_nn_module",
    "global": "keep the number in a tensor, or pass it as an argument",
    "value": "pass the number as a tensor; a flag costs one compilation for each value",
    "state": "call under the same grad mode, autocast and default dtype each time",
    "lifetime": "do not guard on the identity of a temporary object (id(), a key by object)",
}


def read(reason: str) -> Guard:
    """Take one reason apart; it may begin with the id of the cache entry ("0/0: ")."""
    first = re.sub(r"^\d+/\d+: ", "", reason.strip()).splitlines()[0].strip()
    user = _USER_CODE.search(first)
    text = _LOCAL.sub(r"\1", _USER_CODE.split(first)[0].strip()) if user else _LOCAL.sub(r"\1", first)
    path, line = (user["path"], int(user["line"])) if user else (None, None)
    kind, name, dimension, words = _classify(text)
    return Guard(kind, name, text, words, dimension, path, line)


def _classify(text: str) -> tuple[str, str | None, int | None, str]:
    """Kind, name, dimension and words."""
    text = text.split("  # ")[0].strip()
    match = _TENSOR.match(text)
    if match:
        kind = _WHAT.get(match["what"].strip(), "tensor")
        index = int(match["index"]) if match["index"] else None
        name = _readable(match["name"])
        place = f" in dimension {index}" if index is not None and kind == "size" else ""
        return (
            kind,
            name,
            index if kind == "size" else None,
            f"the {match['what']} of {name} changed{place}: {match['values']}",
        )
    if text.startswith("GLOBAL_STATE changed"):
        return "state", None, None, f"global state changed: {text.partition(':')[2].strip()}"
    if "got deallocated" in text or "invalidated" in text or "check_obj_id" in text:
        return "lifetime", None, None, "an object that the compiled code was tied to is gone"
    size = _SIZE.search(text)
    if size:
        name, index = _readable(size["name"]), int(size["index"])
        return "size", name, index, f"the size of {name} in dimension {index} no longer satisfies {text}"
    compared = _COMPARED.match(text)
    if compared:
        return _comparison(_readable(compared["left"]), compared["right"].strip())
    if text.startswith("not "):
        return "length", _readable(text[4:]), None, f"{_readable(text[4:])} is no longer empty"
    return "other", None, None, text


def _comparison(left: str, right: str) -> tuple[str, str | None, int | None, str]:
    if left.startswith("len("):
        return "length", left[4:].rstrip(")"), None, f"the length of {left[4:].rstrip(')')} is no longer {right}"
    if right in ("None", "not None"):
        return "presence", left, None, f"{left} was {right} when compiled, and is no longer"
    if left.startswith("self."):
        return "attribute", left, None, f"the attribute {left} is no longer {right}"
    if left.startswith("G["):
        return "global", left, None, f"the global {_global(left)} is no longer {right}"
    return "value", left, None, f"{left} is no longer {right}"


def _global(name: str) -> str:
    return re.sub(r"^G\['(\w+)'\]", r"\1", name)


def _readable(name: str) -> str:
    """``self._modules['lin']._parameters['bias']`` -> ``self.lin.bias``."""
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", _LOCAL.sub(r"\1", name.strip()))
