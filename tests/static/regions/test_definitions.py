"""What a file defines: under one name in both arms of a test, and in TorchScript."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call, Truth

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


def test_a_module_in_torchscript_is_no_region(events):
    found = events("""
        import torch

        class Block(torch.jit.ScriptModule):
            @torch.jit.script_method
            def forward(self, x):
                return self.kept(x)

            def kept(self, x):
                return x if x.sum() > 0 else -x

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self, x):
                return self.block(x) if x.sum() > 1 else x
    """)
    assert [e.site.function for e in found if isinstance(e, Truth)] == ["Net.forward"]
    assert "torch.jit.script.__call__" in [e.qualname for e in found if isinstance(e, Call)]
