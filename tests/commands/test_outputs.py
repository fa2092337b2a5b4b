"""``--report``, several times, and the options of the gate."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphdoctor import cli

PRINTS = (
    "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(PRINTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, arguments)


def test_several_formats_in_one_run(folder: Path) -> None:
    names = {"sarif": "a.sarif", "json": "a.json", "junit": "a.xml", "markdown": "a.md", "badge-svg": "a.svg"}
    reports = [f"--report={name}={file}" for name, file in names.items()]
    result = invoke("scan", "net.py", *reports, "--report=github=-", "--html=a.html")
    assert result.exit_code == 1
    assert "\n::error file=net.py,line=6," in result.stdout
    assert {file.name for file in folder.iterdir()} == {*names.values(), "a.html", "net.py"}
    assert json.loads((folder / "a.sarif").read_text())["version"] == "2.1.0"
    assert ElementTree.parse(folder / "a.xml").getroot().get("failures") == "1"
    assert (folder / "a.md").read_text().startswith("<!-- graphdoctor -->\n")


def test_a_comparison_in_several_formats(folder: Path) -> None:
    invoke("scan", "net.py", "--report", "json=base.json")
    (folder / "net.py").write_text(PRINTS.replace("print(x)", "print(x, 1)"))
    invoke("scan", "net.py", "--report", "json=head.json")
    result = invoke("compare", "base.json", "head.json", "--report", "sarif=a.sarif", "--output-format", "markdown")
    assert result.exit_code == 1
    assert "## graphdoctor: 1 new finding, 1 fixed\n" in result.stdout
    results = json.loads((folder / "a.sarif").read_text())["runs"][0]["results"]
    assert [entry["baselineState"] for entry in results] == ["new"]
    assert invoke("compare", "base.json", "head.json", "--exit-zero").exit_code == 0


@pytest.mark.parametrize("value", ["sarif", "sarif=", "pdf=a.pdf", "=a"])
def test_a_report_is_a_format_and_a_file(folder: Path, value: str) -> None:
    result = invoke("scan", "net.py", "--report", value)
    assert result.exit_code == 2
    assert "is not FORMAT=FILE with a format of text, full, concise, grouped, json, markdown" in result.stderr


def test_a_bad_folder_is_known_before_the_scan(folder: Path) -> None:
    result = invoke("scan", "net.py", "--report", "sarif=none/a.sarif", "--report", "json=a.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the folder none does not exist" in result.stderr
    assert not (folder / "a.json").exists()


def test_new_needs_a_base(folder: Path) -> None:
    result = invoke("scan", "net.py", "--fail-on", "new")
    assert result.exit_code == 2
    assert "--fail-on new needs a base to compare with" in result.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--fail-on", "any"), 1),
        (("--fail-on", "none"), 0),
        (("--max-breaks", "1"), 0),
        (("--max-breaks", "0"), 1),
        (("--max-breaks", "1", "--fail-on", "any"), 1),
        (("--max-breaks", "0", "--exit-zero"), 0),
    ],
)
def test_the_gate(folder: Path, options: tuple[str, ...], code: int) -> None:
    assert invoke("scan", "net.py", *options).exit_code == code


def test_why_it_fails_is_said_where_a_gate_was_asked_for(folder: Path) -> None:
    assert "graphdoctor: failed: 1 graph break, and at most 0 allowed\n" in (
        invoke("scan", "net.py", "--max-breaks", "0").stderr
    )
    assert "failed" not in invoke("scan", "net.py").stderr
