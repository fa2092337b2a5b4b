"""A model of transformers without a loss function gets the one that it falls back to."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.python.model_settings import causal_loss
from graphdoctor.static.rule import Refusal


def test_the_loss_is_set_behind_the_constructor(make: Any) -> None:
    source = "import torch\n\nclass A:\n    def __init__(self, c):\n        self.model = GPT2LMHeadModel(c)\n"
    assert make(source, cst.Call).after(causal_loss) == source + '        self.model.loss_type = "ForCausalLM"\n'


@pytest.mark.parametrize(
    "line, reason",
    [
        ("f(GPT2LMHeadModel)(config)", "not given a name of its own"),
        ("model = other = GPT2LMHeadModel(config)", "not given a name of its own"),
        ("model = GPT2LMHeadModel(config); model.eval()", "shares its line"),
    ],
)
def test_what_has_no_name_is_left(make: Any, line: str, reason: str) -> None:
    try:
        refusal = make(f"{line}\n", cst.Call).run(causal_loss)
    except Refuse as error:
        refusal = Refusal(str(error))
    assert isinstance(refusal, Refusal) and reason in refusal.reason
