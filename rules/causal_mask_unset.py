"""A transformer of torch gets a mask, and is not told whether it is the causal one.

What: A call of `nn.TransformerEncoder`, `nn.TransformerDecoder` or `nn.Transformer` with a 2-d attention mask, and
without `is_causal` (`tgt_is_causal`, `src_is_causal`).

Why: The layer then compares the mask with the causal one and asks whether all of it is equal. The answer depends on
data, so the graph ends inside of the layer, and `fullgraph=True` fails.

Fix: Pass `is_causal=True` for the causal mask, which also lets the attention choose a faster kernel, or
`is_causal=False` for any other: the mask is applied as it is.
"""

from __future__ import annotations

from functools import cache

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.causal_hint import causal_hint
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.torch_tables import COMPARED_MASKS
from graphdoctor.static.domain.value_functions import options, tensor_of
from graphdoctor.static.domain.values import NONE, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD218"
NAME = "causal-mask-unset"
SEVERITY = "error"
GB_IDS = ("GB0124",)
TORCH = ">=2.6"
INSIDE = ("_detect_is_causal_mask",)

BREAKS = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[0])
        return self.encoder(x[None], mask)  # GB0124
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)

    def forward(self, x):
        n = x.shape[0]
        mask = torch.triu(torch.ones(n, n), diagonal=1).bool()
        return self.decoder(x[None], x[None], tgt_mask=mask)  # GB0124
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

    def forward(self, x):
        mask = self.transformer.generate_square_subsequent_mask(x.shape[0])
        return self.transformer(x[None], x[None], tgt_mask=mask)  # GB0124
""",
)

CLEAN = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[0])
        return self.encoder(x[None], mask, is_causal=True)
""",
    """\
# torch >=2.10
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        return self.encoder(x[None], src_key_padding_mask=x[None, :, 0] > 100)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        mask = torch.zeros(2, x.shape[0], x.shape[0])
        return self.encoder(x[None], mask)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[0])
        return self.layer(x[None], mask)
""",
)


def watches(name: str) -> bool:
    return bool(_masks(name.removesuffix(".forward")))


def check_call(event: Call) -> Hit | None:
    layers = [o.qualname for o in options(event.receiver) if isinstance(o, TorchModule)] if event.receiver else []
    for name, position, hint in (mask for layer in layers for mask in _masks(layer)):
        mask = event.kwargs.get(name, event.args[position] if len(event.args) > position else NONE)
        if hint not in event.kwargs and _is_compared(mask):
            return Hit(
                event,
                f"{code(event)} compares `{name}` with the causal mask, because `{hint}` is not given",
                f"pass `{hint}=True` for the causal mask, or `{hint}=False` for any other",
                certainty(event, mask),
                consequence=consequence(event),
            )
    return None


@cache
def _masks(name: str) -> tuple[tuple[str, int, str], ...]:
    return COMPARED_MASKS.get(name.rpartition(".")[2], ()) if name.startswith("torch.nn.") else ()


def _is_compared(mask: Value) -> bool:
    """Whether ``mask`` may have the shape of the causal one."""
    tensor = tensor_of(mask)
    return tensor is not None and tensor.ndim in (None, 2)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return causal_hint(hit, editor)
