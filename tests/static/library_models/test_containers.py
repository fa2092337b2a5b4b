"""What methods put into a list, a set or a dict is there when it is iterated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call, Truth

torch = pytest.importorskip("torch")

SOURCE = """\
from collections import deque

import torch


class Net(torch.nn.Module):
    def __init__(self, names):
        super().__init__()
        held = {}
        self.held = held

    def forward(self, x):
        for name in self.held:
            print(name)
        return x
"""


@pytest.mark.parametrize(
    ("made", "is_empty"),
    [
        ("set()\n        held.update(names)", False),
        ("set()\n        held.add(names)", False),
        ("deque()\n        held.extendleft(names)", False),
        ("{}\n        held.setdefault(names, 1)", False),
        ("{}\n        held.setdefault('a', 1)", False),
        ("{}\n        held.update(a=1)", False),
        ("set()\n        held.discard(names)", True),
        ("{}\n        held.get('a')", True),
    ],
)
def test_what_is_put_in_is_there(events: Callable[..., list[Any]], made: str, is_empty: bool) -> None:
    calls = [e.qualname for e in events(SOURCE.replace("{}", made, 1)) if isinstance(e, Call) and e.site.compiled]
    assert ("builtins.print" not in calls) == is_empty


@pytest.mark.parametrize(
    "bar", ["tqdm.tqdm(ts, total=4)", "tqdm.auto.tqdm(iterable=zip(ts, ts))", "rich.progress.track(ts)"]
)
def test_a_progress_bar_gives_what_it_goes_through(events: Callable[..., list[Any]], bar: str) -> None:
    source = (
        "import rich.progress\nimport torch\nimport tqdm.auto\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n"
        f"    ts = x.view(2, 2)\n    for i, t in enumerate({bar}):\n        if t[0] > 0:\n"
        "            x = x + i\n    return x\n"
    )
    tested = [event for event in events(source) if isinstance(event, Truth) and "Tensor" in repr(event.value)]
    assert tested


@pytest.mark.parametrize(
    ("call", "breaks"),
    [
        ("deque([1, 2]).rotate(1)", True),
        ("deque([1, 2]).reverse()", False),
        ("Counter([1, 1, 2]).most_common(1)", True),
        ("Counter([1, 1, 2]).most_common()", False),
    ],
)
def test_methods_that_only_some_containers_have(tmp_path, splits: Callable[..., bool], call: str, breaks: bool) -> None:
    source = (
        "from collections import Counter, deque\n\nimport torch\n\n\n"
        f"def f(x):\n    {call}\n    return x * 2\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(2),)\n"
    )
    file = tmp_path / "source.py"
    file.write_text(source)
    assert [f.rule for f in analyse([(file, file.name)]).findings] == ["GD405"] * breaks
    assert splits(source, "f", torch.rand(2)) == breaks


COLLECTED = """\
import numpy as np
import torch


def f(x: torch.Tensor, kinds):
    flags = []
    for kind in kinds:
        flags += {more}
    return x[:, np.array(flags)] * 2
"""


@pytest.mark.parametrize(
    ("more", "is_mask"),
    [
        ("x.shape[0] * [str(kind) == 'eq']", True),
        ("[str(kind) == 'eq'] * x.shape[0]", True),
        ("x.shape[0] * [len(kind)]", False),
    ],
)
def test_an_empty_list_adds_nothing_to_what_is_known_of_its_items(
    tmp_path: Path, splits: Callable[..., bool], more: str, is_mask: bool
) -> None:
    source = COLLECTED.format(more=more)
    file = tmp_path / "f.py"
    file.write_text(f"__all__ = ['f']\n{source}")
    assert [each.rule for each in analyse([(file, "f.py")]).findings] == ["GD302"] * is_mask
    assert splits(source, "f", torch.ones(2, 4), ["eq", "a"]) is is_mask
