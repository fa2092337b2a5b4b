"""Code of other frameworks is none of Dynamo's business."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
{imports}


class Net({base}):
    def forward(self, x):
        print(x)
        if x.sum() > 0:
            return x[x > 0]
        return x
"""


@pytest.mark.parametrize(
    ("imports", "base", "judged"),
    [
        ("import paddle.nn as nn", "nn.Layer", False),
        ("from mxnet.gluon import nn", "nn.HybridBlock", False),
        ("from flax import nnx", "nnx.Module", False),
        ("import tensorflow as tf", "tf.keras.layers.Layer", False),
        ("import jax\nfrom .layers import Base", "Base", False),
        ('"""As in torch."""\nimport jax\nfrom .layers import Base', "Base", False),
        ("import jax\nimport torch", "torch.nn.Module", True),
        ("import torch\nfrom flax import nnx", "nnx.Module", False),
        ("from .layers import Base", "Base", True),
    ],
)
def test_only_modules_that_may_be_of_torch_are_judged(tmp_path: Path, imports: str, base: str, judged: bool) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(imports=imports, base=base))
    assert bool(analyse([(file, "net.py")]).findings) is judged
