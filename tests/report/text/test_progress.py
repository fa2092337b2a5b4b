"""The progress line, on a real pseudo-terminal and on a pipe."""

from __future__ import annotations

import io
import os
import sys

import pytest

from graphdoctor.report.text.progress import Progress

#: What clears a line.
CLEAR = "\r\x1b[2K"


def _read(reader: int) -> str:
    """All that was written, when the other end is closed."""
    shown = b""
    try:
        while chunk := os.read(reader, 65536):
            shown += chunk
    except OSError:
        pass  # Linux says EIO when the other end is closed.
    os.close(reader)
    return shown.decode()


def test_nothing_when_not_a_terminal() -> None:
    stream = io.StringIO()
    with Progress(stream) as progress:
        progress("running")
    assert stream.getvalue() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_line_that_counts_seconds_and_is_cleared() -> None:
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as terminal, Progress(terminal, interval=0.05) as progress:
        progress("running Net\x1b[31m\nin eval mode " + "x" * 500)
        # It is drawn again while nothing is reported.
        shown = ""
        while shown.count(CLEAR) < 4:
            shown += os.read(reader, 65536).decode()
    drawn = (shown + _read(reader)).split(CLEAR)
    assert drawn[0] == ""
    assert drawn[1].startswith("graphdoctor: running Net\\x1b[31m in eval mode xxx")
    assert drawn[-1] == "", "the last thing written clears the line"
    assert max(map(len, drawn)) < 500, "a line that wraps could not be cleared"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_the_line_is_cleared_after_an_error() -> None:
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as terminal, pytest.raises(RuntimeError), Progress(terminal) as progress:
        progress("running")
        raise RuntimeError
    assert _read(reader).endswith(CLEAR)
