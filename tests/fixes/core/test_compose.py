"""Fixes that overlap: one change for all of them where one after the other removes what they are about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from graphdoctor.fixes.core.apply import apply, select_fixes
from graphdoctor.fixes.core.compose import composed, overlapping
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding

HEAD = "import torch\n\n\ndef f(x):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"
SELECTED = HEAD + "    keep = x > 0.5\n    if keep.any():\n        return x[keep].mean()\n    return x.mean()\n" + TAIL


def findings_of(folder: Path, text: str) -> tuple[Finding, ...]:
    file = folder / "program.py"
    file.write_text(text)
    return engine.analyse([(file, "program.py")]).findings


def test_the_fix_inside_a_branch_is_made_in_what_became_of_the_branch(tmp_path: Path) -> None:
    (group,) = overlapping(findings_of(tmp_path, SELECTED))
    assert [finding.rule for finding in group] == ["GD201", "GD302"]
    fix = composed(group, SELECTED, lambda text: findings_of(tmp_path, text))
    assert fix is not None and fix.safety == "unsafe"
    assert all(finding.fix is not None and finding.fix.reason in fix.reason for finding in group)
    after = apply(SELECTED, fix.edits)
    assert "return torch.where(keep.any(), torch.where(keep, x, 0).sum() / keep.expand_as(x).sum(), x.mean())" in after
    assert findings_of(tmp_path, after) == ()
    assert fix.diff.count("\n-") == 3 and fix.diff.count("\n+    return") == 1


def test_a_fix_that_changes_the_same_line_is_made_though_its_finding_stands_in_another(tmp_path: Path) -> None:
    text = (
        f"{HEAD}    near, far = x[:, 0], x[:, 1]\n    pos = near[near > 0.5]\n    neg = far[far > 0.5]\n"
        f"    return pos.mean() + torch.relu(1 - neg).mean()\n{TAIL}"
    )
    (group,) = overlapping(findings_of(tmp_path, text))
    assert [finding.location.line for finding in group] == [6, 7]
    fix = composed(group, text, lambda changed: findings_of(tmp_path, changed))
    assert fix is not None
    after = apply(text, fix.edits)
    assert "[near > 0.5]" not in after and "[far > 0.5]" not in after
    assert findings_of(tmp_path, after) == ()


def test_nothing_is_composed_where_a_finding_is_left(tmp_path: Path) -> None:
    (group,) = overlapping(findings_of(tmp_path, SELECTED))

    def analyse(text: str) -> Iterable[Finding]:
        return [finding for finding in findings_of(tmp_path, text) if finding.rule == "GD302"]

    def without_fixes(text: str) -> Iterable[Finding]:
        return [replace(finding, fix=None) for finding in analyse(text)]

    assert composed(group, SELECTED, without_fixes) is None
    assert composed(group, SELECTED, lambda _text: ()) is None


def test_fixes_apart_are_no_group(tmp_path: Path) -> None:
    text = HEAD + "    print(x)\n    y = x * 2\n    print(y)\n    return y\n" + TAIL
    findings = findings_of(tmp_path, text)
    assert len(select_fixes(findings, unsafe=True)[0]) == 2
    assert overlapping(findings) == []
