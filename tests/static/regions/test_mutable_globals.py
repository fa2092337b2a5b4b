"""Names that functions bind anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.static.regions.mutable_globals import rebound_names
from graphdoctor.syntax.module import SourceModule


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n = 0\ndef f():\n    global n\n    n = 1\n", {"n"}),
        ("def f():\n    global n, m  # both\n    n += 1\n    m += 1\n", {"n", "m"}),
        ("def f(): global n; n = n + 1\n", {"n"}),
        ("def f():\n    x = 1; global n\n    n += x\n", {"n"}),
        ("def f():\n    global n, \\\n        m\n    n, m = m, n\n", {"n", "m"}),
        ("def f():\n    global \\\n        n\n    n += 1\n", {"n"}),
        ("def f():\n    global n\n    n = len(names)\n", set()),
        ("def f(value):\n    global n\n    n = value\n", {"n"}),
        ("def f():\n    global n\n    for i in range(3):\n        n = i\n", {"n"}),
        ("def f():\n    global n\n    n = 1\ndef g():\n    global n\n    n = 2\n", {"n"}),
        ('"""\nglobal attention looks everywhere.\n"""\nn = 1\n', set()),
        ("for n in range(3):\n    m = n\n", {"n", "m"}),
        ("n = 1\nn = 2\n", set()),
    ],
)
def test_rebound_names(text: str, names: set[str]) -> None:
    assert rebound_names(SourceModule("model.py", Path("model.py"), text, "utf-8")) == names
