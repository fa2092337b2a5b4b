"""A compiled LightningModule calls `self.log`.

What: `torch.compile` of a `LightningModule` whose `training_step`, `validation_step`, `test_step` or `predict_step`
calls `self.log` or `self.log_dict`, given to `fit`, `validate`, `test` or `predict` of a `Trainer`.

Why: Lightning compiles these methods, and with them `self.log`. In torch 2.13 with Lightning up to 2.6.6 Dynamo fails
there with an InternalTorchDynamoError; it is fixed in torch 2.14, and in Lightning's pull request 21837.

Fix: Compile what the module holds, `self.net = torch.compile(self.net)`, and give the Trainer the module itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from graphdoctor.model.findings import Confidence
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Class, Operation, TrackedObject, Use, dotted, same_run, unwrapped
from graphdoctor.syntax.walk import walk

from ._shared import code

CODE = "GD626"
NAME = "log-in-compiled-module"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.13,<2.14"

BREAKS = (
    """\
import torch


def main(loader):
    import lightning as L

    class Model(L.LightningModule):
        def training_step(self, batch, index):
            loss = self.layer(batch).sum()
            self.log("loss", loss)
            return loss

    model = torch.compile(Model())
    L.Trainer(max_epochs=1).fit(model, loader)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def main(loader):
    import lightning as L

    class Model(L.LightningModule):
        def training_step(self, batch, index):
            return self.layer(batch).sum()

    model = torch.compile(Model())
    L.Trainer(max_epochs=1).fit(model, loader)


def f(x):
    return x * 2
""",
    """\
import torch


def main(loader, net):
    import lightning as L

    class Model(L.LightningModule):
        def __init__(self, net):
            super().__init__()
            self.net = torch.compile(net)

        def training_step(self, batch, index):
            loss = self.net(batch).sum()
            self.log("loss", loss)
            return loss

    L.Trainer(max_epochs=1).fit(Model(net), loader)


def f(x):
    return x * 2
""",
)

#: What a Trainer runs of the module, by its own methods.
_STEPS = {
    ".fit": ("training_step", "validation_step"),
    ".validate": ("validation_step",),
    ".test": ("test_step",),
    ".predict": ("predict_step",),
}


def check_use(event: Use) -> Hit | None:
    step = event.step
    steps = _STEPS.get(step.name, ())
    model = step.argument(0, "model") if steps else None
    trainer = step.receiver
    if model is None or trainer is None or not trainer.made_by.endswith("Trainer"):
        return None
    if model.unsure and not model.others:
        return None
    ways = (model, *model.others) if model.unsure else (model,)
    found = next((logs for each in ways if (logs := _logging(each, step, steps)) is not None), None)
    if found is None:
        return None
    logging, sure = found
    words = f"{code(event)} compiles `{logging}`, and Dynamo fails in `self.log` of Lightning up to 2.6.6"
    advice = "compile what the module holds: `self.net = torch.compile(self.net)`"
    return Hit(event, words, advice, "likely" if model.unsure else sure)


def _logging(model: TrackedObject, step: Operation, steps: Iterable[str]) -> tuple[str, Confidence] | None:
    """The method of a compiled LightningModule that logs, and how sure it is that the Trainer gets it."""
    wrapper, kind = model.find("torch.compile"), unwrapped(model).made_of
    if wrapper is None or kind is None or not _is_lightning(kind):
        return None
    logging = next((name for name in steps if _logs(kind, name)), None)
    sure = same_run(wrapper.path, step.path)
    return (logging, sure) if logging is not None and sure is not None else None


def _is_lightning(kind: Class) -> bool:
    return any(root.rpartition(".")[2] == "LightningModule" for root in kind.roots)


def _logs(kind: Class, name: str) -> bool:
    """Whether a method logs, or another one of the module that it calls."""
    waiting, seen = [name], set[str]()
    while waiting:
        method = kind.method(waiting.pop())
        if method is None or not isinstance(method.node, cst.FunctionDef) or method.qualname in seen:
            continue
        seen.add(method.qualname)
        called = {dotted(n.func) for n in walk(method.module.body(method.node)) if isinstance(n, cst.Call)}
        if called & {"self.log", "self.log_dict"}:
            return True
        waiting += [each.removeprefix("self.") for each in called if each.startswith("self.")]
    return False
