"""Options of ``scan`` that override settings, the standard input, statistics, and lists of files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphdoctor import api, cli

BREAKS = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        print("called")
        if x.sum() > 0:
            return x + 1
        return x
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.py").write_text(BREAKS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.cli, ["scan", *arguments], input=text)


def codes(*arguments: str) -> list[str]:
    return sorted(
        finding["rule"] for finding in json.loads(invoke(*arguments, "--output-format", "json").stdout)["findings"]
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["GD101", "GD201"]),
        (["--select", "GD1"], ["GD101"]),
        (["--select", "GD1", "--extend-select", "GD201"], ["GD101", "GD201"]),
        (["--select", "ALL", "--ignore", "GD2"], ["GD101"]),
        (["--ignore", "GD1", "--select", "GD101"], ["GD101"]),
        (["--ignore", "GD", "--extend-select", "GD201"], ["GD201"]),
        (["--extend-ignore", "GD1"], ["GD201"]),
        (["--per-file-ignores", "a.py:GD1"], ["GD201"]),
        (["--per-file-ignores", "b.py:GD1"], ["GD101", "GD201"]),
        (["--config", "ignore=['GD1']"], ["GD201"]),
    ],
)
def test_which_rules(folder: Path, arguments: list[str], expected: list[str]) -> None:
    assert codes("a.py", *arguments) == expected


def test_settings_are_those_of_the_scanned_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").write_text("[tool.graphdoctor]\nignore = ['GD1']\nexclude = ['old/*']\n")
    (folder / "old").mkdir()
    (folder / "old" / "b.py").write_text(BREAKS)
    other = folder / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.graphdoctor]\nselect = ['GD9']\n")
    monkeypatch.chdir(other)
    for path in ("..", "../a.py", str(folder)):
        assert codes(path) == ["GD201"]
    assert codes("..", "--isolated") == ["GD101", "GD101", "GD201", "GD201"]
    assert codes("..", "--exclude", "a.py", "--extend-select", "GD101") == ["GD101", "GD201"]


def test_target_torch_leaves_out_rules_that_do_not_hold(folder: Path) -> None:
    (folder / "lint").mkdir()
    rule = '"""T.\n\nWhat: a\n\nWhy: b\n\nFix: c\n"""\nfrom graphdoctor.static.rule import Hit\nCODE = "ACME1"\n' + (
        'NAME = "n"\nSEVERITY = "info"\nGB_IDS = ()\nTORCH = ">=2.9,<2.12"\nBREAKS = CLEAN = ()\n'
        "def check_truth(event):\n    return Hit(event, 'a', 'b')\n"
    )
    (folder / "lint" / "r.py").write_text(rule)
    given = ("a.py", "--config", "rules=['lint']", "--target-torch")
    assert [codes(*given, version) for version in ("2.8", "2.9.1", "2.12")] == [
        ["GD101", "GD201"],
        ["ACME1", "GD101", "GD201"],
        ["GD101", "GD201"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.py", "--select", "GD9"], "'GD9' matches no rule; the groups are GD0, GD1, GD2,"),
        (["a.py", "--select", "GD1011"], "'GD1011' matches no rule; did you mean 'GD101'?"),
        (["a.py", "--per-file-ignores", "a.py:print-in-grph"], "'print-in-grph' matches no rule; did you mean"),
        (["a.py", "--per-file-ignores", "a.py"], "--per-file-ignores must be PATTERN:CODES"),
        (["a.py", "--target-torch", "new"], "--target-torch must be a version in quotes"),
        (["a.py", "--config", "nowhere.toml"], "nowhere.toml: no such configuration file"),
        (["a.py", "--stdin-filename", "b.py"], "--stdin-filename names what comes on the standard input"),
        (["-", "a.py"], "- is the standard input, one file: give it alone"),
        (["-", "--run"], "cannot run: what comes on the standard input is only read"),
        (["a.py", "--target", "Nett"], "--target 'Nett': a.py has nothing of this name; did you mean 'Net'?"),
        (["a.py", "--statistics", "--output-format", "markdown"], "--statistics is text or JSON, not markdown"),
        (["empty"], "empty: no Python files there"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "empty").mkdir()
    result = invoke(*arguments, text=BREAKS)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"graphdoctor: {message}")
    assert result.stderr.count("\n") == 1 and result.stdout == ""


def test_a_wrong_code_in_a_file_is_said_with_the_file(folder: Path) -> None:
    (folder / "setup.cfg").write_text("[graphdoctor]\nignore = prnt-in-graph\n")
    result = invoke("a.py")
    assert (result.exit_code, result.stderr) == (
        2,
        f"graphdoctor: {folder}/setup.cfg: ignore: 'prnt-in-graph' matches no rule; did you mean 'print-in-graph'?\n",
    )


def test_a_method_that_the_target_does_not_have_is_wrong_usage(folder: Path) -> None:
    pytest.importorskip("torch")
    result = invoke("a.py", "--target", "Net.froward", "--input", "float32[2]", "--mode", "eval")
    assert result.exit_code == 2
    assert "--target 'Net.froward'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "Net", "--input", "y=float32[2]"], "--input: Net.forward cannot be called so"),
        (["--input", "y=float32[2]"], "--input: Net.forward cannot be called so"),
        (["--input", "float32[2]", "--vary", "y:0=2,3"], "--vary 'y:0=2,3': no tensor argument 'y'"),
    ],
)
def test_a_sample_that_does_not_fit_the_target_is_wrong_usage(folder: Path, arguments: list[str], words: str) -> None:
    pytest.importorskip("torch")
    result = invoke("a.py", *arguments, "--mode", "eval")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"graphdoctor: {words}")


def test_statistics(folder: Path) -> None:
    (folder / "b.py").write_text(BREAKS)
    result = invoke(".", "--statistics")
    assert result.exit_code == 1
    assert (
        result.stdout
        == "2  GD101  error    print-in-graph  (2 fixable)\n2  GD201  error    tensor-condition  (2 fixable)\n"
    )
    counted = json.loads(invoke(".", "--statistics", "--output-format", "json").stdout)
    assert [(row["rule"], row["name"], row["count"]) for row in counted] == [
        ("GD101", "print-in-graph", 2),
        ("GD201", "tensor-condition", 2),
    ]
    assert invoke(".", "--statistics", "--select", "GD7").stdout == "nothing found\n"


def test_the_standard_input_is_read_beside_its_file_and_never_run(folder: Path) -> None:
    (folder / "pkg").mkdir()
    (folder / "pkg" / "helpers.py").write_text("def show(x):\n    print(x)\n    return x\n")
    marker = folder / "ran"
    text = BREAKS.replace("from torch import nn\n", "from torch import nn\nfrom helpers import show\n")
    text = text.replace('print("called")', "x = show(x)") + f"\nopen({str(marker)!r}, 'w').close()\n"
    text += "\n\ndef graphdoctor_target():\n    return Net(), (torch.ones(2),)\n"
    result = invoke("-", "--stdin-filename", "pkg/new.py", "--output-format", "json", text=text)
    data = json.loads(result.stdout)
    assert [(f["path"], f["line"], f["rule"]) for f in data["findings"]] == [
        ("pkg/helpers.py", 2, "GD101"),
        ("pkg/new.py", 9, "GD201"),
    ]
    assert data["dynamic"] is None and not marker.exists()


def test_the_standard_input_stands_for_the_file_on_disk(folder: Path) -> None:
    clean = BREAKS.replace('        print("called")\n', "")
    result = invoke("-", "--stdin-filename", "a.py", "--select", "GD1", text=clean)
    assert result.exit_code == 0
    assert "<stdin>:7:9: error GD101" in invoke("-", text=BREAKS).stdout


def test_fixing_the_standard_input_prints_the_text(folder: Path) -> None:
    text = BREAKS.replace("\n", "\r\n").encode("utf-8-sig")
    result = invoke("-", "--stdin-filename", "a.py", "--fix", text=text)
    assert result.exit_code == 1 and result.stderr == ""
    fixed = result.stdout_bytes
    assert fixed.startswith(b"\xef\xbb\xbfimport torch\r\n")
    assert b"        if not torch.compiler.is_compiling():\r\n            print(" in fixed
    assert (folder / "a.py").read_text() == BREAKS
    difference = invoke("-", "--stdin-filename", "a.py", "--diff", text=BREAKS)
    assert difference.stdout.startswith("--- a/a.py\n+++ b/a.py\n")


@pytest.mark.parametrize("text", [b"def (:\n", b"\xff\xfe", b"a\x00b"])
def test_a_standard_input_that_is_no_python(folder: Path, text: bytes) -> None:
    fixed = invoke("-", "--fix", text=text)
    assert fixed.exit_code == 2
    # An editor puts what comes back in place of what it sent.
    assert fixed.stdout_bytes in (text, b"")
    assert "standard input" in fixed.stderr or "<stdin>" in fixed.stderr
    assert fixed.stderr.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["scan", "a.py"], ["explain", "GD101"]])
def test_a_full_device_is_one_line(folder: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "graphdoctor", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "graphdoctor: the output cannot be written: No space left on device\n"


def test_lists_of_files_as_pre_commit_gives_them(folder: Path) -> None:
    (folder / "helpers.py").write_text("def positive(x):\n    return x.sum() > 0\n")
    (folder / "uses.py").write_text(
        BREAKS.replace("from torch import nn\n", "from torch import nn\nfrom helpers import positive\n").replace(
            "x.sum() > 0", "positive(x)"
        )
    )
    names = []
    for number in range(300):
        (folder / f"m{number}.py").write_text(BREAKS if number % 100 == 0 else "x = 1\n")
        names.append(f"m{number}.py")
    os.symlink("a.py", "link.py")
    result = api.scan(api.ScanOptions(("a.py", "./a.py", "link.py", "uses.py", *names)))
    assert [f.path for f in result.files] == ["a.py", "uses.py", *names]
    # What a helper on disk returns is known, though the list does not have it.
    assert [f.location.line for f in result.findings if f.location.path == "uses.py"] == [8, 9]
    assert len(result.findings) == 2 * 5


def test_one_file_that_cannot_be_read_costs_only_itself(folder: Path) -> None:
    (folder / "bad.py").write_bytes(b"x = '\xff'\n")
    os.symlink("nowhere.py", "gone.py")
    result = api.scan(api.ScanOptions(("bad.py", "a.py")))
    assert [(f.path, f.status) for f in result.files] == [("bad.py", "failed"), ("a.py", "scanned")]
    assert len(result.findings) == 2
    with pytest.raises(api.UsageError, match=r"^gone\.py: no such file or folder$"):
        api.scan(api.ScanOptions(("gone.py", "a.py")))


def test_patterns_hold_behind_a_linked_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "pyproject.toml").write_text("[tool.graphdoctor]\nexclude = ['old/*']\n")
    (folder / "old").mkdir()
    (folder / "old" / "b.py").write_text(BREAKS)
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(folder, target_is_directory=True)
    assert codes(str(link)) == ["GD101", "GD201"]
