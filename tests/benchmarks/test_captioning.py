"""The image-captioning study: its padding choices, and the command itself on a small row."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).parents[2] / "benchmarks/captioning"


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(STUDY))
    # The name is common: another module of it must not be taken, nor stay.
    monkeypatch.delitem(sys.modules, "setup", raising=False)
    import setup

    yield setup
    del sys.modules["setup"]


@pytest.mark.parametrize(("padding", "length"), [("max", 32), ("longest", 24), ("buckets", 32)])
def test_padding_decides_the_length_of_the_labels(setup, padding: str, length: int) -> None:
    import torch

    captions = [torch.arange(5), torch.arange(17)]
    labels = setup.collate(captions, setup.TINY, padding)
    assert labels.shape == (2, length)
    assert (labels[0, 5:] == -100).all() and (labels[1, :17] == captions[1]).all()


def test_the_command_prints_a_row_beside_the_published_number(tmp_path: Path) -> None:
    command = [sys.executable, str(STUDY), "--backend", "eager", "--rows", "static: eager", "--json", "found.json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=280)
    found = json.loads((tmp_path / "found.json").read_text())["rows"]["static: eager"]
    assert done.stdout.splitlines()[-1].split()[-2:] == ["3.11", "-"]
    assert found["steps_per_second"] > 0 and found["graphs"] == 0


def test_the_original_size_without_a_gpu_says_so(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    command = [sys.executable, str(STUDY), "--original", "--rows", "static: eager"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=280)
    assert "failed: the original size needs a GPU, and torch finds none" in done.stdout
