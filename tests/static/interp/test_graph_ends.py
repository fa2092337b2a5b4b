"""After a graph break what a function holds is an input of the next graph: it may be a size there."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

NET = """\
import torch


def rows(size, x):
    return torch.arange(size) < x[:, None]


def nested(size, x):
    shape = (3, size)

    def inside(x):
        count = torch.arange(size)
        return count + torch.zeros(*shape) + x.new_ones(size)

    return inside(x)


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        n = x.argmax()
        {body}


def graphdoctor_target():
    return Net(), (torch.tensor([1.0, 3.0, 2.0]),)
"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("return rows(n, x)[:, None].expand(-1, n, -1)", [5]),
        ("y = rows(n, x)[:, None]\n        return y.expand(-1, n, -1)", [5]),
        ("y = x[:, None].expand(-1, n)\n        return rows(n, y), rows(n, x)", [21]),
        ("return x[:, None].expand(-1, n)", [21]),
        ("return nested(n, x)", [12]),
    ],
)
def test_a_size_is_told_once(tmp_path: Path, body: str, lines: list[int]) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(NET.format(body=body))
    found = analyse([(file, file.name)]).findings
    assert [finding.location.line for finding in found] == lines
    names: dict[str, object] = {"__name__": "net"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    model, inputs = names["graphdoctor_target"]()  # type: ignore[operator]
    torch._dynamo.reset()
    broken = {reason.user_stack[-1].lineno for reason in torch._dynamo.explain(model)(*inputs).break_reasons}
    assert broken == set(lines)
