"""The terminal report."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graphdoctor.breaks.recompiles.guards import remove_break
from graphdoctor.model.consequence import PASSES
from graphdoctor.model.findings import Diagnosis, Finding, Fix, Location, ScannedFile
from graphdoctor.model.labels import BREAKS_NEXT
from graphdoctor.model.runs import Sweep
from graphdoctor.report.escaping import width
from graphdoctor.report.text import terminal
from graphdoctor.report.text.look import COLUMNS, Look

VERBOSE = Look(verbose=True)


def test_first_line_is_the_headline_and_last_the_summary(rich: Diagnosis) -> None:
    lines = terminal.render(rich).splitlines()
    assert lines[0] == rich.summary.headline
    assert (
        lines[-1]
        == "Found 3 errors, 1 warning and 1 note in 1 of 2 files. 1 automatic fix: --diff shows, --fix applies."
    )


def test_a_finding_looks_like_a_compiler_error(rich: Diagnosis) -> None:
    block = terminal.render(rich).split("\n\n")[1]
    assert (
        block
        == """\
model.py:18:9: error GD101 [print-in-graph] print() breaks the graph
18 |         print("input", x.shape)
   |         ^^^^^^^^^^^^^^^^^^^^^^^
   = why: Dynamo cannot put a write to stdout into a graph, so it ends the graph before the call.
   = safe fix: The call only writes to stdout."""
    )


def test_verbose_shows_all_that_is_known_of_a_finding(rich: Diagnosis) -> None:
    block = terminal.render(rich, VERBOSE).split("\n\n")[1]
    assert (
        block.partition("^\n")[2]
        == """\
   = run: predicted, and seen in the run (GB0059)
   = why: Dynamo cannot put a write to stdout into a graph, so it ends the graph before the call.
   = fix: safe; its line compiles with the default settings. The call only writes to stdout.
       -        print("input", x.shape)
       +        if not torch.compiler.is_compiling():
       +            print("input", x.shape)"""
    )


@pytest.mark.parametrize(
    ("text", "said"), [("", "A fix was tried."), ("torch._dynamo.config.allow_rnn = True", "The setting was tried.")]
)
def test_a_fix_that_was_tried_in_vain_is_said_beside_the_help(rich: Diagnosis, text: str, said: str) -> None:
    first, *others = rich.findings
    assert first.fix is not None
    edits = tuple(replace(edit, text=text) for edit in first.fix.edits)
    in_vain = replace(first.fix, edits=edits, grade="none", detail="Dropped: it does not help.")
    shown = terminal.render(replace(rich, findings=(replace(first, fix=in_vain), *others)))
    block = shown.split("\n\n")[1]
    assert block.splitlines()[-1] == f"   = fix: {said} Dropped: it does not help."
    assert f"= help: {first.suggestion}"[:40] in block


def test_what_a_rule_says_of_all_findings_is_said_once(rich: Diagnosis) -> None:
    first = rich.findings[0]
    other = replace(first, fix=None, why="Another reason. And more.")
    elsewhere = [replace(first, function=f"Net.f{number}") for number in range(2)]
    shown = terminal.render(replace(rich, findings=(first, elsewhere[0], replace(elsewhere[1], fix=None), other)))
    assert shown.count("= why: Dynamo cannot put") == shown.count("= safe fix: The call only") == 1
    assert shown.count("= safe fix: as for GD101 above") == 1
    assert "= why: Another reason.\n" in shown


def test_carets_only_where_the_message_does_not_quote_the_code(rich: Diagnosis) -> None:
    def carets(message: str) -> bool:
        return "^" in terminal.render(replace(rich, findings=(replace(rich.findings[0], fact=message),)))

    assert not carets('`print("input", x.shape)` breaks the graph')
    assert not carets('`print("input", ...` breaks the graph')
    assert carets("`print(x)` breaks the graph")


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(rich: Diagnosis, columns: int) -> None:
    long = replace(
        rich.findings[0], fact="many words " * 30, why="many words " * 30, snippet=("x = " + "y " * 200,) * 4
    )
    shown = terminal.render(replace(rich, findings=(long, *rich.findings)), Look(columns=columns))
    assert columns - 12 < max(map(width, shown.splitlines())) <= columns


def test_unsafe_fixes_are_counted_apart_and_the_commands_write_them(rich: Diagnosis) -> None:
    finding = replace(rich.findings[0], fix=Fix("unsafe", "reason"))
    last = terminal.render(replace(rich, findings=(finding,))).splitlines()[-1]
    assert last.endswith(": --diff --unsafe-fixes shows, --fix --unsafe-fixes applies.")
    # Other commands have not these options; what they are told is complete where there is one file.
    ran = replace(rich, findings=(finding,), command="graphdoctor run train.py", verification=None)
    path = finding.location.path
    proves = "--fix proves them and writes those that stand.\n"
    assert terminal.render(ran).endswith("1 automatic fix: --fix proves it, and writes it if it stands.\n")
    both = replace(ran, findings=(finding, replace(finding, fix=Fix("safe", "reason"))))
    assert terminal.render(both).endswith(f"2 automatic fixes (1 safe): {proves}")
    # What is safe needs no run to be written.
    safe = replace(both, findings=both.findings[1:])
    assert terminal.render(safe).endswith(f"1 automatic fix: --verify proves, `graphdoctor fix {path}` writes.\n")
    # What a run verified is written with the call that it was verified on.
    tried = replace(finding, fix=Fix("unsafe", "reason", grade="general", verified=True))
    proved = replace(
        ran,
        findings=(tried,),
        command="graphdoctor run --html r.html --verify t.py --verify --html=x",
        verification=rich.verification,
    )
    assert terminal.render(proved).endswith("1 automatic fix: `graphdoctor run --fix t.py --verify --html=x` writes.\n")
    saved = replace(proved, command="graphdoctor run --verify --save-sample s.py t.py")
    assert terminal.render(saved).endswith("1 automatic fix: `graphdoctor fix s.py` writes.\n")
    elsewhere = replace(finding, location=replace(finding.location, path="other.py"))
    trace = replace(ran, findings=(finding, elsewhere), command="graphdoctor trace folder")
    assert terminal.render(trace).endswith(
        "(2 only with --unsafe-fixes): `graphdoctor fix --unsafe-fixes FILE` writes.\n"
    )


def test_the_command_names_the_file_from_the_folder_in_which_it_is_typed(
    rich: Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trainer").mkdir()
    monkeypatch.chdir(tmp_path / "trainer")
    ran = replace(rich, command="graphdoctor run train.py", verification=None, root=str(tmp_path))
    assert terminal.render(ran).endswith(" ../model.py` writes.\n")


def test_the_command_reads_the_callers_of_the_code_that_it_changes(rich: Diagnosis) -> None:
    """What is wrong in a helper is found where a model that calls it is read."""
    finding = replace(rich.findings[0], location=replace(rich.findings[0].location, path="ops.py"))
    files = tuple(ScannedFile(name, 9, "scanned") for name in ("net.py", "ops.py"))
    ran = replace(
        rich, findings=(finding,), files=files, command="graphdoctor run t.py", root=os.getcwd(), verification=None
    )
    assert terminal.render(ran).endswith(" net.py ops.py` writes.\n")
    many = tuple(ScannedFile(f"part_{number}.py", 9, "scanned") for number in range(9))
    assert terminal.render(replace(ran, files=(*files, *many))).endswith("`graphdoctor run --fix t.py` writes.\n")


def test_a_diff_shows_only_what_changes(rich: Diagnosis) -> None:
    diff = "--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,3 @@\n+import torch\n x = 1\n@@ -9,3 +10,2 @@\n y = 2\n--- z\n-w\n"
    finding = replace(rich.findings[0], fix=Fix("safe", "reason", diff=diff))
    block = terminal.render(replace(rich, findings=(finding,)), VERBOSE).split("\n\n")[1]
    assert [line.strip() for line in block.splitlines()[-4:]] == ["+import torch", "...", "--- z", "-w"]


def test_prose_is_wrapped(rich: Diagnosis) -> None:
    finding = replace(rich.findings[0], why="a few words " * 40)
    shown = terminal.render(replace(rich, findings=(finding,)))
    assert max(map(len, shown.splitlines())) <= COLUMNS


def test_a_long_path_stays_in_one_piece(rich: Diagnosis) -> None:
    finding = rich.findings[0]
    path = f"package/{'part_' * COLUMNS}model.py"
    long = replace(finding, location=replace(finding.location, path=path))
    assert f"\n{path}:{finding.location.line}:" in terminal.render(replace(rich, findings=(long,)))


def test_refuted_findings_are_counted_and_verbose_lists_them(rich: Diagnosis) -> None:
    line = "  model.py:25:13: note GD120 [tensor-to-python] .item() moves tensor data to Python"
    shown = replace(
        rich, findings=tuple(replace(f, severity="info") if f.status == "refuted" else f for f in rich.findings)
    )
    assert "1 suspected break of the static analysis is not listed" in terminal.render(shown)
    assert line not in terminal.render(shown)
    assert line in terminal.render(shown, VERBOSE)
    assert "is not listed" not in terminal.render(shown, VERBOSE)


def test_what_passed_with_the_fixes_is_told_apart_from_what_the_run_refuted(rich: Diagnosis) -> None:
    refuted = next(f for f in rich.findings if f.status == "refuted")
    passed = replace(refuted, consequence=PASSES, severity="info")

    def said(*findings: Finding) -> str:
        return " ".join(terminal.render(replace(rich, findings=findings)).split())

    assert "is not listed: the line ran and nothing broke (--verbose" in said(refuted)
    assert "is not listed: with the fixes applied, the line ran and nothing broke (--verbose" in said(passed)
    mixed = "are not listed: the lines ran and nothing broke, 1 of them with the fixes applied (--verbose lists them)."
    assert mixed in said(refuted, passed)


def test_the_run_the_verification_the_broken_file_and_the_notes(rich: Diagnosis) -> None:
    shown = " ".join(terminal.render(rich).split())
    assert " bad.py: syntax error in line 3: invalid syntax" in shown
    assert "Net, eval mode, on cpu: 4 graphs, 3 graph breaks (2 in your code), 83 % of the operators compiled" in shown
    recompiled = "model.py:17: recompiles: dimension 0 of x changed from 4 to 5 8 compilations, 2 with "
    assert f"{recompiled}torch._dynamo.mark_dynamic(x, 0) (measured)" in shown
    assert "Net, train mode, on cpu: stopped at the time limit: stopped after 120 s" in shown
    assert "Verified: with 1 fix applied to a copy: 1 graph, 0 graph breaks, fullgraph=True passes" in shown
    assert "note: CPU run: CUDA graphs were not checked" in shown


def test_the_same_advice_for_several_recompiles_is_said_once(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    first = replace(run.recompiles[0], remedy="pad to a few sizes", verified_compilations=None)
    second, other = replace(first, line=18), replace(first, line=19, remedy="pass a tensor")
    text = terminal.render(replace(rich, dynamic=(replace(run, recompiles=(first, second, other)),)))
    shown = " ".join(text.split())
    assert shown.count("help: pad to a few sizes") == 1
    assert "help: as for model.py:17 " in shown and "help: pass a tensor" in shown
    # A place with several causes does not say which of them is meant.
    beside = replace(other, line=first.line)
    text = terminal.render(replace(rich, dynamic=(replace(run, recompiles=(first, second, beside)),)))
    assert " ".join(text.split()).count("help: pad to a few sizes") == 2


def test_many_recompiles_of_one_graph_break_are_counted(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    first = replace(run.recompiles[0], line=30, remedy=remove_break("model.py:9"), verified_compilations=None)
    several = tuple(replace(first, line=line, guard=f"{first.guard} {line}") for line in (31, 32, 33))
    other = replace(first, line=19, remedy="pass a tensor")
    diagnosis = replace(rich, dynamic=(replace(run, recompiles=(first, *several[:2], other)),))
    shown = " ".join(terminal.render(diagnosis).split())
    assert shown.count("help: as for model.py:30 ") == 2 and "more causes" not in shown
    diagnosis = replace(rich, dynamic=(replace(run, recompiles=(first, *several, other)),))
    shown = " ".join(terminal.render(diagnosis).split())
    more = "3 more causes that end with this graph break, at model.py:31, model.py:32, "
    assert f"{more}model.py:33; --verbose lists them" in shown
    assert "model.py:31: recompiles" not in shown and "help: pass a tensor" in shown
    assert "model.py:31: recompiles" in terminal.render(diagnosis, VERBOSE)


def test_what_the_tool_says_of_itself_is_verbose(rich: Diagnosis) -> None:
    shown = " ".join(terminal.render(rich, VERBOSE).split())
    for line in (
        "explain disagrees: explain counts 2 breaks, the trace has 3",
        "compiled outputs against eager: equal",
    ):
        assert line in shown
        assert line not in " ".join(terminal.render(rich).split())


def test_where_fullgraph_fails_is_said_unless_a_finding_says_it(rich: Diagnosis) -> None:
    fails = "fullgraph=True fails at model.py:21: Data-dependent branching"
    assert fails not in terminal.render(rich)
    assert fails in terminal.render(replace(rich, findings=rich.findings[:1]))
    assert fails in terminal.render(rich, VERBOSE)


def test_runs_that_say_the_same_share_a_line(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    shown = terminal.render(replace(rich, dynamic=(run, replace(run, mode="train"))))
    assert "Net, eval and train mode, on cpu: 4 graphs" in shown
    assert shown.count("4 graphs") == 1


def test_the_last_line_counts_what_the_list_shows(many: Callable[[int], Diagnosis]) -> None:
    shown = terminal.render(many(60))
    listed = {kind: shown.count(f": {kind} GD") for kind in ("error", "warning", "note")}
    assert shown.splitlines()[-1].startswith(
        f"Found {listed['error']} errors, {listed['warning']} warnings and {listed['note']} notes in 1 of 2 files."
    )


def test_errors_that_the_run_did_not_reach_do_not_contradict_ready(rich: Diagnosis) -> None:
    errors = tuple(replace(f, status="not-reached") for f in rich.findings if f.severity == "error")
    ready = replace(rich, summary=replace(rich.summary, verdict="ready"), findings=errors)
    last = terminal.render(ready).splitlines()[-1]
    assert "errors are in code that the run did not reach, and what ran is ready." in last
    partly = replace(ready, findings=(*errors[1:], replace(errors[0], status="static-only")))
    assert f"{len(errors) - 1} of the errors" in terminal.render(partly).splitlines()[-1]
    assert "did not reach" not in terminal.render(replace(ready, summary=rich.summary)).splitlines()[-1]


def test_a_clean_scan_is_two_lines(clean: Diagnosis) -> None:
    assert terminal.render(clean) == "No graph breaks found in the source\n\nNo findings in 1 file.\n"


def test_an_unreadable_file_is_not_called_clean(clean: Diagnosis) -> None:
    shown = terminal.render(replace(clean, summary=replace(clean.summary, failed=1)))
    assert shown.endswith("Nothing was checked: 1 file could not be read.\n")


def test_carets_stand_under_wide_characters(rich: Diagnosis) -> None:
    source = 's = "漢字"; print(s)'
    finding = replace(
        rich.findings[0], snippet=(source,), snippet_start=7, location=Location("a.py", 7, 11, 7, 19), fix=None
    )
    lines = terminal.render(replace(rich, findings=(finding,))).splitlines()
    code, carets = lines[3].removeprefix("7 | "), lines[4].removeprefix("  | ")
    assert carets.strip() == "^" * len("print(s)")
    assert carets.index("^") == width(code[: code.index("print")]) == 12


def test_colour_only_when_asked(rich: Diagnosis) -> None:
    plain, coloured = terminal.render(rich), terminal.render(rich, Look(color=True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


@pytest.mark.parametrize("color", [False, True])
def test_hostile_text_cannot_steer_the_terminal(hostile: Diagnosis, color: bool) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.render(hostile, Look(color))) if color else terminal.render(hostile)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", shown)
    assert "\\x1b[31mred\\x1b[0m \\x00 \\x07 \\u202eltr" in shown
    assert max(map(len, shown.splitlines())) < 5_000


def test_hostile_colours_are_not_passed_on(hostile: Diagnosis) -> None:
    # 31 is also one of the report's own colours, so look at the text around it.
    assert "\x1b[31mred" not in terminal.render(hostile, Look(color=True))


def test_many_findings_are_all_there(many: Callable[[int], Diagnosis]) -> None:
    shown = terminal.render(many(500), VERBOSE)
    assert all(f"model.py:{100 + number}:" in shown for number in range(500))


def test_fixes_without_effect_and_findings_that_the_run_does_not_judge_are_called_that(rich: Diagnosis) -> None:
    assert rich.verification is not None
    same = replace(rich.verification, breaks=rich.summary.breaks or 0, grade="none", fullgraph_passes=False)
    statuses = ("not-reached", "static-only")
    found = tuple(replace(rich.findings[0], status=status) for status in statuses)
    shown = " ".join(terminal.render(replace(rich, findings=found, verification=same)).split())
    assert "Tried, without effect: with 1 fix applied to a copy" in shown and "Verified" not in shown
    # A fix that removes its break is not without effect where the one behind it counts in its place.
    others = replace(same, detail=f"{BREAKS_NEXT}`x.item()`.")
    hid = " ".join(terminal.render(replace(rich, findings=found, verification=others)).split())
    assert "Tried, and other breaks come next: with 1 fix applied to a copy" in hid and "without effect:" not in hid
    # What may change behaviour is tried, and not verified.
    assert rich.findings[0].fix is not None
    unsafe = replace(rich.findings[0], fix=replace(rich.findings[0].fix, safety="unsafe"))
    assert "\nTried: with 1 fix" in terminal.render(replace(rich, findings=(unsafe,)))
    assert "(compiled code did not come here)" in shown and "(not checked by a run)" in shown
    # A scan without a run says so in its first line.
    assert "in the run)" not in terminal.render(replace(rich, findings=found[1:], dynamic=None))


def test_sizes_that_were_asked_for_and_that_eager_refuses_are_named(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    asked = Sweep(
        "x:1=8,9", False, 1, 1, "expected without the suggested fix: once; size 9 raises RuntimeError in eager"
    )
    for entry, named in ((asked, True), (replace(asked, automatic=True), False), (replace(asked, detail=""), False)):
        shown = terminal.render(replace(rich, dynamic=(replace(rich.dynamic[0], sweeps=(entry,)),)))
        assert ("  varied: x:1=8,9; size 9 raises RuntimeError in eager\n" in shown) is named
