"""A callback for Lightning: ``Trainer(callbacks=[GraphDoctor(steps=5)])``."""

from __future__ import annotations

import os
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from graphdoctor.in_process.recording import record
from graphdoctor.integrations.steps import FirstSteps


class GraphDoctor(Callback):
    """Reports breaks and recompiles of the first ``steps`` training steps, once, on stderr of the first process.

    ``html`` also writes the report as a page. ``record`` has the answers, see ``graphdoctor.record``.
    """

    def __init__(self, steps: int = 5, html: str | os.PathLike[str] | None = None) -> None:
        self._steps = FirstSteps(steps, html)

    @property
    def record(self) -> record:
        """What was recorded."""
        return self._steps.record

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:  # noqa: ARG002
        """Begin before the validation that precedes training, which compiles too."""
        if stage == "fit":
            self._steps.start()

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,  # noqa: ARG002
        outputs: Any,  # noqa: ARG002
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
    ) -> None:
        """Count the step."""
        self._steps.step(trainer.is_global_zero)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Report on a training of fewer steps."""
        self._steps.finish(trainer.is_global_zero)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:  # noqa: ARG002
        """Report on a training that ends early."""
        self._steps.finish(trainer.is_global_zero)
