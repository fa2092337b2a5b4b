"""Reports on confidential code: no source in any format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor import cli
from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.confidential import NOTE, without_source
from graphdoctor.report.formats import FORMATS, render

SECRET = "self.secret_weight * 4711"


@pytest.fixture
def confidential(compared: Diagnosis) -> Diagnosis:
    """A diagnosis with ``SECRET`` wherever a diagnosis holds source."""
    fix = compared.findings[0].fix
    assert fix is not None
    changed = replace(
        compared.findings[0],
        fact=f"`{SECRET}` breaks `Net.forward`",
        suggestion=f"write `torch.where(a, b)`, not `{SECRET}`, or guard it with `if not torch.compiler.x():`",
        snippet=(f"x = {SECRET}",),
        fix=replace(fix, diff=f"+{SECRET}\n", edits=(replace(fix.edits[0], text=SECRET),), reason=f"it is `{SECRET}`"),
    )
    assert compared.comparison is not None
    comparison = replace(compared.comparison, fixed=(changed,))
    return replace(compared, findings=(changed, *compared.findings[1:]), comparison=comparison)


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_shows_source(confidential: Diagnosis, name: str) -> None:
    text = render(without_source(confidential), name)
    assert "secret_weight" not in text
    assert "4711" not in text
    assert 'print("input", x.shape)' not in text


def test_what_is_no_source_stays(confidential: Diagnosis) -> None:
    finding = without_source(confidential).findings[0]
    assert finding.message == "`…` breaks `Net.forward`"
    assert finding.suggestion == "write `torch.where(a, b)`, not `…`, or guard it with `if not torch.compiler.x():`"
    assert (finding.location, finding.function, finding.fingerprint) == (
        confidential.findings[0].location,
        "Net.forward",
        confidential.findings[0].fingerprint,
    )
    assert finding.fix is not None
    assert finding.fix.grade == "general"
    assert without_source(confidential).notes[-1] == NOTE


def test_code_with_backticks_in_it_hides_all_that_is_quoted(confidential: Diagnosis) -> None:
    code = "print(`1`, 'secret`s')"
    finding = replace(confidential.findings[0], fact=f"`{code}` breaks", snippet=(code,))
    shown = without_source(replace(confidential, findings=(finding,)))
    assert shown.findings[0].message == "`…` breaks"


def test_the_option_holds_for_every_format_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = (
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        y = x + 1234567\n"
        "        print(x, 'top secret')\n        if x.sum() > 7654321:\n            return y\n        return x\n"
    )
    (tmp_path / "net.py").write_text(source)
    reports = [f"--report={name}=r.{name}" for name in FORMATS if name != "text"]
    plain = CliRunner().invoke(cli.cli, ["scan", "net.py"])
    assert "top secret" in plain.stdout
    result = CliRunner().invoke(cli.cli, ["scan", "net.py", "--no-source", "--html", "page.html", *reports])
    assert result.exit_code == 1, result.stderr
    written = [file.read_text() for file in tmp_path.iterdir() if file.name != "net.py"]
    assert len(written) == len(FORMATS)
    for text in [result.stdout, *written]:
        assert not any(part in text for part in ("top secret", "1234567", "7654321"))
    assert len(json.loads((tmp_path / "r.json").read_text())["findings"]) == 2


def test_a_diff_cannot_be_without_source(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("")
    result = CliRunner().invoke(cli.cli, ["scan", str(file), "--no-source", "--diff"])
    assert result.exit_code == 2
    assert result.stderr == "graphdoctor: --diff shows source lines and --no-source forbids them: use one of the two\n"
