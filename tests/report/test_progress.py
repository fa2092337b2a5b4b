"""The progress line, on a real pseudo-terminal and on a pipe."""

from __future__ import annotations

import io
import os
import select
import sys
import time

import pytest

from graphdoctor.report.progress import Progress


def _read(reader: int) -> str:
    """All that was written; what is written to one end arrives at the other a little later."""
    shown = b""
    while select.select([reader], [], [], 0.3)[0]:
        shown += os.read(reader, 65536)
    return shown.decode()


def test_nothing_when_not_a_terminal() -> None:
    stream = io.StringIO()
    with Progress(stream) as progress:
        progress("running")
    assert stream.getvalue() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_line_that_counts_seconds_and_is_cleared() -> None:
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as terminal:
        with Progress(terminal, interval=0.05) as progress:
            progress("running Net\x1b[31m\nin eval mode " + "x" * 500)
            time.sleep(0.3)
        shown = _read(reader)
    os.close(reader)
    drawn = shown.split("\r\x1b[2K")
    assert drawn[0] == ""
    assert drawn[1].startswith("graphdoctor: running Net\\x1b[31m in eval mode xxx")
    assert len(drawn) > 4, "the line is drawn again while nothing is reported"
    assert drawn[-1] == "", "the last thing written clears the line"
    assert max(map(len, drawn)) < 500, "a line that wraps could not be cleared"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_the_line_is_cleared_after_an_error() -> None:
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as terminal:
        with pytest.raises(RuntimeError), Progress(terminal) as progress:
            progress("running")
            raise RuntimeError
        shown = _read(reader)
    os.close(reader)
    assert shown.endswith("\r\x1b[2K")
