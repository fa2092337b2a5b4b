"""Children of models that are replaced by compiled wrappers."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from {package} import {base}


class Text({base}):
    def forward(self, x):
        return x


class Net({base}):
    def __init__(self, config):
        super().__init__(config)
        self.text = Text(config)
        self.text = torch.compile(self.text)

    def forward(self, x):
        return self.text(x)


def load(net, state):
    net.load_state_dict({{key{change}: value for key, value in state.items()}})
"""


@pytest.mark.parametrize(
    ("package", "base", "change", "found"),
    [
        ("transformers", "PreTrainedModel", "", ["GD617"]),
        ("torch.nn", "Module", "", ["GD617"]),
        ("torch.nn", "Module", ".replace('_orig_mod.', '')", []),
        ("flax.nnx", "Module", "", []),
    ],
)
def test_a_wrapper_in_a_module_whose_keys_nobody_changes(
    tmp_path: Path, package: str, base: str, change: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(package=package, base=base, change=change))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
