"""One step of the target, as eval or training code does it, under a strategy. Runs in the worker."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from graphdoctor.bench.blocks import repeated
from graphdoctor.bench.place import compile_in_place
from graphdoctor.bench.strategies import MODES
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.dynamic.user_code.default_loss import default_loss
from graphdoctor.dynamic.user_code.target import SEED, Sample, Target, call_arguments, seed
from graphdoctor.model.benchmark import Mode

#: The learning rate of the optimizer whose steps are timed; small, so that a long benchmark does not diverge.
_RATE = 1e-5


class NotApplicable(Exception):
    """The strategy does not apply to this target; the text is the reason."""


@dataclass
class Stepper:
    """The target under a strategy. ``calls`` are the arguments of one step after another."""

    sample: Sample
    function: Callable[..., Any]
    calls: Sequence[tuple[tuple[Any, ...], dict[str, Any]]]
    loss: Callable[[Any], torch.Tensor] | None
    mode: Mode
    eager: bool = False
    optimizer: torch.optim.Optimizer | None = None

    def round(self) -> None:
        """One step for each of the calls."""
        for args, kwargs in self.calls:
            self.step(args, kwargs)

    def first(self, number: int = SEED) -> comparison.Snapshot:
        """One step on the first call, seeded with ``number``, and all that it leaves: outputs, loss, gradients."""
        args, kwargs = self.calls[0]
        torch.manual_seed(number)
        outputs, loss = self._forward_backward(args, kwargs)
        found = comparison.snapshot(replace(self.sample, args=args, kwargs=kwargs), outputs)
        if loss is not None:
            found["loss"] = loss.detach().clone()
        if self.optimizer is not None:
            self.optimizer.step()
        return found

    def step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """One step: the forward, and in training the backward and the optimizer as well."""
        if self.optimizer is not None:
            self.optimizer.zero_grad(set_to_none=True)
        self._forward_backward(args, kwargs)
        if self.optimizer is not None:
            self.optimizer.step()

    def _forward_backward(self, args: Any, kwargs: Any) -> tuple[Any, torch.Tensor | None]:
        if torch.cuda.is_available():
            # CUDA graphs reuse the memory of the outputs of the step before.
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        with self._stance(), self.gradients():
            outputs = self.function(*args, **kwargs)
            if self.mode == "eval":
                return outputs, None
            loss = self.loss(outputs) if self.loss else default_loss(outputs)
            if loss is None:
                raise NotApplicable("no output has a gradient: define graphdoctor_loss(outputs)")
            torch.autograd.backward(loss)
            return outputs, loss.detach()

    def gradients(self) -> AbstractContextManager[Any]:
        """Steps in eval mode compute none."""
        return torch.no_grad() if self.mode == "eval" else nullcontext()

    def _stance(self) -> AbstractContextManager[Any]:
        return torch.compiler.set_stance("force_eager") if self.eager else nullcontext()


def stepper(target: Target, mode: Mode, strategy: str, backend: Any) -> Stepper:
    """A fresh sample of ``target`` under ``strategy``. Raises NotApplicable, and what the user's code raises."""
    sample = target.sample(mode, own=True)
    function = sample.function
    made = Stepper(sample, function, calls(target, sample), target.loss, mode, eager=strategy == "eager")
    if mode == "train":
        parameters = [p for p in sample.module.parameters() if p.requires_grad] if sample.module is not None else []
        if not parameters:
            raise NotApplicable("the target has no parameters to train: use --mode eval")
        made.optimizer = torch.optim.AdamW(parameters, lr=_RATE)
    if strategy == "regional":
        for block in blocks_of(sample.module):
            compile_in_place(block, backend=backend)
    elif strategy != "eager":
        made.function = torch.compile(function, backend=backend, **_keywords(strategy))
    if strategy == "optimizer" and made.optimizer is not None:
        # As the user writes it: an attribute of the object hides the method.
        made.optimizer.step = torch.compile(made.optimizer.step, backend=backend)  # type: ignore[method-assign, assignment]
    return made


def calls(target: Target, sample: Sample) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments of the calls of one round: the file's variants, else the sample's own, twice.

    A variant that changes the model is no call of its own and is left out.
    """
    if target.variants is not None:
        seed()
        variants = [v for v in target.variants() if not callable(v) or isinstance(v, nn.Module)]
        if variants:
            return [target.on_device(call_arguments(variant)) for variant in variants]
    return [(sample.args, sample.kwargs), target.on_device(copy.copy((sample.args, sample.kwargs)))]


def blocks_of(module: nn.Module | None) -> list[nn.Module]:
    """All repeated blocks of the model. Raises NotApplicable."""
    found = [name for names in repeated(module) for name in names] if module is not None else []
    if module is None or not found:
        raise NotApplicable("the model has no repeated blocks: no equal modules beside each other")
    return [module.get_submodule(name) for name in found]


def _keywords(strategy: str) -> dict[str, Any]:
    if strategy == "dynamic":
        return {"dynamic": True}
    if strategy not in MODES:
        return {}
    if strategy not in private_torch.inductor_modes():
        raise NotApplicable(f"torch {torch.__version__} has no such mode")
    return {"mode": strategy}
