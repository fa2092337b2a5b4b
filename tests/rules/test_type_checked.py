"""Decorators that check type hints, as Dynamo takes them. What raises stands here: its breaks lie in the checkers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse
from graphdoctor.target_torch.specifiers import allows

SOURCE = """\
import torch.nn as nn
from beartype import beartype
from jaxtyping import Float, jaxtyped
from torch import Tensor

checked = jaxtyped(typechecker=beartype)
unchecked = jaxtyped(typechecker=None)


{decorator}
class Net(nn.Module):
    {of_method}
    def forward(self, {parameters}){result}:
        return x * 2


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        return self.net(x + 1)
"""
NONE = "# not decorated"
CASES = [
    (NONE, "@jaxtyped(typechecker=beartype)", 'x: Float[Tensor, "rows columns"]', "", True),
    (NONE, "@beartype", 'x: Float[Tensor, "..."] | None', "", True),
    (NONE, "@checked", "x", ' -> Float[Tensor, "..."]', True),
    ("@beartype", NONE, 'x: Float[Tensor, "..."]', "", True),
    (NONE, "@unchecked", 'x: Float[Tensor, "..."]', "", False),
    (NONE, "@beartype", 'x: Tensor, mask: Float[Tensor, "..."] | None = None', "", False),
    (NONE, NONE, 'x: Float[Tensor, "..."]', "", False),
]


@pytest.mark.parametrize(("decorator", "of_method", "parameters", "result", "raises"), CASES)
def test_hints_of_jaxtyping_raise_where_they_are_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    decorator: str,
    of_method: str,
    parameters: str,
    result: str,
    raises: bool,
) -> None:
    file = tmp_path / "checked_net.py"
    file.write_text(
        SOURCE.format(decorator=decorator, of_method=of_method, parameters=parameters, result=result), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "checked_net", raising=False)
    import checked_net

    net = checked_net.Outer()
    net(torch.ones(2, 4))
    torch._dynamo.reset()
    try:
        torch.compile(net, backend="eager")(torch.ones(2, 4))
    except Exception:
        failed = True
    else:
        failed = False
    assert failed is (raises and allows("<2.14", torch.__version__))
    reported = [finding.rule for finding in analyse([(file, "net.py")], catalog.rules()).findings]
    assert reported == (["GD411"] if raises else [])
