"""The callbacks in trainings of the real trainers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        print("forward")
        return x.relu()


class Rows(Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": torch.full((4,), float(index)), "labels": torch.tensor([float(index)])}


@pytest.fixture(autouse=True)
def fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_lightning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    from graphdoctor.integrations.lightning import GraphDoctor

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.compile(Net(), backend="eager")

        def training_step(self, batch: dict[str, torch.Tensor], _index: int) -> torch.Tensor:
            return nn.functional.mse_loss(self.net(batch["x"]), batch["labels"])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    callback = GraphDoctor(steps=2, html=tmp_path / "report.html")
    trainer = lightning.Trainer(
        max_steps=4,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        default_root_dir=tmp_path,
        callbacks=[callback],
    )
    trainer.fit(Module(), DataLoader(Rows(), batch_size=2))
    assert [f.rule for f in callback.record.breaks] == ["GD101"]
    told = capsys.readouterr().err
    assert told.count("graphdoctor, 2 steps: Not ready: 1 graph break in your code") == 1
    assert "GD101" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_transformers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transformers = pytest.importorskip("transformers")
    from graphdoctor.integrations.transformers import GraphDoctor

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            out = self.net(x)
            return {"loss": nn.functional.mse_loss(out, labels), "logits": out}

    callback = GraphDoctor(steps=50)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=3,
        per_device_train_batch_size=2,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        torch_compile=True,
        torch_compile_backend="eager",
    )
    transformers.Trainer(model=Model(), args=arguments, train_dataset=Rows(), callbacks=[callback]).train()
    assert [f.rule for f in callback.record.breaks] == ["GD101"]
    # Fewer steps than were asked for: the report comes at the end.
    assert "graphdoctor, 3 steps: Not ready" in capsys.readouterr().err


def test_a_number_of_steps_that_makes_no_sense() -> None:
    from graphdoctor.integrations.steps import FirstSteps

    with pytest.raises(ValueError, match="at least 1, and not 0"):
        FirstSteps(0, None)
