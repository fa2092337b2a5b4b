"""Lines as Python counts them."""

from __future__ import annotations

import ast
from pathlib import Path

from graphdoctor.source.files import text_of
from graphdoctor.source.text import split_lines


def test_only_python_line_ends_count() -> None:
    text = "a = 1\r\nb = '\u2028'\n\x0c\nc = 3"
    lines = split_lines(text)
    assert lines == ["a = 1", "b = '\u2028'", "\x0c", "c = 3"]
    assert [lines[node.lineno - 1][0] for node in ast.parse(text).body] == ["a", "b", "c"]
    assert split_lines("a\n") == ["a", ""]


def test_text_of_unreadable_files_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_bytes(b"x = '\xff'\n")
    assert text_of(file) == "" and text_of(tmp_path / "nowhere.py") == ""
    file.write_text("x = 1\n")
    assert text_of(file) == "x = 1\n"
