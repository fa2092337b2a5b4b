"""Which gradients in the memory of CUDA graphs the next backward pass adds to."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from graphdoctor.lint.engine import analyse

COMPILE = "fast = torch.compile(model.cuda(), mode='reduce-overhead')\n"
HEAD = "import torch\nimport torch.nn as nn\n\n\n"
KEEP = "for x in xs:\n    opt.zero_grad(set_to_none=False)\n    fast(x).sum().backward()\n    opt.step()\n"
ACCUMULATE = (
    "for i, x in enumerate(xs):\n    loss = loss_of(fast(x), y) / n\n    loss.backward()\n"
    "    if (i + 1) % n == 0:\n        opt.step()\n        opt.zero_grad()\n"
)
MICRO = (
    "for x in xs:\n    opt.zero_grad()\n    for micro_step in range(n):\n"
    "        fast(x).sum().backward()\n    opt.step()\n"
)


def found(folder: Path, source: str) -> list[tuple[int, str]]:
    file = folder / "m.py"
    file.write_text(source)
    result = analyse([(file, "m.py")])
    assert [each.reason for each in result.files] == [None]
    return [(each.location.line, each.confidence) for each in result.findings if each.rule == "GD633"]


def main(body: str, compile: str = COMPILE) -> str:
    """A program whose first line of ``body`` is line 7."""
    return HEAD + "def main(model, opt, xs, y, n, loss_of, scaler):\n" + indent(compile + body, "    ")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (KEEP, (8, "certain")),
        (KEEP.replace("set_to_none=False", "False"), (8, "certain")),
        (KEEP.replace("opt.zero_grad", "fast.zero_grad"), (8, "certain")),
        (KEEP.replace("opt.zero_grad", "model.zero_grad"), (8, "certain")),
        ("opt = torch.optim.SGD(filter(bool, model.parameters()), lr=0.1)\n" + KEEP, (9, "certain")),
        (KEEP.replace("fast(x).sum().backward()", "scaler.scale(fast(x).sum()).backward()"), (8, "certain")),
        (KEEP + "    if y:\n        torch.compiler.cudagraph_mark_step_begin()\n", (8, "certain")),
        (ACCUMULATE, (9, "likely")),
        (ACCUMULATE.replace("% n", "% 4"), (9, "certain")),
        (ACCUMULATE.replace("if (i + 1) % n == 0", "if i % 2"), (9, "certain")),
        (ACCUMULATE.replace("(i + 1) % n == 0", "(i + 1) % n == 0 or i + 1 == len(xs)"), (9, "likely")),
        (ACCUMULATE.replace("loss.backward()", "y.backward(loss)"), (9, "likely")),
        (ACCUMULATE.replace("loss.backward()", "scaler.scale(loss).backward()"), (9, "likely")),
        (ACCUMULATE.replace("if (i + 1) % n == 0", "if y.sync_gradients"), (9, "likely")),
        (
            ACCUMULATE.replace("    if (i + 1) % n == 0:", "    last = (i + 1) % n == 0\n    if last:"),
            (9, "likely"),
        ),
        (
            ACCUMULATE.replace(
                "    if (i + 1) % n == 0:\n        opt.step()\n        opt.zero_grad()",
                "    if (i + 1) % n:\n        continue\n    opt.step()\n    opt.zero_grad()",
            ),
            (9, "likely"),
        ),
        (ACCUMULATE.replace("    loss.backward()", "    if y:\n        loss.backward()"), (10, "likely")),
        (MICRO, (10, "likely")),
        (MICRO.replace("range(n)", "range(4)"), (10, "certain")),
        (MICRO.replace("micro_step in range(n)", "part in y.accumulation_batches"), (10, "likely")),
    ],
)
def test_gradients_that_are_added_to(tmp_path: Path, body: str, expected: tuple[int, str]) -> None:
    assert found(tmp_path, main(body)) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        KEEP.replace("set_to_none=False", ""),
        KEEP.replace("set_to_none=False", "set_to_none=True"),
        KEEP.replace("set_to_none=False", "set_to_none=y"),
        "for p in model.parameters():\n    p.grad = torch.zeros_like(p)\n" + KEEP,
        "model(y).sum().backward()\n" + KEEP.replace("fast", "quick"),
        KEEP.replace("fast(x)", "model(x)"),
        KEEP.replace("fast(x)", "fast(x).detach()"),
        KEEP.replace(
            "fast(x).sum().backward()", "with torch.no_grad():\n        t = fast(x)\n    (y(x) - t).backward()"
        ),
        KEEP.replace("fast(x).sum().backward()", "(fast(x) - fast(y)).sum().backward()"),
        "other = torch.optim.SGD(y.parameters())\n" + KEEP.replace("opt.zero", "other.zero"),
        "torch.compiler.cudagraph_mark_step_begin()\n" + KEEP,
        ACCUMULATE.replace("% n", "% 1"),
        ACCUMULATE.replace("for i", "n = 1\nfor i", 1),
        ACCUMULATE.replace("    loss.backward()", "    opt.zero_grad()\n    loss.backward()"),
        ACCUMULATE.replace("(i + 1) % n == 0", "y is not None"),
        ACCUMULATE.replace("        opt.zero_grad()\n", ""),
        ACCUMULATE.replace("    loss.backward()\n", "").replace(
            "        opt.step()", "        loss.backward()\n        opt.step()"
        ),
        ACCUMULATE.replace("opt.zero_grad()", "[p for p in model.parameters()]"),
        ACCUMULATE.replace(
            "        opt.zero_grad()\n", "        for p in model.parameters():\n            p.grad = None\n"
        ),
        MICRO.replace("range(n)", "range(1)"),
        MICRO.replace("micro_step", "batch"),
        MICRO.replace("        fast(x)", "        opt.zero_grad()\n        fast(x)"),
        MICRO.replace("    for micro", "    torch.compiler.cudagraph_mark_step_begin()\n    for micro"),
        "total = 0\nfor x in xs:\n    opt.zero_grad(set_to_none=False)\n    for part in x:\n"
        "        total += fast(part).sum()\n    total.backward()\n",
    ],
)
def test_gradients_that_are_none_or_lie_elsewhere(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, main(body)) == []


def test_eager_backward_pass_before(tmp_path: Path) -> None:
    compile = "model.cuda()\nmodel(y).sum().backward()\n" + COMPILE
    assert found(tmp_path, main(KEEP, compile)) == []


@pytest.mark.parametrize(
    ("compile", "confidence"),
    [
        ("fast = torch.compile(model.to('cuda:0'), mode='max-autotune')\n", "certain"),
        ("fast = torch.compile(model, mode='reduce-overhead')\n", "likely"),
        ("fast = torch.compile(model, backend='cudagraphs')\n", "likely"),
        ("fast = torch.compile(model, options={'triton.cudagraphs': True})\n", "likely"),
        ("fast = nn.parallel.DistributedDataParallel(model.cuda())\nfast = torch.compile(fast, mode='max-autotune')\n", "likely"),
        ("fast = torch.distributed.fsdp.FullyShardedDataParallel(model)\nfast = torch.compile(fast, mode='max-autotune')\n", ""),
        ("fast = torch.compile(model.to('cpu'), mode='reduce-overhead')\n", ""),
        ("fast = torch.compile(model.cuda(), mode='max-autotune-no-cudagraphs')\n", ""),
        ("fast = torch.compile(model.cuda())\n", ""),
        ("fast = torch.compile(model.cuda(), mode='reduce-overhead', disable=y)\n", "likely"),
    ],
)  # fmt: skip
def test_what_uses_cuda_graphs(tmp_path: Path, compile: str, confidence: str) -> None:
    assert [each for _, each in found(tmp_path, main(KEEP, compile))] == [confidence] * bool(confidence)


TRAINER = """\
import torch


