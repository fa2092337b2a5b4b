"""A warning is issued in compiled code.

What: `warnings.warn`, `warnings.simplefilter`, `warnings.filterwarnings` and Lightning's `rank_zero_warn`. Also
attention layers of torch that get an attention mask of floats and a padding mask of bools, or the reverse: they warn.

Why: The warnings machinery is Python state outside the graph. Dynamo splits the graph at each call, also when
the warning is filtered out or was already shown. Inside `with warnings.catch_warnings():` nothing of the
function is compiled. A warning behind a test is only possible, since nothing shows that it is
issued, unless the defaults of the arguments lead there, or the block also does the work of a case.

Fix: Check and warn once in `__init__`, or put the call under `if not torch.compiler.is_compiling():`. Set
filters in the program that runs the model. Give both masks of an attention layer in bool.
"""

from __future__ import annotations

from functools import cache

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import NONE, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._message import certainty_of_message
from ._shared import certainty, code, consequence

CODE = "GD104"
NAME = "warnings-warn"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0092")
TORCH = ">=2.6"

WARNERS = ("warn", "warn_explicit", "simplefilter", "filterwarnings", "resetwarnings")

#: By layer of torch: each attention mask and the padding mask that it is combined with, with their places among the
#: arguments (torch/nn/modules/activation.py and transformer.py).
_OF_DECODERS = ((("tgt_mask", 2), ("tgt_key_padding_mask", 4)), (("memory_mask", 3), ("memory_key_padding_mask", 5)))
COMBINED_MASKS = {
    "MultiheadAttention": ((("attn_mask", 5), ("key_padding_mask", 3)),),
    "TransformerEncoderLayer": ((("src_mask", 1), ("src_key_padding_mask", 2)),),
    "TransformerEncoder": ((("mask", 1), ("src_key_padding_mask", 2)),),
    "TransformerDecoderLayer": _OF_DECODERS,
    "TransformerDecoder": _OF_DECODERS,
    "Transformer": (
        (("src_mask", 2), ("src_key_padding_mask", 5)),
        (("tgt_mask", 3), ("tgt_key_padding_mask", 6)),
        (("memory_mask", 4), ("memory_key_padding_mask", 7)),
    ),
}

BREAKS = (
    """\
import warnings


def f(x):
    h = x.relu()
    warnings.warn("deprecated", FutureWarning)  # GB0007
    return h * 2
""",
    """\
import warnings


def f(x):
    warnings.filterwarnings("ignore")  # GB0007
    return x * 2
""",
    """\
import warnings


def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GB0007 GB0092
        return x * 2
""",
    """\
import warnings

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.warned = False

    def forward(self, x):
        if not self.warned:
            warnings.warn("only once, but it breaks once")  # GB0007
            self.warned = True
        return x * 2
""",
)

CLEAN = (
    """\
import warnings

import torch


def f(x):
    if not torch.compiler.is_compiling():
        warnings.warn("deprecated", FutureWarning)
    return x * 2
""",
    """\
import warnings

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        warnings.warn("Net is deprecated", FutureWarning)

    def forward(self, x):
        return x * 2
""",
    """\
import warnings


def f(x):
    with warnings.catch_warnings():
        return x * 2
""",
    """\
import warnings


def f(x, old_argument=None):
    if old_argument is not None:
        warnings.warn("old_argument is deprecated")
    return x * 2


def graphdoctor_target():
    import torch

    return f, (torch.rand(4, 8), None)
""",
    """\
def f(x):
    warnings = ["a list of that name"]
    warnings.append("b")
    return x * 2
""",
)


def watches(name: str) -> bool:
    module, _, last = name.rpartition(".")
    warns = (module == "warnings" and last in WARNERS) or last == "rank_zero_warn"
    return warns or bool(_masks(name))


def check_call(event: Call) -> Hit | None:
    combined = _masks(event.qualname)
    for attention, padding in combined:
        mask, padded = _passed(event, *attention), _passed(event, *padding)
        if {_dtype(mask), _dtype(padded)} == {"bool", "float"}:
            names = f"`{attention[0]}` of {_dtype(mask)}s and `{padding[0]}` of {_dtype(padded)}s"
            return Hit(
                event,
                f"{code(event)} gets {names}, which torch warns of",
                f"give both masks in bool: `{attention[0]}` is True where attention is not allowed",
                certainty(event, mask),
                consequence=consequence(event),
            )
    if combined:
        return None
    return Hit(
        event,
        f"{code(event)} issues a warning or changes the filters",
        "put it under `if not torch.compiler.is_compiling():`, or warn once in `__init__`",
        certainty_of_message(event),
        consequence=consequence(event),
    )


@cache
def _masks(name: str) -> tuple[tuple[tuple[str, int], tuple[str, int]], ...]:
    layer, _, method = name.rpartition(".")
    return (
        COMBINED_MASKS.get(layer.rpartition(".")[2], ())
        if method == "forward" and layer.startswith("torch.nn.")
        else ()
    )


def _passed(event: Call, name: str, position: int) -> Value:
    return event.kwargs.get(name, event.args[position] if len(event.args) > position else NONE)


def _dtype(mask: Value) -> str | None:
    tensor = tensor_of(mask)
    return None if tensor is None else tensor.dtype


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return guard_statement(hit, editor)
