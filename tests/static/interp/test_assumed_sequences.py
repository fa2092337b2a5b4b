"""Arguments that may be lists of numbers: what a loop, `in` or an index takes of them is no tensor data."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = [1.0, 2.0, 3.0]

    def forward(self, x, n):
        outs = [x, x + 1, x + 2]
        {}
        return x


def graphdoctor_target():
    return Net(), (torch.rand(3, 4, 2), (1, 2))
"""
#: The lines, and whether they ask tensor data, whatever ``n`` is.
LINES = {
    "for i, out in enumerate(outs):\n            if i in n:\n                x = x + out": False,
    "x = outs[n[0]] + outs[n[1]]": False,
    "for k in n:\n            if k > 1:\n                x = x[:, ::k]": False,
    "for k in n:\n            x = x * x.shape[k]": False,
    "for k in reversed(n):\n            x = x * self.table[k]": False,
    "for row in x.abs():\n            if row.sum() > 0:\n                x = x + 1": True,
    "if 1.0 in x.abs():\n            x = x + 1": True,
}


@pytest.mark.parametrize("lines", LINES)
def test_what_is_taken_of_an_argument(tmp_path: Path, lines: str) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(lines))
    assert bool(analyse([(file, "net.py")]).findings) == LINES[lines]

    names: dict[str, object] = {}
    exec(file.read_text(), names)
    model, inputs = names["graphdoctor_target"]()  # type: ignore[operator]
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    broken = (torch._dynamo.exc.Unsupported, torch._dynamo.exc.UserError)
    with pytest.raises(broken) if LINES[lines] else nullcontext():
        compiled(*inputs)


PAST = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, q, past: "{annotation}"):
        kept, length = past[0], past[1]
        kept[:, length : length + q.size(1)] = q
        return kept
"""


@pytest.mark.parametrize(
    ("annotation", "found"), [("tuple[torch.Tensor]", []), ("tuple[torch.Tensor, ...]", ["GD215"])]
)
def test_an_element_that_the_annotation_does_not_have_is_not_known(
    tmp_path: Path, annotation: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(PAST.format(annotation=annotation))
    assert sorted({finding.rule for finding in analyse([(file, "net.py")]).findings}) == found
