"""Which texts are refused before libcst sees them."""

from __future__ import annotations

import pytest

from graphdoctor.source.errors import SourceError
from graphdoctor.syntax import parse_check
from graphdoctor.syntax.module import SourceModule


@pytest.mark.parametrize(
    "text",
    [
        "x" + ".a()" * 900,
        "x = (y" + "\n    .a()" * 900 + ")",
        " + ".join(["x"] * 1_900),
        "[" + "x,\n" * 20_000 + "]",
    ],
)
def test_what_passes_is_parsed(tmp_path, text):
    parse_check.check(text)
    assert len(SourceModule("a.py", tmp_path / "a.py", text, "utf-8").tree.body) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x" + ".a()" * 5_000,
        "x = (y" + "\n    .a()" * 5_000 + ")",
        " + ".join(["x"] * 9_000),
        "if a:\n    pass\n" + "elif b:\n    pass\n" * 9_000,
        "(" * 300 + ")" * 300,
    ],
)
def test_what_would_overflow_libcst_is_refused(text):
    with pytest.raises(SourceError, match="nest"):
        parse_check.check(text)
