"""LayerDrop: the layers that a random tensor skips, in the forms in which models write it."""

from __future__ import annotations

from typing import Any

import pytest

MODEL = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.drop = 0.5

    def forward(self, x):
        for layer in self.layers:
{}
        return x


torch.manual_seed(0)
net = Net()


def f(x):
    return net(x)


def graphdoctor_target():
    return net, (torch.rand(4, 8),)
"""
FORMS = {
    "continue": "if self.training and torch.rand([]) < self.drop:\n    continue\nx = layer(x)",
    "number": "if self.training and torch.rand(1).item() < self.drop:\n    continue\nx = layer(x)",
    "one element": "if torch.rand(1) < self.drop:\n    continue\nx = x + layer(x)",
    "flag around": "if self.training:\n    p = torch.rand([])\n    if p < self.drop:\n        continue\nout = layer(x)\nx = out",
    "not": "if not (self.training and torch.rand([]) < self.drop):\n    y = layer(x)\n    x = x + y",
    "name": "p = torch.rand([])\nskip = self.training and p < self.drop\nif not skip:\n    x = layer(x)",
    "or": "p = torch.rand([])\nif not self.training or p > self.drop:\n    x = layer(x)",
    "flag of two parts": "if self.training and self.drop > 0.0:\n    p = torch.rand([])\n    if p < self.drop:\n        continue\n"
                         "x = layer(\n    x,\n)",
    "set to True": "drop = False\nif self.training and self.drop > 0.0:\n    p = torch.rand([])\n    if p < self.drop:  # skip it\n"
                   "        drop = True\n\nif not drop:\n    # all of it\n    x = layer(\n        x,\n    )",
    "set to a tensor": "skip = False\nif self.training:\n    p = torch.rand([])\n    skip = p < self.drop\n"
                       "if not skip or self.drop is None:\n    y = layer(x)\n    x = x + y",
    "None for its results": "drop = False\nif self.training and self.drop > 0.0:\n    p = torch.rand([])\n    if p < self.drop:\n"
                            "        drop = True\n\nif drop:  # skip it\n    out = (None, None)\nelse:\n    # all of it\n"
                            "    out = (\n        layer(x),\n        None,\n    )\n    x = out[0]",
    "None for its result": "drop = self.training and torch.rand([]) < self.drop\nif drop:\n    y = None\nelse:\n    y = layer(x)\n    x = y",
    "tensor alone": "keep = torch.rand(()) > self.drop\nif keep:\n    x = torch.relu(layer(x))",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_one_graph_that_skips_the_same_layers(fixed: Any, runner: Any, form: str) -> None:
    import torch

    body = "\n".join(f"            {line}" for line in FORMS[form].splitlines())
    source = MODEL.format(body)
    after = fixed(source, unsafe=True).text
    assert all(comment in after for comment in ("# skip it", "# all of it") if comment in source)
    x = torch.rand(4, 8)
    assert runner.compiled(source, x).breaks > 0
    results = []
    for seed in range(6):
        torch.manual_seed(seed)
        original = runner.load(source)
        torch.manual_seed(seed)
        results.append(original.f(x))
        rewritten = runner.load(after)
        torch.manual_seed(seed)
        torch.testing.assert_close(rewritten.f(x), results[-1])
        rewritten.net.eval()
        original.net.eval()
        torch.manual_seed(seed)
        expected = original.f(x)
        torch.manual_seed(seed)
        torch.testing.assert_close(rewritten.f(x), expected)
    assert len({float(r.sum().detach()) for r in results}) > 2  # Not every seed skips the same layers.
    result = runner.compiled(after, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)


def test_a_result_that_is_none_before_the_first_layer_stays(fixed: Any) -> None:
    body = "if torch.rand([]) > self.drop:\n    x, last = layer(x), x"
    source = MODEL.format("\n".join(f"            {line}" for line in body.splitlines()))
    started = source.replace("        for layer", "        last = None\n        for layer")
    assert fixed(started, unsafe=True).text == started
    with_tensor = source.replace("        for layer", "        last = x\n        for layer")
    assert fixed(with_tensor, unsafe=True).text != with_tensor


EARLIER = {
    "made by an earlier layer": "if torch.rand([]) > self.drop:\n    y = layer(x)\n    x = x + y\nx = x * y",
    "an item of an iterator": "if torch.rand([]) > self.drop:\n    x = layer(x) + next(parts)",
    "an item of a list": "if self.training and torch.rand([]) < self.drop:\n    continue\nx = layer(x) + rest.pop()",
}


@pytest.mark.parametrize("form", EARLIER)
def test_what_an_earlier_round_leaves_is_not_written_anew(fixed: Any, form: str) -> None:
    source = MODEL.format("\n".join(f"            {line}" for line in EARLIER[form].splitlines()))
    source = source.replace("        for layer", "        parts, rest = iter(x), [x, x, x]\n        for layer")
    assert fixed(source, unsafe=True).text == source


#: Numbers that another generator draws: they become an operator of the graph.
DRAWN = {
    "in the test": "if self.training and np.random.uniform(0, 1) < self.drop:\n    continue\nx = layer(x)",
    "in a name": "p = np.random.random()\nif not self.training or (p > self.drop):\n    x = layer(x)",
    "of Python": "p = random.triangular()\nif self.training and p < self.drop:\n    continue\nx = layer(x)",
    "without a flag": "if np.random.rand() < self.drop:\n    continue\nx = x + layer(x)",
}


@pytest.mark.parametrize("form", DRAWN)
def test_other_generators_skip_the_same_layers(fixed: Any, runner: Any, form: str) -> None:
    import random

    import numpy as np
    import torch

    body = "\n".join(f"            {line}" for line in DRAWN[form].splitlines())
    source = "import random\n\nimport numpy as np\n" + MODEL.format(body)
    after = fixed(source, unsafe=True).text
    assert fixed(after, unsafe=True).text == after
    x, compiled = torch.rand(4, 8), runner.load(after)
    assert runner.compiled(source, x).breaks > 0
    whole = torch.compile(compiled.f, backend="eager", fullgraph=True)
    original, states = runner.load(source), set()
    for seed in range(8):
        results = []
        for call in (original.f, compiled.f, whole):
            random.seed(seed)
            np.random.seed(seed)
            results.append(call(x))
        torch.testing.assert_close(results[1], results[0])
        torch.testing.assert_close(results[2], results[0])
        states.add(round(results[0].sum().item(), 4))
    assert len(states) > 1
