"""A tiny model, really built, run and compared."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("transformers") is None:
    pytest.skip("needs transformers", allow_module_level=True)

from benchmarks.accuracy import static
from benchmarks.accuracy.runs import Model, Settings, load, run_all
from benchmarks.accuracy.score import score

BREAKING = Model("transformers", "FlaubertModel")


def test_a_model_is_built_run_and_compared_with_the_static_pass(tmp_path: Path) -> None:
    settings = Settings(mode="eval", timeout=900, jobs=2)
    ended: list[tuple[int, str, str]] = []
    for _ in range(2):
        run_all([BREAKING], tmp_path, settings, lambda *of: ended.append(of))
    assert ended == [(1, str(BREAKING), "eval ok")]

    found = load(tmp_path)
    own = next(path for path in found[str(BREAKING)][0].executed if path.endswith("modeling_flaubert.py"))
    counted = score(static.findings([own]), found, [own])
    assert counted.broken
    assert counted.recall == 1


def test_a_pattern_without_a_model_is_a_clear_error(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.accuracy", "models", str(tmp_path), "--models", "transformers.Nope*"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "no model is called transformers.Nope*" in ended.stderr


def test_a_folder_of_samples(root: Path, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\n\n"
        "def f(x):\n"
        "    print('f')\n"
        "    return x + 1\n\n"
        "def graphdoctor_target():\n"
        "    return f, (torch.ones(3),)\n"
    )
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "benchmarks.accuracy", "folder", str(tmp_path), "--json", str(result)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    saved = json.loads(result.read_text())
    assert (saved["files"], saved["predicted"], saved["missed"], saved["recall"]) == (1, 1, 0, 1.0)
