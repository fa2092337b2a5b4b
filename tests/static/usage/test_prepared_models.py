"""What Accelerate and Fabric prepare is the model that was passed."""

from __future__ import annotations

import pytest

from graphdoctor import api

NET = """
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = -x
        return x
"""


@pytest.mark.parametrize(
    ("made", "prepared"),
    [
        ("from accelerate import Accelerator as Made", "model, opt = made.prepare(model, opt)"),
        ("from accelerate import Accelerator as Made", "model = made.prepare(model)"),
        ("from lightning.fabric import Fabric as Made", "model, opt = made.setup(model, opt)"),
        ("from lightning.fabric import Fabric as Made", "model = made.setup_module(model)"),
    ],
)
def test_a_model_that_is_prepared_and_compiled_is_found(tmp_path, made, prepared):
    (tmp_path / "net.py").write_text(NET)
    train = tmp_path / "train.py"
    train.write_text(
        f"import torch\nfrom net import Net\n{made}\n\n\ndef main():\n    made = Made()\n    model = Net()\n"
        f"    opt = torch.optim.SGD(model.parameters(), 0.1)\n    {prepared}\n    model = torch.compile(model)\n"
        "    model(torch.randn(2, 4)).sum().backward()\n\n\nmain()\n"
    )
    found = api.scan(api.ScanOptions((str(train),), run=False)).findings
    broken = [(f.rule, f.location.path.rpartition("/")[2], f.location.line) for f in found if f.severity == "error"]
    assert broken == [("GD201", "net.py", 7)]
