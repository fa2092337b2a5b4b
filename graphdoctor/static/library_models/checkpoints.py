"""``checkpoint``: a function that runs in the forward pass, and again in the backward pass."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import Value
from graphdoctor.static.interp import calls
from graphdoctor.static.interp.interpreter import Interpreter

_IN_PARTS = "torch.utils.checkpoint.checkpoint_sequential"
NAMES: tuple[str, ...] = ("torch.utils.checkpoint.checkpoint", _IN_PARTS)

#: Arguments of ``checkpoint`` itself; the others are those of the function.
_OWN = ("segments", "use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


def call(
    interpreter: Interpreter, node: cst.CSTNode, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """The result of the function ``args[0]``, called with the other arguments."""
    frame = interpreter.frame
    passed = {name: value for name, value in kwargs.items() if name not in _OWN}
    # Dynamo does not trace ``checkpoint_sequential``: it compiles the layers by themselves. Its second argument is the
    # number of segments.
    in_parts = name == _IN_PARTS
    inputs = args[2:] if in_parts else args[1:]
    before, frame.recomputed = frame.recomputed, frame.compiled and not in_parts
    try:
        return join(*(calls.apply(interpreter, node, option, inputs, passed) for option in options(args[0])))
    finally:
        frame.recomputed = before
