"""A Hugging Face model computes its loss without a loss function being set.

What: `GPT2LMHeadModel` and the other classes of transformers that compute their loss by `self.loss_function`
and whose name does not end in one of the endings that transformers knows (`ForCausalLM`, `ForMaskedLM` and so
on), built without `loss_type` or `loss_function` being set on the model, and called with `labels`.

Why: transformers (4.46 to 5.23) looks the loss up by `model.loss_type`, which it takes from the class name.
Where it finds none, the property `loss_function` calls `logger.warning_once` on every use, a graph break in
the middle of the forward pass, and falls back to the causal language model loss. Setting `loss_type` in the
configuration does not help: the model overwrites it.

Fix: Set it on the model: `model.loss_type = "ForCausalLM"`, or `model.loss_function = ForCausalLMLoss` from
`transformers.loss.loss_utils`.
"""

from __future__ import annotations

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.model_settings import causal_loss
from graphdoctor.static.domain.events import Build
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import code

CODE = "GD602"
NAME = "loss-function-unset"
SEVERITY = "warning"
GB_IDS = ("GB0291",)
TORCH = ">=2.6"

#: The classes of transformers 5.23 that use ``self.loss_function`` and whose name matches no entry of ``LOSS_MAPPING``.
CLASSES = frozenset((
    "GPT2LMHeadModel", "OpenAIGPTLMHeadModel", "CTRLLMHeadModel", "BertLMHeadModel", "BertGenerationDecoder",
    "ReformerModelWithLMHead", "IdeficsForVisionText2Text",
))  # fmt: skip

BREAKS = (
    """\
# torch >=2.9
import torch
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=10, n_positions=16)
model = GPT2LMHeadModel(config)  # flagged


def f(ids):
    return model(ids, labels=ids).loss  # GB0291


def graphdoctor_target():
    return f, (torch.zeros(1, 4, dtype=torch.long),)
""",
)

CLEAN = (
    """\
# torch >=2.9
import torch
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=10, n_positions=16)
model = GPT2LMHeadModel(config)
model.loss_type = "ForCausalLM"


def f(ids):
    return model(ids, labels=ids).loss


def graphdoctor_target():
    return f, (torch.zeros(1, 4, dtype=torch.long),)
""",
    """\
# torch >=2.9
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.loss.loss_utils import ForCausalLMLoss

config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=10, n_positions=16)
model = GPT2LMHeadModel(config)
model.loss_function = ForCausalLMLoss


def f(ids):
    return model(ids, labels=ids).loss


def graphdoctor_target():
    return f, (torch.zeros(1, 4, dtype=torch.long),)
""",
    """\
# torch >=2.9
import torch
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=10, n_positions=16)
model = GPT2LMHeadModel(config)


def f(ids):
    return model(ids).logits


def graphdoctor_target():
    return f, (torch.zeros(1, 4, dtype=torch.long),)
""",
)


def check_build(event: Build) -> Hit | None:
    package, _, name = event.qualname.removesuffix(".from_pretrained").removesuffix(".from_config").rpartition(".")
    if not package.startswith("transformers") or name not in CLASSES or "labels" not in event.called_with:
        return None
    if {"loss_type", "loss_function"} & set(event.attributes):
        return None
    return Hit(
        event,
        f"{code(event)} computes its loss without a loss function being set: transformers logs a warning in the "
        "forward pass, which splits the graph there",
        'set `model.loss_type = "ForCausalLM"` after building the model (not in the configuration)',
        "likely",
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return causal_loss(hit, editor)
