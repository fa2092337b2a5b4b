"""The terminal report."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from graphdoctor.model import Diagnosis, Fix, Location
from graphdoctor.report import text
from graphdoctor.report.visible import width


def test_first_line_is_the_headline_and_last_the_summary(rich: Diagnosis) -> None:
    lines = text.render(rich).splitlines()
    assert lines[0] == rich.summary.headline
    assert lines[-1] == "Found 3 errors and 2 warnings in 2 files. 1 automatic fix: --diff shows, --fix applies."


def test_a_finding_looks_like_a_compiler_error(rich: Diagnosis) -> None:
    block = text.render(rich).split("\n\n")[1]
    assert (
        block
        == """\
model.py:18:9: error GD101 [print-in-graph] print() breaks the graph
   |
18 |         print("input", x.shape)
   |         ^^^^^^^^^^^^^^^^^^^^^^^
   |
   = run: confirmed by the run (GB0059, 3 events)
   = why: Dynamo cannot put a write to stdout into a graph, so it ends the graph before the call.
   = help: Print only when the code is not being compiled.
   = fix: safe; compiles with the default settings. The call only writes to stdout.
       -        print("input", x.shape)
       +        if not torch.compiler.is_compiling():
       +            print("input", x.shape)"""
    )


def test_unsafe_fixes_are_counted_apart(rich: Diagnosis) -> None:
    finding = replace(rich.findings[0], fix=Fix("unsafe", "reason"))
    last = text.render(replace(rich, findings=(finding,))).splitlines()[-1]
    assert last.endswith("1 automatic fix (1 only with --unsafe-fixes): --diff shows, --fix applies.")


def test_a_diff_shows_only_what_changes(rich: Diagnosis) -> None:
    diff = "--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,3 @@\n+import torch\n x = 1\n@@ -9,3 +10,2 @@\n y = 2\n--- z\n-w\n"
    finding = replace(rich.findings[0], fix=Fix("safe", "reason", diff=diff))
    block = text.render(replace(rich, findings=(finding,))).split("\n\n")[1]
    assert [line.strip() for line in block.splitlines()[-4:]] == ["+import torch", "...", "--- z", "-w"]


def test_prose_is_wrapped(rich: Diagnosis) -> None:
    finding = replace(rich.findings[0], why="a few words " * 40)
    shown = text.render(replace(rich, findings=(finding,)))
    assert max(map(len, shown.splitlines())) <= text.COLUMNS


def test_refuted_findings_take_one_line(rich: Diagnosis) -> None:
    shown = text.render(rich)
    assert shown.count("tensor-to-python") == 1
    assert "  model.py:25:13: GD120 [tensor-to-python] .item() moves tensor data to Python" in shown


def test_the_run_the_verification_the_broken_file_and_the_notes(rich: Diagnosis) -> None:
    shown = " ".join(text.render(rich).split())
    assert " bad.py: syntax error in line 3: invalid syntax" in shown
    assert "Net, eval mode, on cpu: 4 graphs, 3 graph breaks (2 in your code), 83 % compiled" in shown
    assert "fullgraph=True fails at model.py:21: Data-dependent branching" in shown
    assert "explain disagrees: explain counts 2 breaks, the trace has 3" in shown
    assert "Recompiles: model.py:17: dimension 0 of x changed from 4 to 5 8 compilations, 2 with the remedy" in shown
    assert "Net, train mode, on cpu: stopped at the time limit: stopped after 120 s" in shown
    assert "with 1 fix applied to a copy: 1 graph, 0 graph breaks, fullgraph=True passes" in shown
    assert "note: CPU run: CUDA graphs were not checked" in shown


def test_a_clean_scan_is_two_lines(clean: Diagnosis) -> None:
    assert text.render(clean) == "No graph breaks found in the source\n\nNo errors or warnings in 1 file.\n"


def test_an_unreadable_file_is_not_called_clean(clean: Diagnosis) -> None:
    shown = text.render(replace(clean, summary=replace(clean.summary, failed=1)))
    assert shown.endswith("Nothing was checked: 1 file could not be read.\n")


def test_carets_stand_under_wide_characters(rich: Diagnosis) -> None:
    source = 's = "漢字"; print(s)'
    finding = replace(
        rich.findings[0], snippet=(source,), snippet_start=7, location=Location("a.py", 7, 11, 7, 19), fix=None
    )
    lines = text.render(replace(rich, findings=(finding,))).splitlines()
    code, carets = lines[4].removeprefix("7 | "), lines[5].removeprefix("  | ")
    assert carets.strip() == "^" * len("print(s)")
    assert carets.index("^") == width(code[: code.index("print")]) == 12


def test_colour_only_when_asked(rich: Diagnosis) -> None:
    plain, coloured = text.render(rich), text.render(rich, color=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


@pytest.mark.parametrize("color", [False, True])
def test_hostile_text_cannot_steer_the_terminal(hostile: Diagnosis, color: bool) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text.render(hostile, color)) if color else text.render(hostile)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", shown)
    assert "\\x1b[31mred\\x1b[0m \\x00 \\x07 \\u202eltr" in shown
    assert max(map(len, shown.splitlines())) < 5_000


def test_hostile_colours_are_not_passed_on(hostile: Diagnosis) -> None:
    # 31 is also one of the report's own colours, so look at the text around it.
    assert "\x1b[31mred" not in text.render(hostile, color=True)


def test_many_findings_are_all_there(many: Callable[[int], Diagnosis]) -> None:
    shown = text.render(many(500))
    assert all(f"model.py:{100 + number}:" in shown for number in range(500))
