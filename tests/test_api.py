"""scan and diff, with real Dynamo runs of small files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphdoctor import api
from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.server import Server
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.scan import pipeline

MODEL = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        x = self.layer(x)
        print("in", x.shape)
        if x.sum() > 1e9:
            x = x * 2.0
        else:
            x = x + 1.0
        if x.shape[0] > 99:
            print("big")
        return x


def graphdoctor_target():
    torch.manual_seed(0)
    return Net(), (torch.ones(2, 4),)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("api") / "model.py"
    file.write_text(MODEL)
    return file


@pytest.fixture(scope="module")
def diagnosis(model: Path) -> Diagnosis:
    return api.scan(api.ScanOptions((str(model),), mode="eval", command="scan model.py"))


def at(diagnosis: Diagnosis, line: int) -> Finding:
    return next(f for f in diagnosis.findings if f.location.line == line)


def test_breaks_are_confirmed_and_the_rest_is_not_reached(diagnosis: Diagnosis) -> None:
    assert at(diagnosis, 12).status == "confirmed" and at(diagnosis, 12).gb_ids == ("GB0059",)
    assert at(diagnosis, 13).status == "confirmed" and at(diagnosis, 13).gb_ids == ("GB0170",)
    assert at(diagnosis, 18).status == "not-reached"
    assert len(diagnosis.findings) == 3
    assert diagnosis.summary.breaks == 2 and diagnosis.summary.verdict == "not-ready"


def test_fixes_are_verified_without_touching_the_file(diagnosis: Diagnosis, model: Path) -> None:
    verification = diagnosis.verification
    assert verification is not None
    assert (verification.breaks, verification.graphs, verification.grade) == (0, 1, "general")
    assert verification.fullgraph_passes is True
    assert verification.numerics is not None and verification.numerics.equal is True
    assert set(verification.fixes) == {f.fingerprint for f in diagnosis.findings}
    grades = [f.fix.grade for f in sorted(diagnosis.findings, key=lambda f: f.location) if f.fix is not None]
    assert grades == ["general", "general", "not-verified"]
    assert model.read_text() == MODEL


def test_where_no_copy_can_be_run_no_fix_is_called_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Server] = []

    class Known(Server):
        def __init__(self) -> None:
            super().__init__()
            servers.append(self)

    def progress(text: str) -> None:
        if text.endswith("verifying fixes"):
            for server in servers:
                server.stop()
            monkeypatch.setattr(sys, "executable", "/no/python")

    monkeypatch.setattr(runner, "Server", Known)
    result = api.scan(api.ScanOptions((str(model),), mode="eval"), progress)
    assert result.verification is None and result.summary.breaks == 2
    assert {f.fix.grade for f in result.findings if f.fix is not None} == {"not-verified"}
    [note] = [note for note in result.notes if note.startswith("fixes not verified")]
    assert note == "fixes not verified: the worker did not start: [Errno 2] No such file or directory: '/no/python'"


def test_the_start_of_the_worker_is_no_part_of_the_reading(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(runner, "Server", Server)
    monkeypatch.setattr(sys, "executable", "/no/python")
    api.scan(api.ScanOptions((str(model),), mode="eval"), told.append)
    assert told[:2] == ["[1/7] reading 1 file", "[2/7] importing torch"]


def test_what_the_reports_need(diagnosis: Diagnosis) -> None:
    assert diagnosis.command == "scan model.py" and diagnosis.root
    assert diagnosis.environment["python"] and diagnosis.environment["torch"]
    assert set(diagnosis.timings) == {"static", "dynamic", "verify"}
    assert all(f.snippet and f.fingerprint for f in diagnosis.findings)


def test_diff_shows_what_fixing_would_write(diagnosis: Diagnosis) -> None:
    text = api.diff(diagnosis, unsafe=True)
    assert text.count("--- a/model.py") == 1 and text.count("\n+        if not torch.compiler.is_compiling():") == 1
    assert "+        x = torch.where(x.sum() > 1e9, x * 2.0, x + 1.0)" in text


def test_a_missing_rule_leaves_the_break_dynamic_only(model: Path) -> None:
    result = api.scan(api.ScanOptions((str(model),), mode="eval", ignore=("GD1",), verify=False))
    assert result.summary.breaks == 2 and result.verification is None
    assert [f.location.line for f in result.findings] == [13]


def test_fix_writes_and_a_second_time_finds_nothing_to_do(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(MODEL)
    options = api.ScanOptions((str(file),), run=False, fix=True, unsafe_fixes=True)
    first = api.scan(options)
    assert "fixed: m.py (3 fixes written)" in first.notes
    once = file.read_text()
    second = api.scan(options)
    assert second.findings == () and "fixed: nothing; there is no fix to write" in second.notes
    assert file.read_text() == once


def test_only_safe_fixes_are_written_unless_asked(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(MODEL.replace("x * 2.0", "x / x.sum()"))
    api.scan(api.ScanOptions((str(file),), run=False, fix=True))
    again = api.scan(api.ScanOptions((str(file),), run=False, fix=True))
    assert [note for note in again.notes if note.startswith("fixed: ")] == [
        "fixed: nothing; each fix that there is may change behaviour, and is written with --unsafe-fixes"
    ]
    assert "torch.where" not in file.read_text() and file.read_text().count("is_compiling") == 2


def test_silenced_and_selected_findings(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(MODEL.replace('print("in", x.shape)', 'print("in", x.shape)  # noqa: GD101'))

    def lines(**options: tuple[str, ...]) -> list[int]:
        result = api.scan(api.ScanOptions((str(file),), run=False, **options))
        return sorted(f.location.line for f in result.findings)

    assert lines() == [13, 18]
    assert lines(select=("GD101",)) == [18]
    assert lines(select=("GD",), ignore=("print-in-graph",)) == [13]


NEEDS_ARGUMENTS = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x)
"""


