"""Lines as Python counts them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from graphdoctor.source.files import text_of
from graphdoctor.source.text import has_word, split_lines, words_at


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


def test_a_word_is_found_where_a_regular_expression_finds_it() -> None:
    text = "size, resize = x.size_, size2\nsize é.size ésize sizesize(size"
    for word in ("size", "x", "é", "size2", "none", "re"):
        places = [found.start() for found in re.finditer(rf"\b{word}\b", text)]
        assert list(words_at(word, text)) == places
        assert has_word(word, text) is bool(places)
