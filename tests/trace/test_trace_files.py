from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphdoctor.trace.files import NoTrace, find, open_trace

if TYPE_CHECKING:
    from conftest import Traces


def test_files_come_in_the_order_of_their_ranks(traces: Traces) -> None:
    for rank in (10, 2, None):
        traces.write(rank, b"x")
    assert [file.rank for file in find(traces.folder)] == [2, 10, None]


def test_subfolders_and_packed_files_are_found_and_others_are_not(traces: Traces) -> None:
    (traces.folder / "node1").mkdir()
    packed = traces.folder / "node1" / "dedicated_log_torch_trace_rank_3_abc.log.gz"
    packed.write_bytes(gzip.compress(b"packed"))
    (traces.folder / "train.log").write_text("loss 1.0")
    (file,) = find(traces.folder)
    assert (file.path, file.rank) == (packed, 3)
    with open_trace(file) as stream:
        assert stream.read() == b"packed"


def test_a_file_given_alone_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_bytes(b"x")
    assert [file.rank for file in find(tmp_path / "trace.txt")] == [None]


@pytest.mark.parametrize(("name", "expected"), [("nowhere", "does not exist"), ("", "has no trace files")])
def test_where_there_is_no_trace_one_line_says_what_to_do(tmp_path: Path, name: str, expected: str) -> None:
    with pytest.raises(NoTrace, match=re.escape(expected)) as failed:
        find(tmp_path / name)
    assert "TORCH_TRACE" in str(failed.value)
    assert "\n" not in str(failed.value)
