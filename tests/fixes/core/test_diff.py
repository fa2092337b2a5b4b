"""Diffs of whole files, made of the part that differs."""

from __future__ import annotations

import random
import re

import pytest

from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.core.diff import edits_between, of_edits, unified
from graphdoctor.model.findings import Edit


def patched(before: list[str], diff: str) -> list[str]:
    """What ``patch`` makes of ``before``; fails where the diff does not fit."""
    made: list[str] = []
    done = 0
    for line in diff.splitlines()[2:]:
        head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if head is not None:
            start = int(head[1]) - (head[2] != "0")
            made += before[done:start]
            done = start
            assert int(head[3]) - (head[4] != "0") == len(made)
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert before[done] == line[1:]
            made += [line[1:]] if line.startswith(" ") else []
            done += 1
    return made + before[done:]


@pytest.mark.parametrize("seed", range(40))
def test_a_diff_leads_from_one_text_to_the_other(seed: int) -> None:
    draw = random.Random(seed)
    before = [f"line {draw.randrange(6)}" for _ in range(draw.randrange(40))]
    after = list(before)
    for number in range(draw.randrange(1, 4)):
        place = draw.randrange(len(after) + 1)
        after[place : place + draw.randrange(3)] = [f"new {number}"] * draw.randrange(3)
    diff = unified("m.py", *("".join(f"{line}\n" for line in lines) for lines in (before, after)))
    assert patched(before, diff) == after
    assert bool(diff) == (before != after)


def test_three_lines_around_a_change_are_shown() -> None:
    before = [f"line {number}" for number in range(1000)]
    after = [*before[:500], "new", *before[501:]]
    diff = unified("m.py", *("".join(f"{line}\n" for line in lines) for lines in (before, after)))
    assert diff.splitlines() == [
        "--- a/m.py", "+++ b/m.py", "@@ -498,7 +498,7 @@", " line 497", " line 498", " line 499", "-line 500", "+new",
        " line 501", " line 502", " line 503",
    ]  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("seed", range(20))
def test_edits_near_and_far_give_the_diff_of_the_whole_texts(seed: int, newline: str) -> None:
    draw = random.Random(seed)
    text = newline.join(f"line {number}" for number in range(100)) + newline * draw.randrange(2)
    edits = []
    for start in sorted(draw.sample(range(1, 100, 3), 4)):
        end = draw.choice([(start, 1), (start, 5), (start + 1, 1), (start + 2, 3)])
        edits.append(Edit("m.py", (start, 1), end, draw.choice(["", "new", f"a{newline}b{newline}"])))
    assert of_edits("m.py", text, edits) == unified("m.py", text, apply(text, edits)) != ""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("seed", range(20))
def test_the_edits_between_two_texts_make_the_second_of_the_first(seed: int, newline: str) -> None:
    draw = random.Random(seed)

    def text() -> str:
        lines = [draw.choice(["a", "b", "c", ""]) for _ in range(draw.randrange(8))]
        return newline.join(lines) + newline * draw.randrange(2)

    before, after = text(), text()
    edits = edits_between("m.py", before, after)
    assert apply(before, edits) == after
    assert bool(edits) == (before != after)


def test_no_edits_make_no_diff() -> None:
    assert of_edits("m.py", "a\n", ()) == ""
