"""Review comments with suggestion blocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graphdoctor import api
from graphdoctor.fixes.core.apply import fixed_texts
from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.markdown import review


def test_comments(rich: Diagnosis) -> None:
    data = json.loads(review.render(rich))
    first = data["comments"][0]
    assert (data["event"], first["path"], first["line"], first["side"]) == ("COMMENT", "model.py", 18, "RIGHT")
    assert first["body"].endswith(
        '```suggestion\n        if not torch.compiler.is_compiling():\n            print("input", x.shape)\n```'
    )
    assert "Called from <code>Model.forward</code> (train.py:7)." in data["comments"][1]["body"]
    assert len(data["comments"]) == sum(finding.status != "refuted" for finding in rich.findings)


def test_only_what_is_new_where_a_base_is_known(compared: Diagnosis) -> None:
    assert [comment["line"] for comment in json.loads(review.render(compared))["comments"]] == [40, 52]


def test_at_most_thirty_and_it_says_so(many: Callable[[int], Diagnosis]) -> None:
    data = json.loads(review.render(many(100)))
    assert len(data["comments"]) == review.LIMIT
    assert data["body"].endswith("30 of 83 findings are shown.")


def test_code_that_reads_otherwise_than_it_is_is_not_suggested(rich: Diagnosis) -> None:
    finding = rich.findings[0]
    assert finding.fix is not None
    mirrored = replace(finding.fix, diff=finding.fix.diff.replace("print", "\u202eprint"))
    assert review.suggestion(replace(finding, fix=mirrored)) is None
    assert review.suggestion(replace(finding, fix=None)) is None


@pytest.mark.parametrize("file", ["demo/model.py"])
def test_a_suggestion_does_what_the_fix_does(root: Path, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put in by hand, as GitHub would, each gives the text that its edits give."""
    monkeypatch.chdir(root / "fixtures")
    diagnosis = api.scan(api.ScanOptions((file,), run=False))
    text = (root / "fixtures" / file).read_text()
    tried = 0
    for finding in diagnosis.findings:
        piece = review.suggestion(finding)
        if piece is None:
            continue
        lines = text.split("\n")
        lines[piece.first - 1 : piece.last] = piece.text.split("\n")
        assert "\n".join(lines) == fixed_texts({file: text}, [finding])[file]
        tried += 1
    assert tried >= 3
