"""What a model is called with, in one line."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from graphdoctor.dynamic.user_code.fresh import Sample
from graphdoctor.dynamic.worker.inputs import described


def _called(x: object, scale: float = 1.0) -> None: ...


@pytest.mark.parametrize(
    ("sample", "made_for", "text"),
    [
        (Sample(_called, (torch.ones(2, 3), 0.5), origin="f()"), "", "x float32[2, 3], scale 0.5, from f()"),
        (Sample(_called, (), origin="f()"), "", "no arguments, from f()"),
        (
            Sample(_called, (torch.ones(2),), origin="graphdoctor_target()"),
            "hf:Bert",
            "x float32[2], made up by graphdoctor for hf:Bert",
        ),
        (Sample(_called, (torch.ones(2),), origin="--input"), "hf:Bert", "x float32[2], from --input"),
        (
            Sample(_called, (np.float32([1, 2]), {"n": np.int64(5), "s": np.float64(0.5)}), origin="f()"),
            "",
            "x float32[2], scale['n'] np.int64(5), scale['s'] np.float64(0.5), from f()",
        ),
        # An object that can be called is not opened, and stands there by its class.
        (Sample(_called, (nn.Identity(), 0.5), origin="f()"), "", "scale 0.5, x Identity, from f()"),
        (
            Sample(_called, ([torch.ones(1)] * 8,), origin="f()"),
            "",
            ", ".join(f"x[{number}] float32[1]" for number in range(6)) + ", 2 more, from f()",
        ),
    ],
)
def test_names_shapes_and_origin(sample: Sample, made_for: str, text: str) -> None:
    assert described(sample, made_for) == text
    assert described(sample, made_for, "m.py") == (text if made_for else f"{text} in m.py")