def test_why_nothing_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain.py").write_text("import torch\n")
    (tmp_path / "bad.py").write_text("def (:\n")
    (tmp_path / "train.py").write_text("import torch\ndef main(): ...\nif __name__ == '__main__':\n    main()\n")

    def note(path: str, **options: bool) -> str:
        return " ".join(api.scan(api.ScanOptions((path,), **options)).notes)

    monkeypatch.setattr(pipeline, "beside_tested", lambda _version: None)
    monkeypatch.chdir(tmp_path)
    assert note("plain.py", run=False).startswith("nothing to check: ")
    assert note(".").startswith("not run: only a file that is given alone is run")
    assert note("plain.py").startswith("not run: plain.py declares no sample input; add graphdoctor_target()")
    Path("plain.py").write_text("def graphdoctor_sample():\n    return 1\n", encoding="utf-8")
    assert "; rename graphdoctor_sample() to graphdoctor_target(), or" in note("plain.py")
    assert "; a program runs as it is: graphdoctor run --compile auto train.py" in note("train.py")
    for text in ("step = torch.compile(step)\n", "TrainingArguments('out', torch_compile=True)\n"):
        Path("train.py").write_text(text, encoding="utf-8")
        assert "; a program runs as it is: graphdoctor run train.py" in note("train.py")
    Path("train.py").write_text("trainer.fit(model)\n", encoding="utf-8")
    assert "; a program runs as it is: graphdoctor run --compile auto train.py" in note("train.py")
    Path("net.py").write_text(NEEDS_ARGUMENTS, encoding="utf-8")
    command = "graphdoctor scan 'net.py:Net(width)' --input 'x=float32[8,3]'"
    assert note("net.py").endswith(f"or say what to run, with values of yours: {command}")
    assert note("bad.py") == "not run: bad.py could not be read"


