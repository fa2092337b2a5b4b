"""The calls that the script walker knows by their names."""

from __future__ import annotations

import re

from graphdoctor.static.usage.events import COMPILE, DDP, FSDP, FULLY_SHARD

#: Calls whose result is their first argument, wrapped.
WRAPPERS = frozenset((
    "torch.compile", *DDP, *FSDP, "torch.nn.DataParallel", "torch.jit.script",
    "accelerate.utils.compile_regions", "accelerate.utils.extract_model_from_parallel",
))  # fmt: skip

#: Calls that quantise their first argument.
QUANTISE = (
    "torchao.quantization.quantize_",
    "torchao.float8.convert_to_float8_training",
    "torch.ao.quantization.quantize_dynamic",
    "torch.quantization.quantize_dynamic",
)

#: Calls that change their first argument and return it, or nothing.
IN_PLACE = frozenset((*FULLY_SHARD, *QUANTISE))

#: Methods that return their own object.
SELF_METHODS = frozenset((
    ".to", ".cuda", ".cpu", ".half", ".float", ".bfloat16", ".double", ".eval", ".train", ".requires_grad_", ".type",
    ".to_empty", ".compile", ".xpu", ".mps", ".apply", ".share_memory", ".zero_grad",
))  # fmt: skip

#: Classes whose objects wrap what their methods get.
LAUNCHERS = ("Fabric", "Accelerator")
SETUPS = (".setup", ".setup_module", ".prepare", ".prepare_model")

#: What the rules ask of an object: whether one of these was done to it.
WATCHED = WRAPPERS | IN_PLACE | {*COMPILE, *SETUPS}

UNWRAPS = (".unwrap_model",)

#: Class methods of other packages' bases that make an object of the class.
MAKERS = (".from_", ".load_from_checkpoint")


#: A method of the model's own, as Keras has one.
OWN_COMPILE = ".compile of its own"

#: In the names of functions that call what they are given several times, and measure it.
MEASURES = re.compile("bench|measure|profil|timeit|harness|autorange")
