"""DDP and FSDP2 with two ranks on gloo: what the usage rules and the guidance say of them, done for real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

RUNNER = Path(__file__).with_name("run_two_ranks.py")
RANKS = 2


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What rank 0 found."""
    folder = tmp_path_factory.mktemp("ranks")
    ranks = [
        subprocess.Popen([sys.executable, str(RUNNER), str(rank), str(folder)], stderr=subprocess.PIPE, text=True)
        for rank in range(RANKS)
    ]
    try:
        said = [rank.communicate()[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0] * RANKS, said
    found: dict[str, Any] = json.loads((folder / "answer.json").read_text())
    return found


@pytest.mark.parametrize("name", ["ddp_around", "ddp_inside", "ddp_python_reducer"])
def test_either_order_of_ddp_and_compile_is_one_graph_with_the_gradients_of_all_ranks(
    done: dict[str, Any], name: str
) -> None:
    assert done[name] == [1, True]


def test_ddp_splits_the_graph_at_its_buckets(done: dict[str, Any]) -> None:
    assert done["ddp_splits_at_small_buckets"] == 4


def test_fullgraph_around_ddp_raises(done: dict[str, Any]) -> None:
    assert done["ddp_fullgraph_around"] == "Unsupported"


@pytest.mark.parametrize("name", ["fsdp2_then_compile", "fsdp2_blocks_compiled_in_place"])
def test_sharded_blocks_compile_in_either_order_and_keep_the_gradients(done: dict[str, Any], name: str) -> None:
    graphs, equal = done[name]
    assert graphs > 0 and equal


def test_a_broadcast_in_the_graph_gives_what_the_original_gives(done: dict[str, Any]) -> None:
    assert done["broadcast_in_the_graph"] is True
