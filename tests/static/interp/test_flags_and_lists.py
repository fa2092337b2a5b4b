"""Conditions on flags that have a default, and on tensors beside lists."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("not final and x.max() < 1", "likely"),
        ("not (not quick) and x.max() < 1", "likely"),
        ("final or x.max() < 1", "likely"),
        ("final and x.max() < 1", "possible"),
        ("not quick and x.max() < 1", "possible"),
        ("quick or x.max() < 1", "possible"),
    ],
)
def test_a_flag_whose_default_lets_the_next_operand_run_is_no_setting(tmp_path, test, confidence):
    file = tmp_path / "solvers.py"
    file.write_text(
        "import torch\n\n__all__ = ['solve']\n\n\ndef solve(x: torch.Tensor, final=False, quick=True):\n"
        f"    if {test}:\n        return x\n    return x + 1\n"
    )
    assert [f.confidence for f in analyse([(file, "solvers.py")]).findings] == [confidence]


@pytest.mark.parametrize(("other", "breaks"), [("[]", False), ("()", False), ("[1.0, 2.0]", False), ("1.0", True)])
def test_a_tensor_is_no_list(tmp_path, other, breaks):
    file = tmp_path / "net.py"
    file.write_text(
        "import torch.nn as nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, extra):\n"
        f"        if extra != {other}:\n            return x + extra[0]\n        return x\n"
    )
    assert bool(analyse([(file, "net.py")]).findings) is breaks