def backward(loss, scaler):
    scaler.scale(loss).backward()


class Trainer:
    def __init__(self, model, n):
        self.model = torch.compile(model.cuda(), mode="reduce-overhead")
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler()
        self.n = n

    def compute_loss(self, batch):
        return self.model(batch).mean()

    def step(self, batch):
        loss = self.compute_loss(batch)
        backward(loss, self.scaler)

    def fit(self, batches):
        for i, batch in enumerate(batches):
            self.step(batch)
            if (i + 1) % self.n == 0:
                self.scaler.step(self.optimizer)
                self.optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "", [5]),
        ("self.compute_loss(batch)", "self.compute_loss(batch).detach()", []),
        ("(i + 1) % self.n == 0", "batch is None", []),
        ("            if (i + 1) % self.n == 0:\n", "            if True:\n", []),
        ("self.optimizer.zero_grad()", "self.update()\n\n    def update(self):\n        self.optimizer.zero_grad()", [5]),
        ("reduce-overhead", "default", []),
    ],
)  # fmt: skip
def test_methods_and_helpers(tmp_path: Path, old: str, new: str, lines: list[int]) -> None:
    assert [line for line, _ in found(tmp_path, TRAINER.replace(old, new))] == lines


def test_two_models_with_an_optimizer_each(tmp_path: Path) -> None:
    source = (
        "import torch\n\n\ndef main(net_g, net_d, xs, n):\n"
        "    net_g = torch.compile(net_g.cuda(), mode='reduce-overhead')\n"
        "    net_d = torch.compile(net_d.cuda(), mode='reduce-overhead')\n"
        "    opt_g, opt_d = torch.optim.Adam(net_g.parameters()), torch.optim.Adam(net_d.parameters())\n"
        "    for i, x in enumerate(xs):\n        opt_d.zero_grad()\n        net_d(net_g(x).detach()).mean().backward()\n"
        "        opt_d.step()\n        if i % n == 0:\n            opt_g.zero_grad()\n"
        "            net_d(net_g(x)).mean().backward()\n            opt_g.step()\n"
    )
    assert found(tmp_path, source) == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (
            "from accelerate import Accelerator\n\naccelerator = Accelerator(gradient_accumulation_steps=4)\n"
            "model = accelerator.prepare(torch.compile(net, mode='max-autotune'))\nfor x in xs:\n"
            "    with accelerator.accumulate(model):\n        accelerator.backward(model(x).sum())\n",
            [10],
        ),
        (
            "from accelerate import Accelerator\n\naccelerator = Accelerator()\n"
            "model = accelerator.prepare(torch.compile(net, mode='max-autotune'))\nfor x in xs:\n"
            "    with accelerator.accumulate(model):\n        accelerator.backward(model(x).sum())\n",
            [],
        ),
        (
            "from accelerate import Accelerator\nfrom accelerate.utils import TorchDynamoPlugin\n"
            "dynamo = TorchDynamoPlugin(backend='inductor', mode='reduce-overhead')\n"
            "accelerator = Accelerator(gradient_accumulation_steps=args.n, dynamo_plugin=dynamo)\n"
            "model = accelerator.prepare(net)\nfor x in xs:\n"
            "    with accelerator.accumulate(model):\n        accelerator.backward(model(x).sum())\n",
            [11],
        ),
        (
            "from transformers import TrainingArguments\n\n"
            "args = TrainingArguments('out', torch_compile_mode='reduce-overhead', gradient_accumulation_steps=4)\n"
            "args = TrainingArguments('out', torch_compile_mode='reduce-overhead', gradient_accumulation_steps=1)\n"
            "args = TrainingArguments('out', torch_compile_mode='default', gradient_accumulation_steps=4)\n",
            [7],
        ),
        (
            "import lightning as L\n\nmodel = torch.compile(net, mode='reduce-overhead')\n"
            "L.Trainer(accumulate_grad_batches=4).fit(model)\nL.Trainer().fit(model)\n"
            "L.Trainer(accumulate_grad_batches=4, accelerator='cpu').fit(model)\n",
            [8],
        ),
    ],
)
def test_libraries_that_accumulate(tmp_path: Path, source: str, lines: list[int]) -> None:
    assert [line for line, _ in found(tmp_path, HEAD + source)] == lines


