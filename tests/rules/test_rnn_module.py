"""What is read of a recurrent layer, as Dynamo takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x):
        read = {read}
        return x + 1
"""


@pytest.mark.parametrize(
    "read",
    [
        "self.rnn.weight_hh_l0", "self.rnn.weight_hh_l0.device", "self.rnn.all_weights", "self.rnn.training",
        "self.rnn.mode", "self.rnn.num_layers", "self.rnn is None", "next(self.rnn.parameters())", "self.training",
    ],
)  # fmt: skip
def test_what_is_read_breaks_where_it_is_reported(tmp_path: Path, read: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(read=read))
    reported = {finding.rule for finding in analyse([(file, "net.py")], catalog.rules()).findings}
    namespace: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    torch._dynamo.reset()
    net = torch.compile(namespace["Net"](), backend="eager", fullgraph=True)  # type: ignore[operator]
    try:
        net(torch.ones(2, 4))
    except torch._dynamo.exc.Unsupported:
        assert reported == {"GD502"}
    else:
        assert not reported
