"""Helpers that return a number of a tensor: the callers go on with the tensor, other files get the number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint import engine

HEAD = "import math\n\nimport torch\nimport torch.nn as nn\n\n\n"
TAIL = "\n\nnet = Net()\n\n\ndef f(x):\n    return net(x)\n\n\ndef graphdoctor_target():\n    return net, (torch.rand(4, 8),)\n"
NET = "class Net(nn.Module):\n"
FORWARD = "    def forward(self, x):\n"
BRANCH = "        if {} > 0.25:\n            x = x / 2\n        return x.relu()\n"
PUBLIC = "    def energy(self, x):\n        return x.pow(2).mean().item()\n\n"
#: A program, and what stands in it afterwards.
FORMS = {
    "public": (NET + PUBLIC + FORWARD + BRANCH.format("self.energy(x)"),
               "    def energy(self, x):\n        return self._energy_tensor(x).item()\n\n    def _energy_tensor(self, x):\n"),
    "private": (NET + "    def _energy(self, x) -> float:\n        squares = x * x\n        return float(squares.mean())\n\n"
                + FORWARD + BRANCH.format("self._energy(x)"),
                "    def _energy(self, x):\n        squares = x * x\n        return squares.mean().detach()\n"),
    "function": ("def energy(x, power=2):\n    return float(x.pow(power).mean())\n\n\n" + NET + FORWARD
                 + BRANCH.format("energy(x, power=2)"),
                 "def energy(x, power=2):\n    return float(_energy_tensor(x, power))\n\n\ndef _energy_tensor(x, power=2):\n"),
    "arithmetic": (NET + "    def _share(self, x):\n        return x.gt(0).float().mean().item() * 2\n\n" + FORWARD
                   + "        share = self._share(x)\n        return x * (1 - share) + self._share(-x)\n",
                   "        return x.gt(0).float().mean().detach() * 2\n"),
    "through two": (NET + "    def _mean(self, x):\n        return x.mean().item()\n\n    def _twice(self, x):\n"
                    "        return self._mean(x) * 2\n\n" + FORWARD + BRANCH.format("self._twice(x)"),
                    "        return x.mean().detach()\n"),
    "return from a loop": (NET + PUBLIC + FORWARD + "        for _ in range(3):\n            x = x * 0.75\n"
                           "            if self.energy(x) < 0.1:\n                return x\n        return x + 1\n",
                           "done = done | (self._energy_tensor(x) < 0.1)"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_one_graph_and_the_same_results(fixed: Any, runner: Any, form: str) -> None:
    import torch

    body, line = FORMS[form]
    source = HEAD + body + TAIL
    after = fixed(source, unsafe=True).text
    assert line in after
    for x in (torch.full((4, 8), 0.1), torch.ones(4, 8), torch.linspace(-1, 1, 32).reshape(4, 8)):
        expected = runner.eager(source, x)
        torch.testing.assert_close(runner.eager(after, x), expected)
        result = runner.compiled(after, x, fullgraph=True)
        assert (result.breaks, result.graphs) == (0, 1)
        torch.testing.assert_close(result.value, expected)


def test_other_files_get_the_number(fixed: Any, runner: Any) -> None:
    import torch

    after = runner.load(fixed(HEAD + FORMS["public"][0] + TAIL, unsafe=True).text)
    assert type(after.net.energy(torch.ones(2))) is float


KEPT = {
    "a function of math, which others may give numbers":
        "    def energy(self, x):\n        return math.sqrt(x)\n\n" + FORWARD + BRANCH.format("self.energy(x.mean())"),
    "two returns": "    def _energy(self, x):\n        if x.ndim > 2:\n            return 0.0\n        return x.mean().item()\n\n"
                   + FORWARD + BRANCH.format("self._energy(x)"),
    "a method of subclasses": PUBLIC + FORWARD + BRANCH.format("self.energy(x)")
                              + "\n\nclass Other(Net):\n    def energy(self, x):\n        return 1.0\n",
    "called of others": PUBLIC + FORWARD + BRANCH.format("self.energy(x)") + "\n\nprint(Net().energy(torch.ones(2)))\n",
    "given on": PUBLIC + FORWARD + "        return self.scaled(x, self.energy)\n",
    "stars": PUBLIC + FORWARD + BRANCH.format("self.energy(*[x])"),
    "stars of its own": "    def energy(self, *x):\n        return x[0].mean().item()\n\n" + FORWARD + BRANCH.format("self.energy(x)"),
    "decorated": "    @property\n    def energy(self):\n        return self.w.mean().item()\n\n" + FORWARD + BRANCH.format("self.energy"),
    "arithmetic of a public one": "    def energy(self, x):\n        return x.mean().item() + 1\n\n" + FORWARD
                                  + BRANCH.format("self.energy(x)"),
    "not called": "    def energy(self, x):\n        return x.mean().item()\n",
    "given on by the caller": PUBLIC + FORWARD + "        return self.energy(x)\n",
    "on one line": "    def energy(self, x): return x.mean().item()\n\n" + FORWARD + BRANCH.format("self.energy(x)"),
    "called in adjacent strings": PUBLIC + FORWARD + BRANCH.format("self.energy(x)")
                                  + "\n\n    def shown(self, x):\n        return f'energy {self.energy(x)} ' f'{len(x)}'\n",
    "of a class in a function": "    def make(self):\n        def inner(x):\n            return x.mean().item()\n\n        return inner(self.w)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_what_more_depends_on_keeps_its_number(tmp_path: Path, name: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(HEAD + NET + KEPT[name])
    result = engine.analyse([(file, file.name)])
    fixes = [finding.fix for finding in result.findings]
    assert [scanned.reason for scanned in result.files] == [None]
    assert not [fix for fix in fixes if fix is not None and "_tensor(" in (fix.diff or "")]
    assert not [fix for fix in fixes if fix is not None and "-        return" in (fix.diff or "")]
