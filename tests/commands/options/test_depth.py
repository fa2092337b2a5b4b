"""Where the script of a ladder goes, and what is said where there is none."""

from pathlib import Path

import pytest

from graphdoctor.commands.options.depth import write_repro
from graphdoctor.model.findings import Diagnosis, Summary
from graphdoctor.model.runs import DynamicRun, Ladder, Stage

SUMMARY = Summary("ready", "Ready", 0, 0, 0, 0, 1, 0, 1, 0)


def diagnosis(*ladders: Ladder) -> Diagnosis:
    runs = tuple(DynamicRun("Net", "eval", "cpu", "ok", ladder=ladder) for ladder in ladders)
    return Diagnosis("1", {}, "", SUMMARY, (), (), runs, None)


def test_the_first_script_is_written_and_nothing_unasked(tmp_path: Path) -> None:
    made = diagnosis(Ladder(()), Ladder((), "import torch\n"))
    write_repro(made, None)
    assert list(tmp_path.iterdir()) == []
    write_repro(made, str(tmp_path / "repro.py"))
    assert (tmp_path / "repro.py").read_text() == "import torch\n"


@pytest.mark.parametrize(
    ("ladders", "reason"),
    [
        ((), "nothing was run"),
        ((Ladder((Stage("eager", "ok"),)),), "every backend worked"),
        ((Ladder((Stage("eager", "failed", "Dynamo"),)),), "no script that runs on its own"),
    ],
)
def test_why_there_is_no_script(
    ladders: tuple[Ladder, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_repro(diagnosis(*ladders), str(tmp_path / "repro.py"))
    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
