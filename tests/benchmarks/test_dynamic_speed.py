"""The count of compiles that the benchmark divides by, of a script whose compiles are known."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.dynamic_speed import BARE, compiles


def test_each_compile_of_a_clean_model_counts_once(root: Path) -> None:
    assert compiles([sys.executable, "-c", BARE, str(root / "fixtures" / "clean" / "model.py"), "2"]) == (2, 2)
