"""Models of the installed transformers, made from shrunken configurations with random weights."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.accuracy.complete import complete
from benchmarks.accuracy.inputs import candidates
from benchmarks.accuracy.media import Inputs
from benchmarks.accuracy.notbuilt import NotBuilt, one_line
from benchmarks.accuracy.shrink import LEVELS, shrink

#: Parsing the whole of five hundred files takes ten seconds.
_EXPORTED = re.compile(r"^__all__ = (\[.*?\])", re.MULTILINE | re.DOTALL)
_ENDINGS = ("Model", "ForConditionalGeneration")
_SEED = 0


def names() -> Iterator[str]:
    """The public model classes, read from the sources: nothing is imported."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        return
    for file in sorted((Path(spec.origin).parent / "models").glob("*/modeling_*.py")):
        for name in _exported(file):
            if name.endswith(_ENDINGS) and not name.endswith("PreTrainedModel"):
                yield name


def _exported(file: Path) -> list[str]:
    found = _EXPORTED.search(file.read_text(encoding="utf-8"))
    return list(ast.literal_eval(found[1])) if found else []


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
