"""A run that failed and a file that was not read are said in every format, and never called clean."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphdoctor import api
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.model.findings import Diagnosis, ScannedFile
from graphdoctor.model.runs import DynamicRun, FullGraph, Numerics
from graphdoctor.report.formats import render
from graphdoctor.report.problems import problems

FILES = (ScannedFile("model.py", 9, "scanned"),)
GOOD = DynamicRun("Net", "eval", "cpu", "ok", graphs=1, operators=3, fullgraph=FullGraph(True))
RAISED = DynamicRun("Net", "eval", "cpu", "raised", "ValueError: no weights")
UNREAD = ScannedFile("bad.py", 0, "failed", "syntax error in line 3: invalid syntax")
PARTLY = ScannedFile("long.py", 9, "scanned", "too large to analyse completely")


def diagnosis(clean: Diagnosis, *runs: DynamicRun, files: tuple[ScannedFile, ...] = FILES) -> Diagnosis:
    dynamic = runs or None
    return replace(clean, files=files, dynamic=dynamic, summary=summarise(files, (), dynamic))


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "run failed": ({"runs": (RAISED,)}, "ValueError: no weights"),
    "one of two runs failed": (
        {"runs": (GOOD, replace(RAISED, mode="train", outcome="timeout", detail="after 120 s"))},
        "after 120 s",
    ),
    "nothing compiled": ({"runs": (replace(GOOD, graphs=0),)}, "(0 graphs)"),
    "outputs differ": ({"runs": (replace(GOOD, numerics=Numerics(False, 1.0, "rtol")),)}, "outputs differ"),
    "fullgraph fails": ({"runs": (replace(GOOD, fullgraph=FullGraph(False, "a hidden break")),)}, "a hidden break"),
    "file not read": ({"files": (*FILES, UNREAD)}, "syntax error in line 3"),
    "file not read completely": ({"files": (PARTLY,)}, "too large to analyse completely"),
}


@pytest.fixture(params=CASES)
def troubled(request: pytest.FixtureRequest, clean: Diagnosis) -> tuple[Diagnosis, str]:
    given, words = CASES[request.param]
    return diagnosis(clean, *given.get("runs", ()), files=given.get("files", FILES)), words


@pytest.mark.parametrize("name", ["text", "markdown", "html", "sarif", "github", "github-review", "gitlab", "junit"])
def test_every_format_says_what_went_wrong(troubled: tuple[Diagnosis, str], name: str) -> None:
    shown, words = troubled
    text = render(shown, name)
    assert words in text.replace("\\(", "(").replace("\\)", ")").replace("\\_", "_")


def test_sarif(clean: Diagnosis) -> None:
    def invocation(shown: Diagnosis) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(render(shown, "sarif"))["runs"][0]["invocations"][0]
        return made

    failed = invocation(diagnosis(clean, RAISED))
    assert failed["executionSuccessful"] is False
    assert failed["toolExecutionNotifications"] == [
        {
            "level": "error",
            "descriptor": {"id": "run-failed"},
            "message": {
                "text": "model.py: Net, eval mode, on cpu: the code raised an exception: ValueError: no weights"
            },
        }
    ]
    assert invocation(diagnosis(clean, files=(UNREAD,)))["executionSuccessful"] is False
    assert invocation(diagnosis(clean, GOOD)) == {"executionSuccessful": True, "toolExecutionNotifications": []}
    assert invocation(diagnosis(clean, files=(PARTLY,)))["executionSuccessful"] is True


def test_junit(clean: Diagnosis) -> None:
    def counts(shown: Diagnosis) -> tuple[str | None, ...]:
        suite = ElementTree.fromstring(render(shown, "junit"))
        return tuple(suite.get(name) for name in ("errors", "failures"))

    assert counts(diagnosis(clean, GOOD)) == ("0", "0")
    assert counts(diagnosis(clean, RAISED)) == ("1", "0")
    assert counts(diagnosis(clean, GOOD, replace(RAISED, mode="train"))) == ("1", "0")
    assert counts(diagnosis(clean, replace(GOOD, graphs=0))) == ("0", "1")
    assert counts(diagnosis(clean, files=(*FILES, UNREAD))) == ("1", "0")


def test_github_and_gitlab(clean: Diagnosis) -> None:
    failed = diagnosis(clean, RAISED)
    assert render(failed, "github").splitlines() == [
        "::error file=model.py,title=graphdoctor%3A the run failed::"
        "Net, eval mode, on cpu: the code raised an exception: ValueError: no weights",
        "graphdoctor: 1 error",
    ]
    (entry,) = json.loads(render(failed, "gitlab"))
    assert entry["check_name"] == "run-failed" and entry["location"]["path"] == "model.py"
    other = json.loads(render(diagnosis(clean, replace(RAISED, detail="at 0x7f")), "gitlab"))[0]
    assert entry["fingerprint"] == other["fingerprint"]


def test_what_went_well_has_no_problems(clean: Diagnosis) -> None:
    assert problems(diagnosis(clean, GOOD)) == problems(clean) == ()


def test_badges(clean: Diagnosis) -> None:
    for shown, words in (
        (diagnosis(clean, RAISED), "run failed"),
        (diagnosis(clean, files=(UNREAD,)), "1 file not read"),
    ):
        assert json.loads(render(shown, "badge-json"))["message"] == words
        assert json.loads(render(shown, "badge-json"))["color"] != "brightgreen"


def test_a_run_that_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing: nothing is found in the source, and the constructor fails."""
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(
        "from torch import nn\nimport torch\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        open('weights.missing')\n\n    def forward(self, x):\n        return x\n\n\n"
        "def graphdoctor_target():\n    return Net(), (torch.ones(2),)\n"
    )
    monkeypatch.chdir(tmp_path)
    shown = api.scan(api.ScanOptions(("net.py",), mode="eval"))
    for name in ("text", "markdown", "html", "sarif", "github", "github-review", "gitlab", "junit"):
        assert "weights.missing" in render(shown, name).replace("\\.", "."), name
