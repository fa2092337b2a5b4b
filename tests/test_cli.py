"""The command line, through click's runner and as real processes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphdoctor import __version__, api, cli
from graphdoctor.commands.outputs import judge
from graphdoctor.commands.scan import exit_code
from graphdoctor.model.findings import Diagnosis, Finding, Location, ScannedFile, Summary
from graphdoctor.model.runs import DynamicRun

NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

BREAKS = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        print("called")
        return x + 1


def graphdoctor_target():
    return Net(), (torch.ones(2),)
"""
CLEAN = BREAKS.replace('        print("called")\n', "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model that breaks, one that does not, and a file that is not Python; the current folder."""
    (tmp_path / "breaks.py").write_text(BREAKS)
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "broken.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Result:
    """The command in this process, as ``main`` would run it."""
    return CliRunner().invoke(cli.cli, arguments)


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, in the current folder."""
    command = [sys.executable, "-m", "graphdoctor", *arguments]
    variables = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


def test_version_and_help_import_no_engine() -> None:
    script = (
        "import sys\nfrom graphdoctor.cli import main\n"
        "try: main([sys.argv[1]])\nexcept SystemExit as end: print('code', end.code)\n"
        "print('loaded', sorted({'torch', 'libcst', 'jinja2', 'graphdoctor.api'} & set(sys.modules)))"
    )
    for option, expected in (("--version", f"graphdoctor {__version__}"), ("--help", "graphdoctor scan model.py")):
        done = subprocess.run([sys.executable, "-c", script, option], capture_output=True, text=True, check=True)
        assert expected in done.stdout
        assert done.stdout.endswith("code 0\nloaded []\n")


def test_scan_help_has_examples_and_exit_codes() -> None:
    result = invoke("scan", "--help")
    assert result.exit_code == 0
    assert "graphdoctor scan net.py --target Net --input 'float32[8,3,224,224]'" in result.output
    assert "Exit codes:" in result.output


def test_findings_are_exit_1_and_the_first_line_is_the_headline(folder: Path) -> None:
    result = invoke("scan", "breaks.py", "--no-run")
    assert result.exit_code == 1
    assert result.output.startswith("1 predicted graph break found (static analysis)")
    assert "breaks.py:7:9: error GD101 [print-in-graph]" in result.output
    assert '7 |         print("called")\n  = why: ' in result.output


def test_clean_is_exit_0(folder: Path) -> None:
    assert invoke("scan", "clean.py", "--no-run").exit_code == 0


def test_exit_zero(folder: Path) -> None:
    assert invoke("scan", "breaks.py", "--no-run", "--exit-zero").exit_code == 0
    assert invoke("scan", "broken.py", "--no-run", "--exit-zero").exit_code == 2


def test_unreadable_files_are_lines_and_exit_2_only_when_there_is_nothing_else(folder: Path) -> None:
    alone = invoke("scan", "broken.py", "clean.py", "--no-run")
    assert alone.exit_code == 2
    assert re.search(r"^  broken\.py: syntax error", alone.output, re.MULTILINE)
    assert invoke("scan", "broken.py", "breaks.py", "--no-run").exit_code == 1


def test_select_and_ignore_take_lists_and_prefixes(folder: Path) -> None:
    assert invoke("scan", "breaks.py", "--no-run", "--select", "GD2,GD3", "--select", "GD4").exit_code == 0
    assert invoke("scan", "breaks.py", "--no-run", "--select", "GD2,GD101").exit_code == 1
    assert invoke("scan", "breaks.py", "--no-run", "--ignore", "GD1").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scan", "missing.py"], r"graphdoctor: .*missing\.py.*"),
        (["scan", "clean.py", "--html", "no/report.html"], r"graphdoctor: the folder no does not exist"),
        (["scan", "clean.py", "--output", "."], r"graphdoctor: \. is a directory"),
        (["scan", "clean.py", "--fix", "--diff"], r"graphdoctor: --fix writes .*"),
        (["scan", "clean.py", "--unsafe-fixes"], r"graphdoctor: --unsafe-fixes adds to what --fix writes .*"),
        (["scan", "clean.py", "--select", "GD999"], r"graphdoctor: 'GD999' matches no rule.*"),
        (["explain", "GB9999"], r"graphdoctor: GB9999 is none of the .*"),
    ],
)
def test_wrong_usage_is_one_line_on_stderr_and_exit_2(folder: Path, arguments: list[str], message: str) -> None:
    done = process(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(message + "\n", done.stderr)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["scan"], "missing argument 'PATH...'; `graphdoctor scan --help` has all options"),
        (["run", "--html"], "option '--html' requires an argument; `graphdoctor run --help` has all options"),
        (
            ["run", "--steps", "0", "train.py"],
            "invalid value for '--steps': 0 is not in the range x>=1; `graphdoctor run --help` has all options",
        ),
        (["--foo"], "no such option '--foo'; `graphdoctor --help` has all options"),
    ],
)
def test_wrong_options_are_one_line_and_exit_2(folder: Path, arguments: list[str], line: str) -> None:
    done = process(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"graphdoctor: {line}\n")


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("scna", "graphdoctor: no command is called 'scna'; did you mean 'scan'?"),
        ("nothing-like-it", "graphdoctor: no command is called 'nothing-like-it'; graphdoctor --help lists them"),
        ("breaks.py", "graphdoctor: 'breaks.py' is no command; to scan it: graphdoctor scan breaks.py"),
    ],
)
def test_a_word_that_is_no_command(folder: Path, word: str, line: str) -> None:
    done = process(word)
    assert (done.returncode, done.stderr) == (2, f"{line}\n")


def test_a_bad_output_folder_is_known_before_the_scan(folder: Path) -> None:
    (folder / "marks.py").write_text("open('imported', 'w').close()\n" + BREAKS)
    assert process("scan", "marks.py", "--output", "no/report.txt").returncode == 2
    assert not (folder / "imported").exists()


@pytest.mark.parametrize("output_format", ["text", "json", "markdown"])
def test_output_to_a_file_leaves_stdout_empty(folder: Path, output_format: str) -> None:
    arguments = ("scan", "breaks.py", "--no-run", "--output-format", output_format)
    to_stdout, to_file = invoke(*arguments), process(*arguments, "--output", "report")
    assert to_file.stdout == ""
    assert to_file.stderr == "graphdoctor: wrote report\n"
    written = (folder / "report").read_text()
    if output_format == "json":
        first, second = json.loads(to_stdout.stdout), json.loads(written)
        for data in (first, second):
            del data["timings"], data["command"]
        assert first == second
    elif output_format == "text":
        assert written == to_stdout.stdout
    else:
        assert written.startswith(
            "<!-- graphdoctor -->\n\n## graphdoctor: 1 predicted graph break found (static analysis)"
        )


def test_html_is_written_beside_the_report(folder: Path) -> None:
    done = process("scan", "breaks.py", "--no-run", "--html", "report.html")
    assert done.returncode == 1
    assert done.stderr == "graphdoctor: wrote report.html\n"
    assert "GD101" in done.stdout
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "graphdoctor scan breaks.py --no-run --html report.html" in page


def test_output_is_plain_when_it_is_no_terminal(folder: Path) -> None:
    assert "\x1b" not in process("scan", "breaks.py", "--no-run").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("variable", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal_unless_told_otherwise(folder: Path, variable: dict[str, str], coloured: bool) -> None:
    reader, writer = os.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environment |= {"TERM": "xterm", **variable}
    command = [sys.executable, "-m", "graphdoctor", "scan", "breaks.py", "--no-run"]
    child = subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL, env=environment)
    os.close(writer)
    shown = b""
    try:
        while chunk := os.read(reader, 65536):
            shown += chunk
    except OSError:
        pass  # Linux says EIO when the other end is closed.
    os.close(reader)
    assert child.wait() == 1
    assert (b"\x1b[" in shown) is coloured


def test_a_character_that_the_terminal_lacks_is_shown_as_an_escape(folder: Path) -> None:
    (folder / "wide.py").write_text(BREAKS.replace("called", "漢"), encoding="utf-8")
    done = process("scan", "wide.py", "--no-run", PYTHONIOENCODING="latin-1")
    assert done.returncode == 1
    assert 'print("\\u6f22")' in done.stdout


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m graphdoctor scan breaks.py --no-run | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_nothing_else(folder: Path, closed: str) -> None:
    command = f"'{sys.executable}' -m graphdoctor scan --no-run --html out.html {folder} {closed}"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 1
    assert Path("out.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_what_is_started_has_the_streams_that_were_closed(tmp_path: Path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(
        "import subprocess, sys\nfrom graphdoctor.entry import main\nsys.argv[1:] = ['--version']\nmain()\n"
        "asks = [sys.executable, '-c', 'import sys; sys.exit(sys.stdout is None)']\nsys.exit(subprocess.run(asks).returncode)\n"
    )
    assert subprocess.run(["bash", "-c", f"'{sys.executable}' '{script}' >&-"]).returncode == 0


def test_diff_prints_the_diff_alone_and_writes_nothing(folder: Path) -> None:
    done = process("scan", "breaks.py", "--no-run", "--diff")
    assert done.returncode == 1
    assert done.stdout.startswith("--- a/breaks.py\n+++ b/breaks.py\n")
    assert "+        if not torch.compiler.is_compiling():" in done.stdout
    assert (folder / "breaks.py").read_text() == BREAKS
    nothing = process("scan", "clean.py", "--no-run", "--diff")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x = x * float(x.sum())", "1 automatic fix (1 only with --unsafe-fixes)"),
        ("x = x * int(input())", "no finding has an automatic fix"),
    ],
)
@pytest.mark.parametrize("command", ["scan", "fix"])
def test_a_diff_with_nothing_in_it_says_why(folder: Path, command: str, line: str, why: str) -> None:
    (folder / "breaks.py").write_text(BREAKS.replace('print("called")', line))
    done = process(command, "breaks.py", "--no-run", "--diff")
    assert (done.stdout, done.stderr) == ("", f"graphdoctor: nothing to show: {why}\n")


def test_diff_can_be_applied(folder: Path) -> None:
    changes = process("scan", "breaks.py", "--no-run", "--diff").stdout
    subprocess.run(["patch", "-p1"], input=changes, text=True, check=True, capture_output=True, cwd=folder)
    assert invoke("scan", "breaks.py", "--no-run").exit_code == 0


def test_fix_writes_and_says_so(folder: Path) -> None:
    result = invoke("scan", "breaks.py", "--no-run", "--fix")
    assert "is_compiling" in (folder / "breaks.py").read_text()
    assert "note: fixed: breaks.py (1 fix written)" in result.output
    assert invoke("scan", "breaks.py", "--no-run").exit_code == 0


@NEEDS_TORCH
def test_a_run_confirms_and_json_has_it(folder: Path) -> None:
    done = process("scan", "breaks.py", "--mode", "eval", "--no-verify", "--output-format", "json")
    assert done.returncode == 1
    # The source's findings come before the run, and not where the report goes.
    assert done.stderr.splitlines()[0] == "graphdoctor: static analysis: 1 finding so far; now the code is run"
    assert "breaks.py:7: GD101" in done.stderr
    data = json.loads(done.stdout)
    assert data["summary"]["verdict"] == "not-ready"
    assert [finding["status"] for finding in data["findings"]] == ["confirmed"]
    assert [entry["gb_id"] for entry in data["dynamic"][0]["breaks"]] == ["GB0059"]


@NEEDS_TORCH
def test_a_run_that_raises_is_exit_1(folder: Path) -> None:
    (folder / "raises.py").write_text(CLEAN.replace("return x + 1", "raise ValueError('no')"))
    result = invoke("scan", "raises.py", "--mode", "eval")
    assert result.exit_code == 1
    assert "raised ValueError in eager at raises.py:" in result.output.splitlines()[0]


def test_an_internal_error_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **named: object) -> Diagnosis:
        raise RuntimeError("two\nlines \x1b[31m")

    monkeypatch.delenv("GRAPHDOCTOR_DEBUG", raising=False)
    monkeypatch.setattr(api, "scan", fail)
    with pytest.raises(SystemExit) as end:
        cli.main(["scan", "clean.py"])
    assert end.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("graphdoctor: internal error: RuntimeError: two lines \\x1b[31m. Please report it")
    monkeypatch.setenv("GRAPHDOCTOR_DEBUG", "1")
    with pytest.raises(SystemExit) as end:
        cli.main(["scan", "clean.py"])
    assert end.value.code == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_explain_and_rules() -> None:
    assert invoke("explain", "GD101").output.startswith("GD101 [print-in-graph]")
    assert "GD101 [print-in-graph]" in invoke("explain", "GB0059").output
    listed = invoke("rules")
    assert listed.exit_code == 0
    assert re.search(r"^GD101 +print-in-graph +error ", listed.output, re.MULTILINE)


def _diagnosis(verdict: str, failed: int = 0, **run: object) -> Diagnosis:
    summary = Summary(verdict, "", 0, 0, None, None, None, 0, 1, failed)  # type: ignore[arg-type]
    runs = (replace(DynamicRun("Net", "eval", "cpu", "ok"), **run),) if run else None  # type: ignore[arg-type]
    return Diagnosis("", {}, "", summary, (ScannedFile("a.py", 1, "scanned"),), (), runs, None)


@pytest.mark.parametrize(
    ("diagnosis", "code"),
    [
        (_diagnosis("static-only"), 0),
        (_diagnosis("ready", outcome="ok"), 0),
        (_diagnosis("not-ready", outcome="ok"), 1),
        (_diagnosis("nothing-compiled", outcome="ok"), 1),
        (_diagnosis("not-run", outcome="timeout"), 1),
        (_diagnosis("static-only", failed=1), 2),
        (_diagnosis("not-ready", failed=1, outcome="ok"), 1),
    ],
)
def test_exit_codes(diagnosis: Diagnosis, code: int) -> None:
    assert exit_code(diagnosis) == code


def test_an_error_beside_a_ready_run_is_told_with_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    place = Location("a.py", 1, 1, 1, 5)
    unreached = Finding("GD101", "print-in-graph", "error", "certain", place, "f", "m", "w", "s", status="not-reached")
    assert judge(replace(_diagnosis("ready", outcome="ok"), findings=(unreached,)), None, None) == 1
    assert capsys.readouterr().err == "graphdoctor: failed: 1 error\n"
    assert judge(_diagnosis("not-ready", outcome="ok"), None, None) == 1
    assert capsys.readouterr().err == ""
