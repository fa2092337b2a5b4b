"""Patches as diff and git write them give what patch gives."""

from __future__ import annotations

import difflib
import random

import pytest

from graphdoctor.changes.patch import PatchError, parse

TEXT = "".join(f"line {number}\n" for number in range(40))


def diff(before: str, after: str, context: int = 3) -> str:
    made = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), "a/x.py", "b/x.py", n=context
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


@pytest.mark.parametrize("seed", range(40))
def test_random_changes(seed: int) -> None:
    chosen = random.Random(seed)
    lines = TEXT.splitlines(keepends=True)
    for _ in range(chosen.randint(1, 6)):
        at = chosen.randrange(len(lines))
        lines[at : at + chosen.randint(0, 3)] = [f"new {chosen.random()}\n" for _ in range(chosen.randint(0, 3))]
    after = "".join(lines)
    after = after.rstrip("\n") if chosen.random() < 0.3 else after
    if after != TEXT:
        for one, other in ((TEXT, after), (after, TEXT)):
            [found] = parse(diff(one, other, context=chosen.randint(0, 3)))
            assert found.apply(one) == other


def test_line_ends_of_the_file_stay() -> None:
    [found] = parse(diff(TEXT, TEXT.replace("line 7\n", "seven\n")))
    assert found.apply(TEXT.replace("\n", "\r\n")) == TEXT.replace("line 7\n", "seven\n").replace("\n", "\r\n")


def test_lines_that_moved_are_found_where_they_are_the_only_ones() -> None:
    [found] = parse(diff(TEXT, TEXT.replace("line 7\n", "seven\n")))
    assert found.apply("head\n" + TEXT) == "head\n" + TEXT.replace("line 7\n", "seven\n")
    with pytest.raises(PatchError, match=r"x\.py: the hunk at line 5 does not fit"):
        found.apply("head\n" + TEXT + TEXT)


def test_a_patch_of_git_with_its_heads() -> None:
    text = "diff --git a/x.py b/x.py\nindex 1..2 100644\n" + diff(TEXT, "first\n" + TEXT)
    [found] = parse("From: somebody\n\nwords\n" + text + "-- \n2.39\n")
    assert (found.path, found.apply(TEXT)) == ("x.py", "first\n" + TEXT)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no file"),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n", r"new\.py: the patch adds or removes"),
        ("--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n line 0\n", "ends inside a hunk"),
        ("--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n line 0\n?what\n", "none of a diff: .what"),
    ],
)
def test_what_is_no_patch(text: str, words: str) -> None:
    with pytest.raises(PatchError, match=words):
        parse(text)
