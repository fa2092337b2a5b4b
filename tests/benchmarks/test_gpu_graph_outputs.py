"""What the rules say of programs that keep outputs of CUDA graphs, against what these did on a GPU."""

from __future__ import annotations

from pathlib import Path

from benchmarks.gpu.graph_outputs import programs
from graphdoctor.lint.catalog import rules
from graphdoctor.lint.engine import analyse


def test_the_rules_say_what_was_seen_and_nothing_else(tmp_path: Path) -> None:
    files = []
    for name, program in programs().items():
        file = tmp_path / f"{name}.py"
        file.write_text(program.source)
        files.append((file, file.name))
    result = analyse(files, [rule for rule in rules() if rule.code in ("GD632", "GD633")])
    said = {finding.location.path.removesuffix(".py") for finding in result.findings}
    assert said == {name for name, program in programs().items() if program.is_said}


def test_few_are_not_said() -> None:
    kept = [program for program in programs().values() if program.outcome != "fine"]
    assert sum(not program.is_said for program in kept) <= len(kept) // 5
