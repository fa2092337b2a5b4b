"""What to do about a recompile where no remedy can be run, or none helps. Pure."""

from __future__ import annotations

import re

from graphdoctor.breaks.recompiles.guard_kinds import is_of_holding
from graphdoctor.breaks.recompiles.guards import (
    AVOID_ZERO_AND_ONE,
    BECOMES_DYNAMIC,
    FILL_BEFORE,
    REMOVE_BREAKS,
    SET_BEFORE,
    SET_ONCE,
)
from graphdoctor.dynamic.recompiles.causes import Cause

_NUMBER = re.compile(r" == -?\d[\d.e+-]*$")

#: What to do where nothing was run, or nothing that was run helps.
_BY_KIND = {
    "size": "the code needs this size as a number, so each is compiled by itself: pad to a few fixed sizes (buckets)",
    "stride": "call `.contiguous()` on it before the compiled function",
    "rank": "pass tensors of one rank (`unsqueeze`); one compilation for each rank is the least otherwise",
    "requires_grad": "keep `requires_grad` as it is once the model is compiled; set it before the first call",
    "dtype": "pass tensors of one dtype; one compilation for each dtype is the least otherwise",
    "type": "pass values of one type; one compilation for each type is the least otherwise",
    "length": "keep the length: a tensor in place of a list, a buffer of fixed size in place of one that grows",
    "presence": "pass a neutral tensor in place of None, or accept one compilation for each of the two",
    "attribute": "set it once, before the model is compiled, or keep the number in a tensor buffer",
    "mode": "one compilation for train and one for eval mode is the least; make both in the warm-up",
    "global": "pass it as an argument, or keep the number in a tensor",
    "value": "one compilation for each value is the least: the code decides by it; pass as few values as you can",
    "state": "one compilation for each is the least, as for training and for evaluation under no_grad; else keep "
    "grad mode, autocast and default dtype as they are",
    "identity": "pass the same object each time; one compilation for each object is the least",
    "lifetime": "do not use `id()` or the object itself as a key in compiled code",
}


def advice(cause: Cause) -> str | None:
    """What to do about ``cause`` where nothing that was run helps."""
    if cause.guard.zero_one:
        return AVOID_ZERO_AND_ONE
    is_number = cause.guard.kind == "value" and _NUMBER.search(cause.guard.text)
    if is_number and len(cause.calls) == 1 and not cause.at_limit:
        return BECOMES_DYNAMIC
    if cause.shared:
        return REMOVE_BREAKS
    if is_of_holding(cause.guard.text):
        return SET_BEFORE
    if cause.guard.kind == "length" and len(cause.calls) == 1 and (cause.guard.name or "").startswith(("self.", "G[")):
        return FILL_BEFORE
    if cause.guard.kind == "attribute" and cause.guard.decides:
        return SET_ONCE
    return _BY_KIND.get(cause.guard.kind)
