"""Fixing what is fixed changes nothing: the examples of the rules and the fixtures, through all fixes, twice.

So do what tests the single rewrites (test_rewrites and others); here are programs for those that have no such test.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.engine import analyse

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.rule_versions.examples import complete, rules

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("[!b]*/*.py"))

HEAD = "import torch\nfrom torch import nn\n\n\n"
NET = HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
#: Programs, and a part of what they become.
PROGRAMS = {
    "the result of an early return": (
        HEAD + "def f(x):\n    if x.sum() > 0:\n        return x * 2\n    y = x + 1\n    y = y * 3\n    return y\n",
        "return torch.where(condition, early, y)",
    ),
    "an early return of nothing": (
        NET + "        self.register_buffer('ready', torch.tensor(False))\n"
        "        self.register_buffer('mean', torch.zeros(8))\n\n    def forward(self, x):\n        self.set_up(x)\n"
        "        return x - self.mean\n\n    def set_up(self, x):\n        if self.ready:\n            return\n"
        "        self.mean.copy_(x.mean(0))\n        self.ready.fill_(True)\n",
        "self.mean.copy_(torch.where(condition, self.mean, x.mean(0)))",
    ),
    "writes by a mask": (
        HEAD + "def f(x):\n    y = x * 1\n    m = x > 0.5\n    if m.any():\n        y[m] = 0.0\n    return y\n",
        "    m = x > 0.5\n    y[m] = 0.0\n",
    ),
    "counted experts": (
        NET + "        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))\n\n    def forward(self, x):\n"
        "        ids = (x > 0.5)[:, :2]\n        counts = ids.sum(0).cpu().numpy()\n        outs = []\n        start = 0\n"
        "        for i, n in enumerate(counts):\n            end = start + n\n            if n == 0:\n                continue\n"
        "            outs.append(self.experts[i](x[start:end]))\n            start = end\n        return torch.cat(outs)\n",
        "torch.where(",
    ),
    "parts of a sequence": (
        HEAD + "from torch.nn.functional import scaled_dot_product_attention as sdpa\n\n\ndef f(x):\n"
        "    n = (x[0] > 0).long().sum().reshape(1) // 2\n    q = x[None]\n    sizes = n.tolist()\n"
        "    return torch.cat([sdpa(a, b, c) for a, b, c in zip(q.split(sizes, 1), q.split(sizes, 1), q.split(sizes, 1))], 1)\n",
        "torch.bucketize(",
    ),
}


def fixed(text: str, file: Path) -> str:
    file.write_text(text)
    chosen, _ = select_fixes(analyse([(file, file.name)]).findings, unsafe=True)
    return fixed_texts({file.name: text}, chosen).get(file.name, text)


def fixed_twice(text: str, file: Path) -> str:
    """``text`` with its fixes, which a second scan must leave as it is."""
    once = fixed(text, file)
    ast.parse(once)
    assert fixed(once, file) == once
    return once


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.__name__.rpartition(".")[2])
def test_the_examples_of_a_rule(tmp_path: Path, rule: ModuleType) -> None:
    sources = [complete(source) for source in rule.BREAKS]
    changed = [source for source in sources if fixed_twice(source, tmp_path / "model.py") != source]
    assert bool(changed) or not hasattr(rule, "fix")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(tmp_path: Path, name: str) -> None:
    source, part = PROGRAMS[name]
    assert part in fixed_twice(complete(source), tmp_path / "model.py")


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_fixture(tmp_path: Path, fixture: Path) -> None:
    fixed_twice(fixture.read_text(), tmp_path / "model.py")
