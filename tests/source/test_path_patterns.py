"""Path patterns of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.source.path_patterns import PathPattern

BASE = Path("/home/me/project")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("gen", "gen/g.py", True),
        ("gen", "src/gen/g.py", True),
        ("gen/", "src/gen/g.py", True),
        ("g.py", "src/gen/g.py", True),
        ("gen", "generated/g.py", False),
        ("./src", "src/a/b.py", True),
        ("src/*", "src/a/b.py", True),
        ("src/*.py", "src/a/b.py", True),
        ("a/*.py", "src/a/b.py", False),
        ("**/a/*.py", "src/a/b.py", True),
        ("**/a/*.py", "a/b.py", True),
        ("src/**/b.py", "src/b.py", True),
        ("/home/me/project/src", "src/b.py", True),
        ("project", "src/b.py", False),
    ],
)
def test_matches(pattern: str, path: str, expected: bool) -> None:
    assert PathPattern(pattern, BASE).matches(BASE / path) is expected


def test_outside_its_base_only_names_match() -> None:
    elsewhere = Path("/srv/gen/g.py")
    assert PathPattern("g.py", BASE).matches(elsewhere)
    assert not PathPattern("gen/g.py", BASE).matches(elsewhere)