@pytest.mark.parametrize(
    ("compile", "call", "lines"),
    [
        ("fast = torch.compile(loss_of, mode='reduce-overhead')\n", "fast(model(x), y)", []),
        ("loss_of = torch.compile(loss_of, mode='reduce-overhead')\n", "loss_of(model(x), y)", []),
        ("crit = torch.compile(nn.MSELoss().cuda(), mode='reduce-overhead')\n", "crit(model(x), y)", []),
        ("fast = torch.compile(lambda x: model(x).mean(), mode='reduce-overhead')\n", "fast(x.cuda())", [9]),
        ("fast = torch.compile(lambda a, b: (a - b).abs().mean(), mode='reduce-overhead')\n", "fast(model(x.cuda()), y)", []),
        ("model.requires_grad_(False)\nfast = torch.compile(model.cuda(), mode='reduce-overhead')\n", "(fast(x) - y)", []),
    ],
)  # fmt: skip
def test_what_has_parameters(tmp_path: Path, compile: str, call: str, lines: list[int]) -> None:
    body = KEEP.replace("fast(x).sum()", call).replace("for x", "n = 2\nfor x")
    assert [line for line, _ in found(tmp_path, main(body, compile))] == lines


def test_a_helper_that_may_wrap_the_model(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom torch.distributed.fsdp import fully_shard\n"
        "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\n"
        "def prepare(model, config):\n    if config.use_ddp:\n        return DDP(model)\n"
        "    if config.use_fsdp:\n        fully_shard(model)\n    return model\n\n\n"
        "def main(config, Net, opts, xs):\n    model = Net().to(config.device)\n    if config.compile:\n"
        "        model = torch.compile(model, mode='reduce-overhead')\n    model = prepare(model, config)\n"
        "    for _ in range(config.n):\n        for opt in opts:\n            opt.zero_grad(set_to_none=True)\n"
        "        for micro_batch in range(config.accumulation):\n            loss, out = model(next(xs))\n"
        "            loss /= config.accumulation\n            loss.backward()\n"
    )
    assert found(tmp_path, source) == [(25, "likely")]
    sharded = source.replace("    if config.use_fsdp:\n        fully", "    fully")
    assert found(tmp_path, sharded) == []
    marked = source.replace(
        "        for micro", "        torch.compiler.cudagraph_mark_step_begin()\n        for micro"
    )
    assert found(tmp_path, marked) == []
