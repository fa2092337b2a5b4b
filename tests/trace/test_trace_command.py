from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphdoctor.cli import main

if TYPE_CHECKING:
    from conftest import Traces

NET = "/job/net.py"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["trace", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_breaks_end_with_1_and_with_0_where_asked(traces: Traces, capsys: pytest.CaptureFixture[str]) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), traces.record("dynamo_output_graph"), traces.graph_break(NET, 5))
    assert run(traces.folder) == 1
    assert capsys.readouterr().out.startswith("Not ready: 1 graph break in your code\n")
    assert run(traces.folder, "--exit-zero") == 0


def test_a_job_without_breaks_ends_with_0(traces: Traces, tmp_path: Path) -> None:
    graph = traces.record("dynamo_output_graph", frame_id=0, frame_compile_id=0, attempt=0)
    traces.write(0, traces.start(0, 0, NET, 3), graph)
    assert run(traces.folder, "--output-format", "json", "--output", tmp_path / "report.json") == 0
    assert json.loads((tmp_path / "report.json").read_text())["summary"]["verdict"] == "ready"


@pytest.mark.parametrize("content", [None, b""])
def test_no_trace_is_one_line_and_2(traces: Traces, capsys: pytest.CaptureFixture[str], content: bytes | None) -> None:
    if content is not None:
        traces.write(0, content)
    assert run(traces.folder, "--exit-zero") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert str(traces.folder) in shown.err


def test_every_format_can_be_written(traces: Traces, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), traces.record("dynamo_output_graph"), traces.graph_break(NET, 5))
    sarif, page = tmp_path / "trace.sarif", tmp_path / "trace.html"
    assert run(traces.folder, "--report", f"sarif={sarif}", "--html", page, "--output-format", "concise") == 1
    assert json.loads(sarif.read_text())["version"] == "2.1.0"
    assert "1 graph break in your code" in page.read_text()
    assert f"{NET}:5" in capsys.readouterr().out
    assert run(traces.folder, "--report", "sarif") == 2
