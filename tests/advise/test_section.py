"""``graphdoctor scan --advise``: the advice as a section of each report, and of the JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from graphdoctor.report.html.page import render
from graphdoctor.report.json_format import reader, writer
from graphdoctor.report.markdown import document
from graphdoctor.report.text import terminal

pytest.importorskip("torch")

NET = (Path(__file__).parent / "targets/encoder_decoder.py").read_text()
TITLE = "Where to put torch.compile"
LINE = "model.encoder.forward = torch.compile(model.encoder.forward)"


@pytest.fixture(scope="module")
def done(graphdoctor: Callable[..., CompletedProcess[str]], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The JSON report of a scan with ``--advise``; its other reports are rendered from it."""
    folder: Path = tmp_path_factory.mktemp("section")
    (folder / "net.py").write_text(NET)
    options = ["--advise", "--no-verify", "--mode", "eval", "--output-format", "json", "--report", "text=shown.txt"]
    found = graphdoctor("scan", "net.py", *options, cwd=folder)
    assert found.returncode == 1, found.stderr
    assert TITLE in (folder / "shown.txt").read_text()
    return found.stdout


def test_the_contract_has_what_was_counted(done: str) -> None:
    advice = json.loads(done)["advice"]
    assert (advice["target"], advice["mode"], advice["calls"]) == ("Net", "eval", 3)
    proposed = [advice["placements"][number] for number in advice["proposed"]]
    assert [placement["names"] for placement in proposed] == [["encoder", "decoder"]]
    assert [(p["kind"], p["breaks"]) for p in advice["placements"]] == [("model", 1), ("submodules", 0)]
    assert len(advice["shapes"]) == 3
    assert "advise" in json.loads(done)["timings"]


def test_every_report_has_the_section_with_the_lines_to_write(done: str) -> None:
    diagnosis = reader.read(done)
    assert writer.to_dict(diagnosis)["advice"] == json.loads(done)["advice"]
    for shown in (terminal.render(diagnosis), document.render(diagnosis), render(diagnosis)):
        assert TITLE in shown
        assert LINE in shown
        assert "dynamic=True" in shown


def test_where_nothing_runs_a_note_says_so(graphdoctor: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET.replace("nn.Tanh()", "nn.Tan()"))
    done = graphdoctor("scan", "net.py", "--advise", "--mode", "eval", "--output-format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["advice"] is None
    assert "no advice on where to compile: the code did not run to its end" in found["notes"]
