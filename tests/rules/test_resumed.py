"""What changes after a graph break: it is compiled as a function of its own, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from graphdoctor.lint.engine import analyse

_CALLS = 6

PROGRAM = """\
import torch
import torch.nn as nn


class Store{base}:
    def __init__(self):
        super().__init__()
        self.n = 0
        self.seen = {{"n": 0}}
        self.rows = []

    def add(self, x):
        {body}

    def told(self, x):
        if not torch.is_grad_enabled():
            print(x)

    def forward(self, x):
        return self.add(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.store = Store()

    def forward(self, x):
        return self.store.add(x * 2)


class Outer:
    def __init__(self):
        self.net = Net()

    def run(self, x):
        return self.net(x)


def graphdoctor_target():
    return {target}, (torch.rand(4),)
"""


def _severities_and_compilations(tmp_path: Path, text: str) -> tuple[list[str], int]:
    file = tmp_path / "store.py"
    file.write_text(text)
    found = [f for f in analyse([(file, "store.py")]).findings if f.rule in ("GD701", "GD702")]
    namespace: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), namespace)
    target, arguments = namespace["graphdoctor_target"]()
    torch.compiler.reset()
    counter = CompileCounter()
    compiled = torch.compile(target, backend=counter)
    for _ in range(_CALLS):
        compiled(*arguments)
    return [f.severity for f in found], counter.frame_count


@pytest.mark.parametrize(
    ("base", "body", "target", "severities", "compilations"),
    [
        # Nothing is computed after the break: a list may grow and a number change there.
        ("(nn.Module)", "y = x.sum().item(); self.rows.append(y); return y", "Store()", [], 1),
        ("(nn.Module)", "y = x.sum().item(); self.n += 1; return y", "Store()", [], 1),
        ("(nn.Module)", "y = x.sum().item(); self.n = self.n + 1; return y", "Store()", [], 1),
        ("", "y = x.sum().item(); self.rows.append(y); return y", "Net()", [], 2),
        # Something is, after the change or before it.
        ("(nn.Module)", "y = x.sum().item(); self.rows.append(y); return x * 3", "Store()", ["warning"], 1 + _CALLS),
        ("(nn.Module)", "x.sum().item(); y = x * 3; self.rows.append(1); return y", "Store()", ["warning"], 1 + _CALLS),
        ("(nn.Module)", "self.rows.append(1); return x.sum().item()", "Store()", ["warning"], _CALLS),
        # A plain object is passed to what follows a break of its own method, but not to one that is inlined.
        ("", "x.sum().item(); self.n += 1; return x * 3", "Net()", ["info"], 4),
        ("", 'x.sum().item(); self.seen["n"] += 1; return x * 3', "Net()", ["info"], 4),
        ("", "x.sum().item(); self.n += 1; self.seen[self.n] = 1; return x * 3", "Net()", [], 2 + _CALLS),
        ("", "x.sum().item(); self.n += 1; return x * len(range(self.n))", "Net()", [], 2 + _CALLS),
        ("", "self.n += 1; return x * 3", "Net()", ["warning"], _CALLS),
        ("", "self.n += 1; return x * 3", "Outer().run", ["warning"], _CALLS),
        ("", 'self.seen["n"] += 1; return x * 3', "Store().add", ["info"], 2),
        ("(nn.Module)", "x.sum().item(); self.n += 1; return x * 3", "Store()", ["warning"], 1 + _CALLS),
        # The graph ends in some calls only: the others are compiled as a whole.
        (
            "(nn.Module)",
            "y = x * 3; if self.n % 4 == 0: print(1); self.n += 1; return y",
            "Store()",
            ["warning"],
            _CALLS,
        ),
        # Where a break comes on some paths only, nothing is known of a plain object.
        ("", "z = 0 if torch.is_grad_enabled() else x.sum().item(); self.n += 1; return x * 3", "Net()", [], _CALLS),
        ("", "if not torch.is_grad_enabled(): print(x); self.n += 1; return x * 3", "Net()", [], _CALLS),
        ("", "self.told(x); self.n += 1; return x * 3", "Net()", [], _CALLS),
        ("", "if not torch.is_grad_enabled(): return x.sum().item(); self.n += 1; return x * 3", "Net()", [], _CALLS),
    ],
)
def test_what_changes_behind_a_break(
    tmp_path: Path, base: str, body: str, target: str, severities: list[str], compilations: int
) -> None:
    text = PROGRAM.format(base=base, body="\n        ".join(body.split("; ")), target=target)
    assert _severities_and_compilations(tmp_path, text) == (severities, compilations)


LOOP = """\
        {before}
        for i in range(2):
            x = x * 2
            {inside}
            {change}
        return x
"""


@pytest.mark.parametrize(
    ("before", "inside", "change", "severities", "compilations"),
    [
        ("pass", "print(i)", "self.n += 1", [], 0),
        ("pass", "print(i)", "self.rows.append(i)", [], 0),
        ("pass", "self.rows.append(x.sum().item())", "pass", [], 0),
        ("print(1)", "pass", "self.n += 1", ["warning"], _CALLS),
        ("pass", "pass", "self.n += 1", ["warning"], _CALLS),
    ],
)
def test_a_break_in_a_loop_drops_the_function_and_its_counter(
    tmp_path: Path, before: str, inside: str, change: str, severities: list[str], compilations: int
) -> None:
    text = PROGRAM.format(base="(nn.Module)", body="BODY", target="Store()")
    body = LOOP.format(before=before, inside=inside, change=change)
    assert _severities_and_compilations(tmp_path, text.replace("        BODY\n", body)) == (severities, compilations)