@pytest.mark.parametrize(
    "options, message",
    [
        (api.ScanOptions(("nowhere.py",)), "nowhere.py: no such file or folder"),
        (api.ScanOptions((".",), run=True), "cannot run: only a file that is given alone is run"),
        (api.ScanOptions(("plain.py",), run=True), "cannot run: plain.py declares no sample input"),
        (api.ScanOptions((".",), target="Net"), "cannot run: only a file that is given alone is run"),
        (api.ScanOptions(("plain.py",), inputs=("float99[2]",)), "float99"),
        (api.ScanOptions(("plain.py",), select=("XX1",)), "'XX1' matches no rule"),
    ],
)
def test_usage_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: api.ScanOptions, message: str) -> None:
    (tmp_path / "plain.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(api.UsageError) as error:
        api.scan(options)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_settings_of_the_project_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / "pyproject.toml").write_text("[tool.graphdoctor]\nselect = ['GD2']\nexclude = ['old']\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "n.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    result = api.scan(api.ScanOptions((".",)))
    assert [(f.location.path, f.location.line) for f in result.findings] == [("m.py", 13)]
    (tmp_path / "pyproject.toml").write_text("[tool.graphdoctor]\nfoo = 1\n")
    with pytest.raises(api.UsageError, match="unknown graphdoctor setting 'foo'"):
        api.scan(api.ScanOptions((".",)))


def test_a_run_that_fails_keeps_the_static_findings(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(MODEL.replace("return Net(),", "raise SystemExit(0)\n    return Net(),"))
    result = api.scan(api.ScanOptions((str(file),), mode="eval"))
    assert len(result.findings) == 3 and {f.status for f in result.findings} == {"static-only"}
    assert result.summary.verdict == "not-run" and result.verification is None
    assert "fixes not verified: the original code did not run to its end in eager" in result.notes


def test_neither_torch_nor_scanned_code_is_imported(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "m.py").write_text(MODEL + f"\nopen({str(marker)!r}, 'w').close()\n")
    code = (
        "import sys; from graphdoctor import api;"
        f"api.scan(api.ScanOptions(({str(tmp_path)!r},)));"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert not marker.exists()


def test_a_file_given_alone_is_reported_with_the_helpers_it_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helpers.py").write_text("def show(x):\n    print(x)\n    return x\n")
    (tmp_path / "model.py").write_text(
        "import torch\nfrom helpers import show\n\n\nclass Net(torch.nn.Module):\n"
        "    def forward(self, x):\n        return show(x)\n"
    )
    monkeypatch.chdir(tmp_path)
    alone = api.scan(api.ScanOptions(("model.py",), run=False))
    assert [(f.location.path, f.rule) for f in alone.findings] == [("helpers.py", "GD101")]
    with_another = api.scan(api.ScanOptions(("model.py", "model.py"), run=False))
    assert len(with_another.findings) == 1
    (tmp_path / "other.py").write_text("x = 1\n")
    assert api.scan(api.ScanOptions(("model.py", "other.py"), run=False)).findings == ()
    assert len(api.scan(api.ScanOptions((".",), run=False)).findings) == 1


def test_only_the_verdict_and_the_fixes_are_proved_where_nothing_else_is_wanted(
    model: Path, diagnosis: Diagnosis
) -> None:
    wanted = api.scan(api.ScanOptions((str(model),), mode="eval", behind_verdict=False))
    assert diagnosis.dynamic is not None and wanted.dynamic is not None
    assert diagnosis.dynamic[0].sweeps and not wanted.dynamic[0].sweeps
    assert wanted.verification is not None and diagnosis.verification is not None
    assert wanted.verification.fixes == diagnosis.verification.fixes
    assert wanted.summary == diagnosis.summary


def test_a_fix_that_another_one_leaves_no_room_for_is_named(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(
        "import torch\n\n\n@torch.compile\ndef f(x):\n    if x.isnan().any():\n        print(1)\n    return x\n"
    )
    notes = api.scan(api.ScanOptions((str(file),), run=False, fix=True)).notes
    assert "not written: the fix of GD101 at m.py:7, for another one changes the same code" in notes
    assert "if not torch.compiler.is_compiling() and x.isnan().any():" in file.read_text()
