"""Other packages compile, too: what is no model of torch is none of the usage rules' business."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SPEC = """\
import mujoco

def build(path):
    spec = mujoco.MjSpec.from_file(path)
    first = spec.compile()
    spec.add_key(name="home")
    return first, spec.compile()
"""

TWICE = """\
from models import Net

def build():
    net = Net()
    net.compile()
    net.compile()
    return net
"""

NET = "import torch.nn as nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(("source", "found"), [(SPEC, []), (TWICE, ["GD603"])])
def test_what_compiles_in_a_file_that_does_not_speak_of_torch(tmp_path: Path, source: str, found: list[str]) -> None:
    (tmp_path / "models.py").write_text(NET)
    (tmp_path / "spec.py").write_text(source)
    (tmp_path / "main.py").write_text("import torch\nfrom spec import build\n\nbuild()\n")
    result = analyse([(tmp_path / "main.py", "main.py"), (tmp_path / "spec.py", "spec.py")])
    assert [f.rule for f in result.findings] == found
