"""A callback for the Trainer of transformers: ``Trainer(..., callbacks=[GraphDoctor(steps=5)])``."""

from __future__ import annotations

import os
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from graphdoctor.in_process.recording import record
from graphdoctor.integrations.steps import FirstSteps


class GraphDoctor(TrainerCallback):
    """Reports breaks and recompiles of the first ``steps`` training steps, once, on stderr of the first process.

    ``html`` also writes the report as a page. ``record`` has the answers, see ``graphdoctor.record``.
    """

    def __init__(self, steps: int = 5, html: str | os.PathLike[str] | None = None) -> None:
        self._steps = FirstSteps(steps, html)

    @property
    def record(self) -> record:
        """What was recorded."""
        return self._steps.record

    def on_train_begin(
        self,
        args: TrainingArguments,  # noqa: ARG002
        state: TrainerState,  # noqa: ARG002
        control: TrainerControl,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Begin before the first step, in which the model is compiled."""
        self._steps.start()

    def on_step_end(
        self,
        args: TrainingArguments,  # noqa: ARG002
        state: TrainerState,
        control: TrainerControl,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Count the step."""
        self._steps.step(state.is_world_process_zero)

    def on_train_end(
        self,
        args: TrainingArguments,  # noqa: ARG002
        state: TrainerState,
        control: TrainerControl,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Report on a training of fewer steps."""
        self._steps.finish(state.is_world_process_zero)
