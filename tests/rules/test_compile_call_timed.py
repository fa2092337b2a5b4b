"""Which compile times hold no compilation."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import time
import torch


def prepared(model, sample):
    start = time.perf_counter()
    {body}
    {end}
    return model
"""
SHOWN = "print('compile time', time.perf_counter() - start)"


def found(folder: Path, body: str, end: str = SHOWN) -> list[str]:
    file = folder / "prepare.py"
    file.write_text(SOURCE.format(body=body.replace("\n", "\n    "), end=end.replace("\n", "\n    ")))
    return [finding.rule for finding in analyse([(file, "prepare.py")]).findings]


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("model = torch.compile(model)", ["GD630"]),
        ("model = torch.compile(model, mode='max-autotune').eval()", ["GD630"]),
        ("model = torch.compile(model)\nmodel(sample)", []),
        ("model = torch.compile(model)\nwarm_up(model)", []),
        ("model = load(torch.compile(model))", []),
        ("model = load()", []),
    ],
)
def test_what_is_called_between_the_readings(tmp_path: Path, body: str, rules: list[str]) -> None:
    assert found(tmp_path, body) == rules


@pytest.mark.parametrize(
    ("end", "rules"),
    [
        ("took = time.perf_counter() - start\nprint('compilation took', took)", ["GD630"]),
        ("compile_seconds = time.perf_counter() - start", ["GD630"]),
        ("print('setup took', time.perf_counter() - start)", []),
        ("print('loaded and compiled in', time.perf_counter() - start)", []),
    ],
)
def test_the_program_calls_it_a_compile_time(tmp_path: Path, end: str, rules: list[str]) -> None:
    assert found(tmp_path, "model = torch.compile(model)", end) == rules
