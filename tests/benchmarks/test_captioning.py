"""The image-captioning study: its padding choices, and the command itself on a small row."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def study(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.captioning", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize(("padding", "length"), [("max", 32), ("longest", 24), ("buckets", 32)])
def test_padding_decides_the_length_of_the_labels(padding: str, length: int) -> None:
    import torch

    from benchmarks.captioning import setup

    captions = [torch.arange(5), torch.arange(17)]
    labels = setup.collate(captions, setup.TINY, padding)
    assert labels.shape == (2, length)
    assert (labels[0, 5:] == -100).all() and (labels[1, :17] == captions[1]).all()


def test_the_update_written_with_foreach_map_is_that_of_adamw() -> None:
    import torch

    from benchmarks.captioning.optimizers import ForeachMapAdamW

    nets = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    nets[1].load_state_dict(nets[0].state_dict())
    unused = torch.nn.Parameter(torch.ones(1))
    optimizers = ForeachMapAdamW([unused, *nets[0].parameters()], 0.1), torch.optim.AdamW(nets[1].parameters(), 0.1)
    for number in range(1, 4):
        for net, optimizer in zip(nets, optimizers, strict=True):
            net(torch.full((4, 3), float(number))).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(nets[0].state_dict(), nets[1].state_dict())
    assert unused.item() == 1


def test_each_row_has_a_cache_of_its_own_with_a_name_that_a_compiler_takes() -> None:
    from benchmarks.captioning.__main__ import cache_name
    from benchmarks.captioning.published import ROWS

    names = [cache_name(row) for row in ROWS]
    assert all(re.fullmatch(r"[\w-]+", name) for name in names)
    own = [name for name, row in zip(names, ROWS, strict=True) if not row.cached]
    assert len(set(own)) == len(own) == len(ROWS) - 1
    assert [name for name, row in zip(names, ROWS, strict=True) if row.cached] == ["dynamic-mark_dynamic"]
    assert "dynamic-mark_dynamic" in own


def test_the_command_prints_a_row_beside_the_published_number(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(json.dumps({"original": {"static: eager": "kept"}, "tiny": {"static: compile": "kept"}}))
    done = study("--backend", "eager", "--rows", "static: eager", "--json", str(file))
    assert done.stdout.splitlines()[-1].split()[-2:] == ["3.11", "-"], done.stderr
    found = json.loads(file.read_text())
    row = found["tiny"]["static: eager"]
    assert row["steps_per_second"] > 0 and row["graphs"] == 0 and row["torch"] and row["device"]
    assert (found["original"]["static: eager"], found["tiny"]["static: compile"]) == ("kept", "kept")
    assert found["published"]["rows"]["static: eager"] == {"steps_per_second": 3.11, "warm_up": None}


def test_the_original_size_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from benchmarks.captioning import row

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    monkeypatch.setattr(sys, "argv", ["row", "0", "eager", "original"])
    with pytest.raises(SystemExit, match="the original size needs a GPU, and torch finds none"):
        row.main()


def test_a_row_over_its_limit_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    done = study("--rows", "static: eager", "--limit", "0.1", "--json", str(file))
    assert "static: eager" in done.stdout and "failed: stopped after 0 s" in done.stdout
    assert json.loads(file.read_text())["original"] == "unverified: not run yet"
