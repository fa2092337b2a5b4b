"""Models of the installed transformers, made from shrunken configurations with random weights."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import torch

from graphdoctor.dynamic.named.complete import complete
from graphdoctor.dynamic.named.inputs import candidates
from graphdoctor.dynamic.named.media import Inputs
from graphdoctor.dynamic.named.not_built import NotBuilt, one_line
from graphdoctor.dynamic.named.shrink import LEVELS, shrink

_SEED = 0


def build(name: str) -> tuple[torch.nn.Module, tuple[()], Inputs]:
    """A model and the keyword arguments that it runs on in eager. Raises NotBuilt with the last reason."""
    import transformers

    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    cls = getattr(transformers, name)
    reason = "no input is known for it"
    for level in LEVELS:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                torch.manual_seed(_SEED)
                model = cls(complete(shrink(_config(cls), level))).eval()
        except Exception as error:  # what a configuration does not allow is known only by trying
            reason = f"not built: {one_line(error)}"
            continue
        for inputs in candidates(model):
            try:
                with torch.no_grad():
                    model(**inputs)
                return model, (), inputs
            except Exception as error:  # the same of inputs
                reason = f"does not run: {one_line(error)}"
    raise NotBuilt(reason)


def _config(cls: Any) -> Any:
    """The default configuration of a model class; of one that joins two models, a small pair."""
    from transformers import BertConfig

    config_class = cls.config_class
    if hasattr(config_class, "from_encoder_decoder_configs"):
        return config_class.from_encoder_decoder_configs(BertConfig(), BertConfig())
    return config_class()
