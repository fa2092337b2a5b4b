"""Which objects GD634 takes for compiled: through wrappers, copies and flags, and in which order methods run."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

HEAD = """\
import copy

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter


class Base(nn.Module):
    pass


class Net(Base):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)


def make(args):
    net = Net()
    if args.fast:
        net = torch.compile(net)
    return net


def main(args, model, x):
    net = make(args)
"""


def found(folder: Path, text: str) -> list[tuple[str, str]]:
    file = folder / "run.py"
    file.write_text(text)
    result = analyse([(file, "run.py")])
    return [(each.severity, each.suggestion) for each in result.findings if each.rule == "GD634"]


@pytest.mark.parametrize(
    ("lines", "severities"),
    [
        ("torch.jit.trace(net, x)", ["error"]),
        ("torch.jit.trace(DDP(net), x)", ["error"]),
        ("torch.jit.trace(copy.deepcopy(net), x)", ["error"]),
        ("SummaryWriter().add_graph(net, x)", ["error"]),
        ("torch.jit.trace(torch.compile(lambda t: t + 1), x)", ["error"]),
        ("torch.jit.script(torch.compile(lambda t: t + 1))", []),
        ("torch.jit.script(torch.compile(model))", []),
        ("torch.jit.script(torch.compile(model).eval())", ["error"]),
        ("torch.jit.trace(Net(), x)", []),
        ("args.fast or torch.jit.trace(net, x)", []),
        ("args.fast and torch.jit.trace(net, x)", ["error"]),
        ("if args.save and not args.fast:\n        torch.jit.trace(net, x)", []),
        ("torch.onnx.export(net, x)", []),
        ("torch.onnx.export(net, x, dynamo=False)", ["error"]),
        ("assert isinstance(net, Base)", ["warning"]),
        ("assert isinstance(net, (Net, nn.Sequential))", ["warning"]),
        ("assert isinstance(net, (Net, model))", []),
        ("assert type(net) != Net", ["warning"]),
        ("assert type(net) == Base", []),
        ("assert isinstance(DDP(net), Net)", []),
        ("assert isinstance(torch.compile(DDP(net)), DDP)", ["warning"]),
        ("assert isinstance(net, Net) or isinstance(net._orig_mod, Net)", []),
    ],
)
def test_what_is_compiled_is_followed(tmp_path: Path, lines: str, severities: list[str]) -> None:
    assert [severity for severity, _ in found(tmp_path, f"{HEAD}    {lines}\n")] == severities


ITEMS = """\
import copy
import torch
import torch.nn as nn
from torch.nn.utils import prune, weight_norm
from torch.nn.utils.parametrizations import orthogonal

layer = nn.Linear(4, 4)
plain = nn.Sequential(layer, nn.ReLU())
model = torch.compile(plain, backend="eager")
own = nn.Sequential(nn.Linear(4, 4))
own.compile(backend="eager")
made = torch.compile(nn.Linear(4, 4), backend="eager")
double = torch.compile(lambda x: (x, x), backend="eager")
"""


@pytest.mark.parametrize(
    ("line", "raises"),
    [
        ("for each in model:\n    each.eval()", True),
        ("kept = [each for each in model]", True),
        ("first = model[0]", True),
        ("both = list(model)", True),
        ("for i, each in enumerate(model):\n    each.eval()", True),
        ("weight_norm(made)", True),
        ("orthogonal(made)", True),
        ("prune.l1_unstructured(made, 'weight', amount=0.5)", True),
        ("for each in model._orig_mod:\n    each.eval()", False),
        ("for each in plain:\n    each.eval()", False),
        ("for each in own:\n    each.eval()", False),
        ("for each in model.children():\n    each.eval()", False),
        ("first = own[0]", False),
        ("count = len(model)", False),
        ("first = double(torch.ones(2))[0]", False),
        ("first = model(torch.ones(2, 4))[0]", False),
        ("weight_norm(layer)", False),
        ("try:\n    first = model[0]\nexcept TypeError:\n    first = model", False),
    ],
)
def test_what_compile_gives_has_no_items_and_no_parameters_of_its_own(tmp_path: Path, line: str, raises: bool) -> None:
    torch = pytest.importorskip("torch")
    text = f"{ITEMS}{line}\n"
    assert [severity for severity, _ in found(tmp_path, text)] == (["error"] if raises else [])
    torch._dynamo.reset()
    try:
        exec(compile(text, "run.py", "exec"), {})
        raised = False
    except Exception:
        raised = True
    assert raised is raises


METHODS = """\
import torch


class Model:
    def __init__(self, net: torch.nn.Module):
        self.net = net.eval()
{called}
    def speed_up(self):
        self.net = torch.compile(self.net)

    def save(self, x):
        torch.jit.trace(self.net, x)
"""


@pytest.mark.parametrize(
    ("called", "after", "severities"),
    [
        # Maybe a user calls one of the methods or the other.
        ("", "", []),
        ("        self.speed_up()\n", "", ["error"]),
        ("", "\n\ndef main(net, x):\n    model = Model(net)\n    model.speed_up()\n    model.save(x)\n", ["error"]),
        ("", "\n\ndef main(net, x):\n    model = Model(net)\n    model.save(x)\n    model.speed_up()\n", []),
    ],
)
def test_a_method_that_may_not_be_called_says_nothing(
    tmp_path: Path, called: str, after: str, severities: list[str]
) -> None:
    assert [severity for severity, _ in found(tmp_path, METHODS.format(called=called) + after)] == severities


@pytest.mark.parametrize(
    ("lines", "advice"),
    [
        ("net = torch.compile(Net())\n    torch.jit.trace(net, x)", "give it what was compiled: `net._orig_mod`"),
        ("net = Net()\n    net.compile()\n    torch.jit.trace(net, x)", "do it before the model is compiled"),
        ("net = torch.compile(Net())\n    isinstance(net, Net)", "test what was compiled: `net._orig_mod`"),
    ],
)
def test_the_advice_names_what_was_compiled(tmp_path: Path, lines: str, advice: str) -> None:
    assert [said for _, said in found(tmp_path, f"{HEAD}    {lines}\n")] == [advice]
