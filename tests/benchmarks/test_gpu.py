"""The benchmark for a GPU, as far as it goes without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.__main__ import table
from benchmarks.gpu.scans import PLANTED


def test_without_a_gpu_it_ends_with_one_line(root: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    result = tmp_path / "gpu.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", "--json", str(result)], cwd=root, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == f"nothing was measured: torch {torch.__version__} finds no CUDA device\n"
    assert not result.exists()


def test_each_planted_case_runs_in_eager(root: Path) -> None:
    torch = pytest.importorskip("torch")
    for name in PLANTED:
        names: dict[str, object] = {}
        # A case may set this for its process.
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=False):
            exec((root / "benchmarks/gpu/planted" / name).read_text(), names)
            model, args = names["graphdoctor_target"]()  # type: ignore[operator]
            model(*args)


def test_the_table_has_a_row_for_each_result() -> None:
    found = {
        "versions": {"torch": "2.13.0", "cuda": None},
        "scans": {
            "a": {"breaks_agree": True, "verdict": "ready", "breaks": []},
            "b": {"gpu": {"failure": "x"}, "cpu": {}},
        },
        "planted": {"waits.py": {"found": False}},
        "timing": {"eager": {"first_s": 1.0, "ms": 0.5, "quartiles_ms": [0.4, 0.6]}, "caches": {"cold_s": 9.0}},
    }
    rows = [line for line in table(found).splitlines() if line.startswith("| ")]
    assert "| a | ready | 0 | yes |" in rows
    assert "| b | failed | | |" in rows
    assert "| waits.py | no |" in rows
    assert "| eager | 1.0 | 0.5 | 0.4 to 0.6 |" in rows
    assert "| caches | cold_s 9.0 | | |" in rows


def test_a_part_that_was_not_measured_has_no_table() -> None:
    text = table({"versions": {"torch": "2.13.0"}, "planted": {"waits.py": {"found": True}}})
    assert "Planted" in text and "Scan" not in text and "Timed" not in text
