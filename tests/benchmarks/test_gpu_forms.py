"""What the static pass says of code for a GPU, against what was seen on one."""

from __future__ import annotations

from pathlib import Path

from benchmarks.gpu.forms import NOT_SAID, TORCH, forms, marked
from benchmarks.rule_versions.examples import marks
from graphdoctor.lint.catalog import holding, rules
from graphdoctor.lint.engine import analyse


def test_the_static_pass_says_what_is_marked_and_nothing_else(tmp_path: Path) -> None:
    files = []
    for name, source in forms().items():
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        files.append((file, file.name))
    result = analyse(files, holding(rules(), TORCH))
    assert {file.reason for file in result.files} == {None}
    found: dict[str, list[int]] = {name: [] for name in forms()}
    for finding in result.findings:
        if finding.severity == "error":
            found[finding.location.path.removesuffix(".py")].append(finding.location.line)
    assert {name: sorted(set(lines)) for name, lines in found.items()} == {
        name: list(marks(_what_is_said(source))) for name, source in forms().items()
    }


def test_few_forms_are_not_found() -> None:
    lines = [
        line
        for source in forms().values()
        for line in marked(source).splitlines()
        if "# GB" in line or "# raises" in line
    ]
    missed = [line for source in forms().values() for line in source.splitlines() if NOT_SAID in line]
    assert len(missed) <= len(lines) // 10, missed


def _what_is_said(source: str) -> str:
    return "\n".join(line.partition("#")[0] if NOT_SAID in line else line for line in source.splitlines())
