"""Which arguments may be left out with a call under compile, and which do something that the program depends on."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = """\
import datetime
import logging
import math
import os
import queue
import random
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger(__name__)
batches = iter(range(99))
waiting = queue.Queue()
stack = [1, 2, 3]
names = {"a": 1}


"""
MODEL = """\
class Meter:
    total = 0.0

    def add(self, value):
        self.total += value
        return self


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.mean = nn.BatchNorm1d(4)
        self.meter = Meter()
        self.calls = 0
        self.sizes = [4, 4]

    def counter(self):
        self.calls += 1
        return self.calls

    @property
    def drawn(self):
        self.calls += 1
        return self.calls

    def forward(self, x, mask=None, meter=None):
        h = self.lin(x)
        rows = [t.shape for t in (x, h)]
        {line}
        return h


def graphdoctor_target():
    return Net(), (torch.rand(4, 4), None, Meter())
"""

QUIET = [
    "print((h > 1).nonzero().flatten().tolist(), torch.argwhere(h > 1), torch.unique(x), x.masked_select(x > 0))",
    "print('input', x.shape, x.dtype, x.device)",
    "print(x)",
    "print(f'{h.mean():.3f} of {x.shape[0]}')",
    "print('%s' % h.std().item())",
    "print('{}'.format(x.mean()), ', '.join(str(s) for s in x.shape))",
    "print(x.mean(), x.abs().max(), len(x), type(x).__name__, tuple(x.size()), x.requires_grad)",
    "print(self.lin.weight.norm(), self.training, self.calls, self.sizes, len(self.sizes), max(1, self.calls))",
    "print(sum(p.numel() for p in self.parameters()))",
    "print(*x.shape, *rows, [r[0] for r in rows], sep='-', end='', flush=True)",
    "print(mask.shape if mask is not None else None, mask is None and x.ndim > 1)",
    "print(torch.isnan(x).any(), torch.linalg.norm(x), F.relu(x), torch.where(x > 0, x, -x), torch.is_grad_enabled())",
    "print(torch.cuda.memory_allocated() / 2**20, torch.cuda.is_available(), math.log(2), os.getpid())",
    "print(datetime.datetime.now().strftime('%H'), time.time())",
    "print(x.sum(), file=sys.stderr)",
    "print({k: v for k, v in names.items()}, names.get('a'), stack.index(1), sorted(names), x[0], x[:, 1].mean())",
    "print('a' 'b', not x.is_cuda, x.detach().cpu().numpy().mean(), x.tolist())",
    "logger.info('scored %d, %s', x.shape[0], h.mean())",
    "logger.debug(f'{h.norm()}', extra={'n': x.ndim})",
    "logging.warning('a')",
    "sys.stdout.write(f'{x.shape}')",
]

LOUD = {
    "print(next(batches))": "next(batches)",
    "print(waiting.get())": "waiting.get()",
    "print(self.meter.add(2.0))": "self.meter.add(2.0)",
    "print(meter.add(2.0))": "meter.add(2.0)",
    "print(self.mean(x))": "self.mean(x)",
    "print(self.counter())": "self.counter()",
    "print(self.drawn)": "self.drawn",
    "print(getattr(self, 'drawn'))": "getattr(self, 'drawn')",
    "print(x.add_(1))": "x.add_(1)",
    "print(x.add(1).mul_(2))": "x.add(1).mul_(2)",
    "print(torch.add(x, 1, out=x))": "torch.add(x, 1, out=x)",
    "print(np.round(3.0, out=stack))": "np.round(3.0, out=stack)",
    "print(F.relu(x, inplace=True))": "F.relu(x, inplace=True)",
    "print(F.relu(x, True))": "F.relu(x, True)",
    "print(F.leaky_relu(x, 0.1, True))": "F.leaky_relu(x, 0.1, True)",
    "print(torch.rand(2))": "torch.rand(2)",
    "print(F.dropout(x))": "F.dropout(x)",
    "print(x.bernoulli())": "x.bernoulli()",
    "print(random.random())": "random.random()",
    "print(x.requires_grad_())": "x.requires_grad_()",
    "print(self.lin.half())": "self.lin.half()",
    "print(stack.pop())": "stack.pop()",
    "print(names.setdefault('b', 2))": "names.setdefault('b', 2)",
    "print(*batches)": "batches",
    "print(list(batches))": "list(batches)",
    "print(sum(batches))": "sum(batches)",
    "print(3 in batches)": "batches",
    "print([b for b in batches])": "batches",
    "print(max([1, 2], key=stack.append))": "max([1, 2], key=stack.append)",
    "print(list(map(stack.append, [1])))": "map(stack.append, [1])",
    "print((lambda: stack.append(1))())": "(lambda: stack.append(1))()",
    "print(f'{stack.pop()}')": "stack.pop()",
    "print(f'{x.ndim:{stack.pop()}}')": "stack.pop()",
    "print(x.ndim and stack.pop())": "stack.pop()",
    "logger.info('%s', next(batches))": "next(batches)",
}


@pytest.mark.parametrize("line", QUIET)
def test_a_value_that_is_only_shown_may_go(fixed: Any, line: str) -> None:
    result = fixed(HEAD + MODEL.replace("{line}", line))
    (found,) = {f.fix for f in result.findings if f.rule in ("GD101", "GD102", "GD103")}
    assert found.safety == "safe", found.reason
    assert f"if not torch.compiler.is_compiling():\n            {line}\n" in result.text


@pytest.mark.parametrize("line", LOUD)
def test_a_side_effect_is_named(fixed: Any, line: str) -> None:
    result = fixed(HEAD + MODEL.replace("{line}", line))
    (found,) = {f.fix for f in result.findings if f.rule in ("GD101", "GD103")}
    assert found.safety == "unsafe"
    left_out = f"{line.partition('(')[0]}(...)"
    assert found.reason == f"Under compile `{left_out}` is left out, and `{LOUD[line]}` does not run either."
    assert line in result.text and f"    {line}" not in result.text.replace(f"        {line}", "", 1)


@pytest.mark.parametrize(
    "method, line",
    [
        ("def __str__(self):\n        V.n += 1\n        return ''", "print(v)"),
        ("def __str__(self):\n        V.n += 1\n        return ''", "print(f'{v}')"),
        ("def __str__(self):\n        V.n += 1\n        return ''", "print('%s' % v)"),
        ("def __repr__(self):\n        V.n += 1\n        return ''", "print('{}'.format(v))"),
        ("def __repr__(self):\n        V.n += 1\n        return ''", "print([v], {'a': v})"),
        ("def __repr__(self):\n        V.n += 1\n        return ''", "print(str([v]))"),
        ("def __len__(self):\n        V.n += 1\n        return 1", "print(len(v))"),
        ("def __add__(self, o):\n        V.n += 1\n        return 1", "print(v + 1)"),
        ("def __eq__(self, o):\n        V.n += 1\n        return True", "print(v == 1)"),
        ("def __lt__(self, o):\n        V.n += 1\n        return True", "print(sorted([v, v]))"),
        ("def __lt__(self, o):\n        V.n += 1\n        return True", "print(min(v, v))"),
        ("def __gt__(self, o):\n        V.n += 1\n        return True", "print(max([v, v]))"),
        ("def __radd__(self, o):\n        V.n += 1\n        return 1", "print(sum([v]))"),
        ("def __eq__(self, o):\n        V.n += 1\n        return True", "print([v].index(v))"),
        ("def __hash__(self):\n        V.n += 1\n        return 1", "print({v}, {v: 1})"),
        ("def __hash__(self):\n        V.n += 1\n        return 1", "print(set([v]))"),
        ("def __hash__(self):\n        V.n += 1\n        return 1", "print({1: 2}.get(v))"),
        ("__lt__ = lambda self, o: stack.pop()", "print(v < v)"),
        ("def __bool__(self):\n        V.n += 1\n        return True", "print(1 if v else 2)"),
        ("def __getitem__(self, o):\n        V.n += 1\n        return 1", "print(v[0])"),
        ("def __getattr__(self, o):\n        V.n += 1\n        return 1", "print(v.anything)"),
        ("def __missing__(self, o):\n        V.n += 1\n        return 1", "print(v[0])"),
        ("count = property(lambda self: stack.pop())", "print(v.count)"),
    ],
)
def test_special_methods_of_the_file_may_run(fixed: Any, method: str, line: str) -> None:
    source = (
        f"stack = [1]\n\n\nclass V:\n    n = 0\n\n    {method}\n\n\nv = V()\n\n\ndef f(x):\n    {line}\n    return x\n"
    )
    source = "import torch\n\n\n" + source + "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"
    result = fixed(source)
    assert {f.fix.safety for f in result.findings if f.rule == "GD101"} == {"unsafe"}
    assert result.text == source
