"""``graphdoctor.plugin``: enough for the rules of a project, and all that the documentation and the examples use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from graphdoctor import api, plugin
from graphdoctor.lint import catalog
from graphdoctor.lint.own_rules import load_folders
from graphdoctor.static.domain import events

RULE = '''"""A tensor moved to the CPU.

What: `x.cpu()`.

Why: It copies.

Fix: Leave it out.
"""

from graphdoctor.plugin import Call, Editor, FixPlan, Hit, Refusal, may_be_tensor

CODE = "ACME2"
NAME = "no-cpu"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"
BREAKS = ()
CLEAN = ()


def check_call(event: Call) -> Hit | None:
    if event.qualname != "torch.Tensor.cpu" or not may_be_tensor(event.receiver):
        return None
    return Hit(event, "moved", "leave it")


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if hit.event.args:
        return Refusal("It has arguments.")
    return FixPlan((editor.replace(hit.place, editor.code(hit.place.func.value)),), "unsafe", "The result moves.")
'''
MODEL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu().cpu()
"""


def private_imports(text: str) -> list[str]:
    """What a rule imports of graphdoctor beside its public names."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "graphdoctor":
            public = node.module == "graphdoctor.plugin"
            found += [f"{node.module}.{a.name}" for a in node.names if not public or a.name not in plugin.__all__]
    return found


def test_private_imports_are_seen() -> None:
    """A check of the check."""
    text = "from graphdoctor.plugin import Hit, join\nfrom graphdoctor.static.rule import Rule\n"
    assert private_imports(text) == ["graphdoctor.plugin.join", "graphdoctor.static.rule.Rule"]


def test_the_example_uses_the_public_names_alone(root: Path) -> None:
    files = list((root / "fixtures" / "own_rules" / "tools").rglob("*.py"))
    assert files
    assert {file.name: private_imports(file.read_text()) for file in files} == {file.name: [] for file in files}


def test_the_page_uses_the_public_names_alone(root: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "own-rules.md").read_text(), re.DOTALL)
    assert any("graphdoctor.plugin" in block for block in blocks)
    assert [private_imports(block) for block in blocks] == [[]] * len(blocks)


def test_every_event_that_a_rule_can_ask_for_is_public() -> None:
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)]
    assert len(kinds) > 10
    assert [kind.__name__ for kind in kinds if getattr(plugin, kind.__name__, None) is not kind] == []


def test_everything_named_is_there_and_listed_once() -> None:
    assert [name for name in plugin.__all__ if not hasattr(plugin, name)] == []
    assert len(plugin.__all__) == len(set(plugin.__all__))


def test_a_rule_with_a_fix_needs_nothing_else(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "no_cpu.py").write_text(RULE)
    assert load_folders([rules], catalog.rules()).problems == ()
    (tmp_path / "model.py").write_text(MODEL)
    result = api.scan(api.ScanOptions((str(tmp_path / "model.py"),), run=False, rules=(str(rules),)))
    [finding] = result.findings
    assert (finding.rule, finding.location.line) == ("ACME2", 6)
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["x.relu()"]


@pytest.mark.parametrize("page", ["docs/own-rules.md", "docs/stable.md"])
def test_the_pages_name_only_what_is_public(root: Path, page: str) -> None:
    text = (root / page).read_text()
    named = re.findall(r"`graphdoctor\.plugin\.(\w+)`", text)
    assert [name for name in named if name not in plugin.__all__] == []
