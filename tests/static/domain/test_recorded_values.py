"""The values of expressions that fixes ask for: joined over all paths, also in helpers, and only when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.lint import engine, findings
from graphdoctor.lint.work import Work
from graphdoctor.model.findings import Fix
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import UNKNOWN, Const, External, Tensor, Value
from graphdoctor.static.rule import Hit, Rule
from graphdoctor.syntax.walk import walk

SOURCE = """\
import torch
import torch.nn as nn


def halved(y):
    return y / 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, flag: bool):
        h = self.linear(x)
        limit = 3 if flag else h.sum()
        if h.sum() > limit:
            h = halved(h)
        return h


def unused(z):
    return z + 1
"""


@pytest.fixture
def values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Value]:
    """The values by the code of the expressions, as the fixes of the one finding can ask for them."""
    found: dict[str, Value] = {}
    suggest = findings.suggest

    def look(rule: Rule, hit: Hit, editor: Editor, others: Sequence[Hit]) -> Fix | None:
        for node in walk(editor.module.tree):
            if isinstance(node, (cst.Attribute, cst.BinaryOperation, cst.Call, cst.IfExp)):
                found[editor.code(editor.module.of(node))] = editor.value(node)
        return suggest(rule, hit, editor, others)

    monkeypatch.setattr(findings, "suggest", look)
    file = tmp_path / "model.py"
    file.write_text(SOURCE)
    assert [f.rule for f in engine.analyse([(file, file.name)]).findings] == ["GD201"]
    return found


def test_the_values_of_a_region_and_of_what_it_calls(values: dict[str, Value]) -> None:
    assert isinstance(values["self.linear(x)"], Tensor) and values["self.linear(x)"].dtype == "float"
    assert isinstance(values["y / 2"], Tensor)
    assert values["nn.Linear"] == External("torch.nn.Linear")


def test_values_are_joined_over_the_paths(values: dict[str, Value]) -> None:
    limit = set(map(type, options(values["3 if flag else h.sum()"])))
    assert limit == {Const, Tensor}


def test_nothing_is_known_of_code_that_no_region_reaches(values: dict[str, Value]) -> None:
    assert values["z + 1"] == UNKNOWN


def test_values_in_a_helper_whose_calls_were_replayed(tmp_path: Path) -> None:
    """The fix in the helper is the same from whichever file it is reached first."""
    helper = "def clip(x):\n    if x.mean() > 0:\n        y = x * 2\n    else:\n        y = -x\n    return y\n"
    user = (
        "import torch\nfrom helper import clip\n\n\n"
        "class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return clip(x)\n"
    )
    (tmp_path / "helper.py").write_text(helper)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(user)
    files = [(tmp_path / name, name) for name in ("a.py", "b.py")]
    for order in (files, files[::-1]):
        analysis = engine.Analysis(Work(order, lambda file: file.name), engine.rules())
        for file, path in order:
            (found,) = analysis.file(file, path).findings
            assert (found.location.path, found.location.line) == ("helper.py", 2)
            assert found.fix is not None and found.fix.safety == "safe", found.fix
