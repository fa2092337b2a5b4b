"""What several branches make is known in the branches after them, and where one of them makes a mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.lint.engine import analyse

TWICE = """\
import torch


def prepared(net, mode):
    if mode == "plain":
        net = torch.compile(net, backend="eager")
    elif mode == "dynamic":
        net = torch.compile(net, backend="eager", dynamic=True)
    elif mode == "other":
        net = torch.jit.script(net)
    if mode == "plain":
        net = torch.compile(net, backend="eager", fullgraph=True)
    elif mode == "dynamic":
        net = torch.compile(net, backend="eager", fullgraph=True, dynamic=True)
    elif mode == "other":
        net = torch.compile(net, backend="eager")
    return net
"""


def test_each_branch_knows_what_the_same_branch_made_before(tmp_path: Path) -> None:
    file = tmp_path / "twice.py"
    file.write_text(TWICE)
    found = analyse([(file, "twice.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD603", 12), ("GD603", 14)]
    namespace: dict[str, Any] = {}
    exec(compile(TWICE, str(file), "exec"), namespace)
    kept = [hasattr(namespace["prepared"](torch.nn.Linear(2, 2), mode), "parameters") for mode in ("plain", "dynamic")]
    assert kept == [False, False]


LOGS = """\
import torch
from lightning import LightningModule, Trainer


class Logs(LightningModule):
    def training_step(self, batch, index):
        self.log("loss", batch.sum())
        return batch.sum()


class Other(Logs):
    pass


class Silent(LightningModule):
    def training_step(self, batch, index):
        return batch.sum()


def main(kind, loader):
    if kind == "one":
        model = {one}()
        model = torch.compile(model)
    elif kind == "other":
        model = {other}
    else:
        model = Silent()
        model.prepare()
    {between}
    Trainer(max_epochs=1).fit(model, loader)
"""


@pytest.mark.parametrize(
    ("one", "other", "between", "found"),
    [
        ("Logs", "torch.compile(Other())", "", ["GD626"]),
        ("Silent", "torch.compile(Other())", "", ["GD626"]),
        ("Logs", "Other()", "", ["GD626"]),
        ("Silent", "Other()", "", []),
        ("Logs", "torch.compile(Other())", "model = Silent()", []),
    ],
)
def test_what_one_of_the_branches_does_wrong_is_found(
    tmp_path: Path, one: str, other: str, between: str, found: list[str]
) -> None:
    file = tmp_path / "logs.py"
    file.write_text(LOGS.format(one=one, other=other, between=between))
    assert [f.rule for f in analyse([(file, "logs.py")]).findings] == found
