from __future__ import annotations

import pytest

from graphdoctor.syntax.passed_over import may_be_passed_over


@pytest.mark.parametrize(
    "text",
    [
        "n = size or int(§lengths.max()§)",
        "ok = a and b and §c.any()§",
        "ok = 0 < n < §c.item()§",
        "y = §x.item()§ if c else 0",
        "y = 0 if c else §x.item()§",
        "key = lambda x: §x.item()§",
        "every = [§x.item()§ for x in xs]",
        "every = {k: §x.item()§ for k, x in xs}",
        "if c: print(§x§)",
        "for x in xs: print(§x§)",
        "def f(x): return §x.item()§",
        "é = a or §x.item()§",
    ],
)
def test_code_that_its_line_may_run_without(text: str) -> None:
    assert may_be_passed_over(*marked(text))


@pytest.mark.parametrize(
    "text",
    [
        "n = §lengths.max()§ or 3",
        "n = §size or int(lengths.max())§",
        "y = 0 if §c.any()§ else 1",
        "every = [x for x in §xs.tolist()§]",
        "if §c.any()§: pass",
        "if c:\n    print(§x§)",
        "with c: print(§x§)",
        "n = (§",
    ],
)
def test_code_that_runs_with_its_line(text: str) -> None:
    assert not may_be_passed_over(*marked(text))


def marked(text: str) -> tuple[str, tuple[int, int, int, int]]:
    """The text without the marks, and the span between them."""
    before, inside, after = (text + "§").split("§")[:3]
    line = before.count("\n") + 1
    column = len(before.rpartition("\n")[2]) + 1
    return before + inside + after, (line, column, line, column + len(inside))
