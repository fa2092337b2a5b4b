"""Numbers that vary between the calls of a compiled function, as 0-d tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding

HEAD = """\
import torch
import torch.nn as nn

GRAPHS = []


def backend(graph, inputs):
    GRAPHS.append(graph)
    return graph.forward


"""
FUNCTION = (
    HEAD + "def f(x, scale=1.0):\n    return {body}\n\n\ncompiled = torch.compile(f, backend=backend)\nresults = []\n"
)
LOOP = "for step in range(5):\n    results.append(compiled(torch.ones(4), {argument}))\n"
MODULE = HEAD + (
    "class Net(nn.Module):\n    def forward(self, x, alpha, *, beta=1):\n        return x * alpha - beta / x\n\n\n"
    "compiled = torch.compile(Net(), backend=backend)\nresults = []\n"
)
#: Programs, and what one of their lines is afterwards.
FIXED = {
    "positional": (FUNCTION.format(body="x * scale") + LOOP.format(argument="step * 0.1"), "torch.tensor(step * 0.1)"),
    "keyword": (FUNCTION.format(body="x - scale * x") + LOOP.format(argument="scale=step"), "scale=torch.tensor(step)"),
    "method": (MODULE + LOOP.format(argument="step / 2"), "torch.tensor(step / 2)"),
    "keyword of a method": (MODULE + LOOP.format(argument="2.0, beta=step"), "beta=torch.tensor(step)"),
}
#: Programs that are left alone, and why.
REFUSED = {
    "count": (HEAD + "def f(x, n):\n    for _ in range(n):\n        x = x + 1\n    return x\n\n\n"
              "compiled = torch.compile(f, backend=backend)\nresults = []\n" + LOOP.format(argument="step"),
              "Line 13 does more with `n` than arithmetic with a tensor."),
    "python arithmetic": (FUNCTION.format(body="x * (1 - scale)") + LOOP.format(argument="step"),
                          "Line 13 does more with `scale` than arithmetic with a tensor."),
    "assigned": (HEAD + "def f(x, scale):\n    scale = scale + x\n    return x * scale\n\n\n"
                 "compiled = torch.compile(f, backend=backend)\nresults = []\n" + LOOP.format(argument="step"),
                 "`scale` is assigned again in the function."),
    "attribute": (HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.depth = 1\n\n"
                  "    def forward(self, x):\n        return x * self.depth\n\n\ncompiled = torch.compile(Net(), backend=backend)\n"
                  "for step in range(4):\n    compiled.depth = step\n    compiled(torch.ones(4))\n",
                  "The number is an attribute that other code may read; keep it in a buffer written with fill_."),
    "variadic": (HEAD + "def f(x, *rest):\n    return x * rest[0]\n\n\ncompiled = torch.compile(f, backend=backend)\n"
                 "results = []\n" + LOOP.format(argument="step"), "It is not clear which parameter the number goes to."),
    "lambda": (HEAD + "compiled = torch.compile(lambda x, scale: x * scale, backend=backend)\nresults = []\n"
               + LOOP.format(argument="step"), "What is compiled is not one function of this file."),
}  # fmt: skip


def found(folder: Path, source: str) -> list[Finding]:
    file = folder / "model.py"
    file.write_text(source)
    return [f for f in engine.analyse([(file, file.name)]).findings if f.rule == "GD704"]


@pytest.mark.parametrize("name", FIXED)
def test_one_graph_with_the_same_results(tmp_path: Path, runner: Any, name: str) -> None:
    import torch

    source, line = FIXED[name]
    chosen, _ = select_fixes(found(tmp_path, source), unsafe=True)
    after = fixed_texts({"model.py": source}, chosen)["model.py"]
    assert line in after
    torch._dynamo.reset()
    before = runner.load(source)
    torch._dynamo.reset()
    fixed = runner.load(after)
    assert len(before.GRAPHS) > 1
    assert len(fixed.GRAPHS) == 1
    torch.testing.assert_close(fixed.results, before.results)


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_has_its_sentence(tmp_path: Path, name: str) -> None:
    source, sentence = REFUSED[name]
    fixes = [f.fix for f in found(tmp_path, source)]
    assert [fix.reason for fix in fixes if fix is not None] == [sentence]
