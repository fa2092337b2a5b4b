"""A scan that looked at nothing does not say that all is well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphdoctor import cli

NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["import torch"]}], "nbformat": 4})
JULIA = json.dumps({"cells": [], "metadata": {"kernelspec": {"language": "julia"}}, "nbformat": 4})
MODEL = """\
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + 1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "demo.ipynb").write_text(NOTEBOOK)
    (tmp_path / "renamed.py").write_text(NOTEBOOK)
    (tmp_path / "net.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli.cli, arguments, input=text)


@pytest.mark.parametrize(
    "command", [("scan",), ("scan", "--run", "--target", "Net"), ("fix",), ("bench",), ("advise",)]
)
def test_a_notebook_under_another_name_is_refused_in_one_line(command: tuple[str, ...]) -> None:
    result = invoke(command[0], "renamed.py", *command[1:])
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr == "graphdoctor: renamed.py is a notebook by what it holds; give it the suffix .ipynb\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [("import torch\n", "does not hold JSON"), ("{}", "no notebook of format 4"), (JULIA, "is a notebook in julia")],
)
def test_a_notebook_that_cannot_be_read(folder: Path, text: str, reason: str) -> None:
    (folder / "other.ipynb").write_text(text)
    alone = invoke("scan", "other.ipynb")
    assert alone.exit_code == 2 and alone.stdout == ""
    assert alone.stderr.startswith("graphdoctor: other.ipynb is ") and reason in alone.stderr
    among = invoke("scan", "other.ipynb", "net.py", "--no-run")
    assert among.exit_code == 2
    assert "1 file could not be read" in among.stdout.splitlines()[0]
    assert "  other.ipynb: is " in among.stdout and reason in among.stdout
    stdin = invoke("scan", "-", "--stdin-filename", "other.ipynb", text=text)
    assert stdin.exit_code == 2 and reason in stdin.stderr


@pytest.mark.parametrize("text", ["", "# import torch\n", "x = 1\n", "import torch\n\nx = torch.ones(2)\n"])
def test_a_file_with_nothing_to_compile(folder: Path, text: str) -> None:
    """Said the second time too, when the result is recalled."""
    (folder / "plain.py").write_text(text)
    for _ in range(2):
        result = invoke("scan", "plain.py", "--no-run")
        assert result.exit_code == 0 and "note: nothing to check: no module with a forward" in result.stdout


@pytest.mark.parametrize("first", ["import torch\n\n\n", ""])
def test_a_function_that_nothing_compiles_is_read_when_it_is_named(folder: Path, first: str) -> None:
    text = "def loss(x, y):\n    error = (x - y).abs()\n    print(error)\n    return error.mean()\n"
    (folder / "losses.py").write_text(first + text)
    said = " ".join(invoke("scan", "losses.py").stdout.split())
    assert "is read with the code that calls it: scan that, too, or name the function: --target NAME" in said
    assert "GD101" in invoke("scan", "losses.py", "--target", "loss", "--no-run").stdout
    (folder / "empty.py").write_text("")
    assert "--target" not in invoke("scan", "losses.py", "empty.py").stdout


@pytest.mark.parametrize(
    "text",
    [
        MODEL,
        "import torch\nfrom other import net\n\nfast = torch.compile(net)\n",
        "import torch\n\n\ndef main(net):\n    net.compile()\n",
    ],
)
def test_a_file_with_something_to_compile(folder: Path, text: str) -> None:
    (folder / "plain.py").write_text(text)
    (folder / "empty.py").write_text("")
    for paths in (("plain.py",), ("empty.py", "plain.py")):
        assert "nothing to check" not in invoke("scan", *paths, "--no-run").stdout


def test_no_rule_is_left() -> None:
    (Path.cwd() / "net.py").write_text(MODEL.replace("return", "print(x); return"))
    for options in (("--ignore", "GD"), ("--select", "GD101", "--ignore", "GD101")):
        result = invoke("scan", "net.py", "--no-run", *options)
        assert "note: nothing checked: the selected and ignored codes leave no rule" in result.stdout
    for options in (("--ignore", "GD2"), ("--ignore", "GD", "--extend-select", "GD102")):
        assert "nothing checked" not in invoke("scan", "net.py", "--no-run", *options).stdout


@pytest.mark.parametrize("command", [("scan", "--no-run", "--diff"), ("fix", "--diff")])
def test_no_diff_of_a_file_that_was_not_read(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    result = invoke(*command, "broken.py")
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("graphdoctor: broken.py: syntax error in line 1")


def test_fix_and_statistics_name_the_file_that_was_not_read(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    for command in (("fix", "--no-verify"), ("scan", "--no-run", "--statistics")):
        result = invoke(*command, "broken.py", "net.py")
        assert result.exit_code == 2
        assert "this file could not be read: broken.py: syntax error in line 1" in result.stdout
