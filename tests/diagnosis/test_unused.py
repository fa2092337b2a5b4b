"""Comments that silence nothing, in whole scans."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor import api
from graphdoctor.model.findings import Finding

MODEL = """\
import torch
from torch import nn

LIMIT = 3  # noqa: GD101 module level


def helper(x):
    return x + 1  # noqa: GD101 nothing calls this


class Net(nn.Module):
    def forward(self, x):
        print("called")  # noqa: GD101 on purpose
        x = x.relu()  # noqa: GD101, F401
        x = (
            x.relu()
            # noqa: GD2
        )
        x = x.relu()  # noqa: GD999
        x = x.relu()  # graphdoctor: ignore[print-in-graph]
        x = x.relu()  # noqa
        x = x.relu()  # noqa: E501
        x = x.relu()  # noqa: GD000
        # noqa: GD101
        if x.dtype == torch.float16 and x.isinf().any():  # noqa: GD201 with --possible it is found
            x = x.clamp(-1, 1)
        return x
"""
SAMPLE = "\n\ndef graphdoctor_target():\n    return Net(), (torch.ones(2, 2),)\n"


def scan(folder: Path, text: str, **options: object) -> list[Finding]:
    (folder / "m.py").write_text(text)
    result = api.scan(api.ScanOptions((str(folder / "m.py"),), **options))  # type: ignore[arg-type]
    return sorted(result.findings, key=lambda f: f.location)


def lines(findings: list[Finding]) -> list[int]:
    return [f.location.line for f in findings if f.rule == "GD002"]


def test_reported_where_the_scan_can_know(tmp_path: Path) -> None:
    found = scan(tmp_path, MODEL, run=False)
    assert {f.rule for f in found} == {"GD002"} and {f.severity for f in found} == {"warning"}
    assert lines(found) == [4, 14, 17, 19, 20, 24]
    messages = {f.location.line: f.message for f in found}
    assert messages[14] == "this comment silences nothing: GD101 finds nothing here"
    assert messages[19] == "this comment silences nothing: no rule is called GD999"
    assert "line of its own" in messages[24]
    assert found[1].suggestion == "remove GD101 from the comment"
    assert found[1].snippet and found[1].fingerprint


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"select": ("GD2",)}, []),
        ({"ignore": ("GD101",)}, [17, 19, 24]),
        ({"ignore": ("GD002",)}, []),
        ({"select": ("GD2", "GD002")}, [17, 19, 24]),
        ({"per_file_ignores": ("m.py:GD002",)}, []),
    ],
)
def test_rules_that_were_not_selected_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, tuple[str, ...]], expected: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lines(scan(tmp_path, MODEL, run=False, **options)) == expected


def test_what_a_run_could_find_waits_for_the_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = MODEL + SAMPLE
    assert lines(scan(tmp_path, text, run=False)) == [19, 24]
    found = scan(tmp_path, text, run=True, mode="eval", verify=False)
    assert lines(found) == [4, 14, 17, 19, 20, 23, 24]


def test_a_file_comment_silences_it_too(tmp_path: Path) -> None:
    assert scan(tmp_path, MODEL + "# graphdoctor: ignore-file[GD002]\n", run=False) == []


def test_a_file_that_was_not_analysed_completely_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphdoctor.static.interp.interpreter.Interpreter.MAX_STEPS", 5)
    assert lines(scan(tmp_path, MODEL, run=False)) == []
