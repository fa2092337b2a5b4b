"""Rules of a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphdoctor import api, cli
from graphdoctor.lint import catalog
from graphdoctor.lint.own_rules import OwnRules, load_folders

RULE = '''"""Text.

What: a.

Why: b.

Fix: c.
"""

from graphdoctor.plugin import Hit

CODE = "ACME7"
NAME = "relu-call"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"
BREAKS = ()
CLEAN = ()


def check_call(event):
    if event.qualname == "torch.Tensor.relu":
        return Hit(event, "a relu", "leave it")
'''
MODEL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        print(x)
        return x.relu()
"""


def load(folder: Path, **files: str) -> OwnRules:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return load_folders([folder], catalog.rules())


def test_the_example_of_the_documentation_works(root: Path) -> None:
    folder = root / "fixtures" / "own_rules"
    result = api.scan(api.ScanOptions((str(folder / "model.py"),), run=False, allow_project_rules=True))
    assert [(f.rule, f.name, f.location.line) for f in result.findings] == [("ACME1", "move-to-cpu", 14)]
    assert not list(folder.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def (", "line 1: invalid syntax"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (RULE.replace('NAME = "relu-call"\n', ""), "a rule needs NAME"),
        (RULE.replace("Why: b.\n", ""), "a rule needs a paragraph 'Why:' in its text"),
        (RULE.replace("ACME7", "GD900"), "codes like GD900 belong to graphdoctor and Dynamo; take letters of your own"),
        (RULE.replace("ACME7", "acme"), "CODE must be capital letters and digits, such as ACME1, not 'acme'"),
        (RULE.replace("relu-call", "print-in-graph"), "print-in-graph is taken by GD101"),
        (RULE.replace('"warning"', '"bad"'), "SEVERITY must be one of error, warning, info, not 'bad'"),
        (RULE.replace(">=2.6", "new"), "'new' is no version specifier such as '>=2.6'"),
        (RULE.replace("check_call", "check_cal"), "there is no event for check_cal; did you mean 'call'?"),
        (RULE.replace("check_call", "checks"), "a rule needs a function check_<event>, such as check_call"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_the_others_work(tmp_path: Path, text: str, reason: str) -> None:
    good = RULE.replace("ACME7", "ACME8").replace("relu-call", "another")
    found = load(tmp_path, bad=text, good=good)
    assert [rule.code for rule in found.rules] == ["ACME8"]
    assert found.problems == (f"rule file {tmp_path / 'bad.py'} is not used: {reason}",)


def test_shared_files_and_codes_given_twice(tmp_path: Path) -> None:
    text = RULE.replace("from graphdoctor.plugin import Hit", "from ._shared import Hit")
    found = load(tmp_path, _shared="from graphdoctor.plugin import Hit\n", a=text, b=RULE)
    assert [rule.code for rule in found.rules] == ["ACME7"]
    assert found.problems == (f"rule file {tmp_path / 'b.py'} is not used: ACME7 is taken by ACME7",)
    assert not (tmp_path / "__pycache__").exists()


def test_what_the_files_say_now_counts(tmp_path: Path) -> None:
    load(tmp_path, a=RULE)
    assert load(tmp_path, a=RULE.replace("a relu", "now")).rules[0].summary == "Text."
    (tmp_path / "a.py").unlink()
    assert load(tmp_path) == OwnRules()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("return True", "TypeError: a check returns a Hit or None, not bool"),
        ("return Hit(event, 'a', 'b', 'perhaps')", "ValueError: no confidence 'perhaps' or no severity None"),
    ],
)
def test_a_rule_that_fails_costs_itself_on_that_file(tmp_path: Path, body: str, error: str) -> None:
    rules = tmp_path / "lint"
    rules.mkdir()
    (rules / "bad.py").write_text(RULE[: RULE.index("    if event")] + f"    {body}\n")
    (tmp_path / "m.py").write_text(MODEL)
    result = api.scan(api.ScanOptions((str(tmp_path / "m.py"),), run=False, rules=(str(rules),)))
    assert [f.rule for f in result.findings] == ["GD101"]
    assert result.files[0].reason == f"rule ACME7 failed here ({error}); its findings are missing"


def test_own_codes_are_selected_and_silenced_as_ours(tmp_path: Path) -> None:
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "relu.py").write_text(RULE)
    (tmp_path / "pyproject.toml").write_text("[tool.graphdoctor]\nrules = ['lint']\n")
    file = tmp_path / "m.py"

    def codes(text: str, **options: tuple[str, ...]) -> list[str]:
        file.write_text(text)
        asked = api.ScanOptions((str(file),), run=False, allow_project_rules=True, **options)
        return sorted(f.rule for f in api.scan(asked).findings)

    assert codes(MODEL) == ["ACME7", "GD101"]
    assert codes(MODEL, select=("ACME",)) == ["ACME7"]
    assert codes(MODEL, ignore=("relu-call",)) == ["GD101"]
    assert codes(MODEL.replace("x.relu()", "x.relu()  # noqa: ACME7")) == ["GD101"]
    assert codes(MODEL.replace("x.relu()", "x  # noqa: ACME7")) == ["GD002", "GD101"]
    assert codes(MODEL, config=("rules=[]",)) == ["GD101"]


def test_explain_and_rules_show_them(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli.cli, arguments)

    monkeypatch.chdir(root / "fixtures" / "own_rules")
    allowed = "--allow-project-rules"
    assert invoke("explain", "ACME1", allowed).stdout.startswith("ACME1 [move-to-cpu]  warning, torch >=2.6")
    assert "\nACME1 " in invoke("rules", allowed).stdout
    assert "\nACME1 " in invoke("rules", "--rules", "tools/graphdoctor_rules").stdout
    assert "ACME1" not in invoke("rules", allowed, "--isolated").stdout
    (tmp_path / "half.py").write_text("def (")
    result = invoke("explain", "GD002", "--config", f"rules=['{tmp_path}']")
    assert result.stdout.startswith("GD002 [unused-suppression]")
    assert result.stderr == f"graphdoctor: rule file {tmp_path}/half.py is not used: line 1: invalid syntax\n"
