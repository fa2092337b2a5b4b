"""What lies in the memory of an output of a compiled object, and whether gradients are computed where it was called."""

from __future__ import annotations

from typing import Final

from graphdoctor.static.usage.events import Operation, TrackedObject, compiled
from graphdoctor.static.usage.known_calls import SELF_METHODS

#: Methods of a tensor whose result lies in the memory of the tensor.
VIEWS: Final = frozenset((
    "detach", "view", "reshape", "squeeze", "unsqueeze", "transpose", "permute", "flatten", "contiguous", "view_as",
))  # fmt: skip
#: Attributes of tensors, and of what models give, that lie in the memory of an output.
OUTPUT_PARTS: Final = frozenset(("data", "logits", "loss", "last_hidden_state", "pooler_output", "sample", "T", "mT"))

#: Decorators and context managers without gradients.
GRADLESS: Final = frozenset(("no_grad", "inference_mode"))


def output_of(tracked: TrackedObject) -> Operation | None:
    """The call of a compiled object that gave what this is, or is a part or view of; None where it may be a copy."""
    each: TrackedObject | None = tracked
    while each is not None and not each.unsure and not any(step.name in SELF_METHODS for step in each.steps):
        made = each.maker
        if made is None:
            each = each.owner if not each.name or each.name[1:] in OUTPUT_PARTS else None
        elif made.name == ".__call__":
            return made if made.receiver is not None and compiled(made.receiver) is not None else None
        else:
            each = made.receiver if made.name.startswith(".") and made.name[1:] in VIEWS else None
    return None


def switches_grad(step: Operation | None) -> bool | None:
    """Whether gradients are computed in the context that a call makes; None where it has nothing to do with them."""
    if step is None:
        return None
    name, given = step.name.rpartition(".")[2], step.argument(0, "mode")
    if name == "set_grad_enabled":
        return given is None or given.value is not False
    if name in GRADLESS:
        return given is not None and given.value is not True
    return True if name == "enable_grad" else None
