"""What a file defines under one name in both arms of a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

MODULE = """\
    class Net(nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x
"""
HEADS = {
    "a flag of try": "try:\n    import torch\n    from torch import nn\n    FOUND = True\nexcept ImportError:\n    FOUND = False\n",
    "find_spec": "import importlib.util\nFOUND = importlib.util.find_spec('torch') is not None\nfrom torch import nn\n",
}  # fmt: skip


@pytest.mark.parametrize("other", ["Net = None", "class Net:\n        pass"])
@pytest.mark.parametrize("head", list(HEADS))
def test_a_class_beside_its_replacement_is_entered(tmp_path: Path, head: str, other: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"{HEADS[head]}if FOUND:\n{MODULE}else:\n    {other}\n")
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == ["GD201"]


def test_of_two_modules_both_are_entered(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"{HEADS['find_spec']}if FOUND:\n{MODULE}else:\n{MODULE}")
    assert [f.location.line for f in analyse([(file, "net.py")]).findings] == [7, 13]
