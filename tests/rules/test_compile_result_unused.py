"""Compiled models that nothing runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("for _ in range(3):\n    net(torch.rand(4))", ["GD601"]),
        ("for _ in range(3):\n    fast(torch.rand(4))", []),
        ("def main():\n    net(torch.rand(4))", []),
        ("", []),
    ],
)
def test_a_name_of_the_module_that_nothing_reads_while_the_plain_model_runs(
    tmp_path: Path, rest: str, found: list[str]
) -> None:
    file = tmp_path / "run.py"
    file.write_text(
        f"import torch\n\nnet = torch.nn.Linear(4, 4)\nnet(torch.rand(4))\nfast = torch.compile(net)\n{rest}\n"
    )
    assert [f.rule for f in analyse([(file, "run.py")]).findings] == found


@pytest.mark.parametrize(("rest", "found"), [("; fast(x)", []), ("; net(x)", ["GD601"])])
def test_what_stands_on_the_same_line_comes_after(tmp_path: Path, rest: str, found: list[str]) -> None:
    file = tmp_path / "run.py"
    file.write_text(f"import torch\n\n\ndef work(net, x):\n    fast = torch.compile(net){rest}\n")
    assert [f.rule for f in analyse([(file, "run.py")]).findings] == found


GIVEN = """\
import torch


class Loop:
    def __init__(self, model):
        self.model = model

    def run(self):
        self.model(torch.rand(4))


def main(model):
    {before}
    if torch.__version__ >= "2":
        model = torch.compile(model)
    {after}
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("loop = Loop(model)", "loop.run(); torch.save(model.state_dict(), 'w.pt')", True),
        ("loop = Loop(model=model)", "model.eval(); loop.run()", True),
        ("loop = Loop(model)", "model(torch.rand(4)); loop.run()", False),
        ("loop = Loop(model)", "model.forward(torch.rand(4)); loop.run()", False),
        ("loop = Loop(model)", "Loop(model).run(); loop.run()", False),
        ("loop = Loop(model)", "return model.state_dict()", False),
        ("loop = Loop(torch.rand(4))", "loop.model = model; loop.run()", False),
        ("loop = Loop(model)", "loop.model = model; loop.run()", False),
        ("loop = Loop(model)", "loop.run = lambda: model(torch.rand(4)); loop.run()", False),
        ("loop = Loop(model)\n    step = lambda: model(torch.rand(4))", "step(); loop.run()", False),
        ("loop = Loop(model)\n    model = wrapped(model)", "loop.run(); model.eval()", False),
        ("model = Loop(model)\n    loop = Loop(model)", "loop.run(); model.eval()", True),
    ],
)
def test_what_got_the_model_before_goes_on_with_the_plain_one(
    tmp_path: Path, before: str, after: str, found: bool
) -> None:
    file = tmp_path / "run.py"
    file.write_text(GIVEN.format(before=before, after=after))
    messages = [f.message for f in analyse([(file, "run.py")]).findings if f.rule == "GD601"]
    assert messages == ["`loop` got `model` before `torch.compile(model)`, and nothing calls the compiled one"] * found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("net = net.compile()", True),
        ("fast: torch.nn.Module = net.compile(backend='eager')", True),
        ("net = Net().compile(dynamic=True)", True),
        ("net.compile()", False),
        ("net.compile(), net(torch.rand(4))", False),
        ("fast = net.compile() or net", False),
        ("net = Loader().compile()", False),
        ("import re; net = re.compile('a')", False),
    ],
)
def test_the_method_that_compiles_in_place_gives_none(tmp_path: Path, line: str, found: bool) -> None:
    file = tmp_path / "run.py"
    file.write_text(NETS + f"{line}\n")
    rules = [f.rule for f in analyse([(file, "run.py")]).findings]
    assert ("GD601" in rules) is found, rules


NETS = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x * 2


class Loader:
    def compile(self):
        return Net()


net = Net()
"""


def test_it_does_give_none() -> None:
    import torch

    compiles: Any = torch.nn.Linear(2, 2).compile
    assert compiles(backend="eager") is None
