"""The source with the state of each line."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import Frame
from graphdoctor.report.html import source_view

SOURCE = '''\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        """Not a statement that runs."""
        print(x.shape)
        if x.shape[0] > 4:
            x = x[:4]
        return x * 2

    def unused(self):
        return 1
'''


def _diagnosis(rich: Diagnosis, whole_frame: bool = False) -> Diagnosis:
    assert rich.dynamic is not None
    place = replace(rich.findings[0].location, line=7, end_line=7)
    dropped = (Frame("model.py", 7, "Net.forward"),) if whole_frame else ()
    stack = (Frame("model.py", 7, "Net.forward"),)
    broken = replace(rich.dynamic[0].breaks[0], line=7, whole_frame=whole_frame, dropped=dropped, stack=stack)
    run = replace(rich.dynamic[0], breaks=(broken,), executed={"model.py": frozenset({7, 8, 10})})
    finding = replace(rich.findings[0], location=place)
    return replace(rich, findings=(finding,), dynamic=(run,), texts={"model.py": SOURCE})


def test_lines_are_compiled_in_eager_or_not_reached(rich: Diagnosis) -> None:
    (file,) = source_view.files(_diagnosis(rich))
    states = {line.number: line.state for line in file.lines if line.state}
    assert states == {7: "eager", 8: "compiled", 9: "missed", 10: "compiled"}
    assert file.counts == {"eager": 1, "compiled": 2, "missed": 1}
    assert [line.number for line in file.lines if line.findings] == [7]
    # What is far from them is left out.
    assert file.lines[0].number == 0


def test_a_function_that_was_dropped_runs_in_eager(rich: Diagnosis) -> None:
    (file,) = source_view.files(_diagnosis(rich, whole_frame=True))
    assert {line.number: line.state for line in file.lines if line.state == "eager"} == dict.fromkeys(
        (7, 8, 10), "eager"
    )


def test_a_line_that_calls_what_breaks_is_compiled_in_part_unless_its_function_was_dropped(rich: Diagnosis) -> None:
    source = (
        SOURCE
        + """
    def outer(self, x):
        x = self.forward(x)
        for _ in range(2):
            x = self.forward(x)
        return x
"""
    )
    shown = _diagnosis(rich, whole_frame=True)
    assert shown.dynamic is not None
    (broken,) = shown.dynamic[0].breaks
    called = Frame("model.py", 7, "Net.forward")
    for line, dropped, states in ((16, (called,), {"compiled", "partly"}), (18, None, {"eager"})):
        caller = Frame("model.py", line, "Net.outer")
        entry = replace(broken, stack=(caller, called), dropped=dropped or (caller, called))
        run = replace(shown.dynamic[0], breaks=(entry,), executed={"model.py": frozenset({7, 16, 17, 18, 19})})
        (file,) = source_view.files(replace(shown, dynamic=(run,), texts={"model.py": source}))
        assert {line.state for line in file.lines if line.number > 15} == states


def test_a_library_that_breaks_is_compiled_in_part(rich: Diagnosis) -> None:
    shown = _diagnosis(rich)
    assert shown.dynamic is not None
    (broken,) = shown.dynamic[0].breaks
    inside = replace(broken, owner="third-party", stack=(*broken.stack, Frame("library.py", 90, "f")))
    (file,) = source_view.files(replace(shown, dynamic=(replace(shown.dynamic[0], breaks=(inside,)),)))
    assert [line.number for line in file.lines if line.state == "partly"] == [7]


def _with_diff(diagnosis: Diagnosis, diff: str) -> Diagnosis:
    (finding,) = diagnosis.findings
    assert finding.fix is not None
    return replace(diagnosis, findings=(replace(finding, fix=replace(finding.fix, diff=diff)),))


def test_a_change_stands_where_it_is_written_with_the_line_that_it_is_for(rich: Diagnosis) -> None:
    diff = """--- a/model.py
+++ b/model.py
@@ -1,2 +1,4 @@
 import torch
+import math
 
@@ -3,0 +5,1 @@
+SCALE = math.sqrt(2)
@@ -10,1 +11,1 @@
-        return x * 2
+        return x * SCALE
"""
    (file,) = source_view.files(_with_diff(_diagnosis(rich), diff))
    shown = {line.number: line.changes for line in file.lines if line.changes}
    assert {number: [change.added for change in found] for number, found in shown.items()} == {
        1: [("import math",)],
        3: [("SCALE = math.sqrt(2)",)],
        10: [("        return x * SCALE",)],
    }
    # The finding is in line 7.
    assert {number: change.away for number, (change,) in shown.items()} == {1: True, 3: True, 10: False}
    assert [line.number for line in file.lines if line.replaced] == [10]


def test_what_several_fixes_import_is_shown_once(rich: Diagnosis) -> None:
    diff = "--- a/model.py\n+++ b/model.py\n@@ -1,1 +1,2 @@\n import torch\n+import math\n"
    diagnosis = _with_diff(_diagnosis(rich), diff)
    (finding,) = diagnosis.findings
    (file,) = source_view.files(replace(diagnosis, findings=(finding, finding)))
    assert [len(line.changes) for line in file.lines if line.changes] == [1]


def test_without_a_run_or_with_broken_source_there_is_none(rich: Diagnosis) -> None:
    shown = _diagnosis(rich)
    assert source_view.files(replace(shown, dynamic=None)) == ()
    assert source_view.files(replace(shown, texts={"model.py": "def f(:\n"})) == ()


def test_lines_that_a_change_takes_away_are_marked(rich: Diagnosis) -> None:
    diagnosis = _diagnosis(rich)
    finding = diagnosis.findings[0]
    assert finding.fix is not None
    diff = """--- model.py
+++ model.py
@@ -6,4 +6,5 @@
         \"\"\"Not a statement that runs.\"\"\"
-        print(x.shape)
+        if not torch.compiler.is_compiling():
+            print(x.shape)
         if x.shape[0] > 4:
             x = x[:4]
--- other.py
+++ other.py
@@ -8,1 +8,0 @@
-import os
"""
    edit = replace(finding.fix.edits[0], path="model.py", start=(7, 9), end=(7, 23))
    changed = replace(finding, fix=replace(finding.fix, diff=diff, edits=(edit,)))
    (file,) = source_view.files(replace(diagnosis, findings=(changed,)))
    assert [line.number for line in file.lines if line.replaced] == [7]


def test_a_change_that_was_not_tried_with_the_others_is_not_drawn(rich: Diagnosis) -> None:
    diagnosis = _with_diff(_diagnosis(rich), "--- model.py\n+++ model.py\n@@ -7,1 +7,0 @@\n-        print(x.shape)\n")
    (finding,) = diagnosis.findings
    assert finding.fix is not None and diagnosis.verification is not None
    other = "--- model.py\n+++ model.py\n@@ -10,1 +10,1 @@\n-        return x * 2\n+        return x\n"
    untried = replace(finding, fingerprint="untried", fix=replace(finding.fix, diff=other))
    (file,) = source_view.files(replace(diagnosis, findings=(finding, untried)))
    assert [change.finding.fingerprint for line in file.lines for change in line.changes] == [finding.fingerprint]


def test_a_change_of_several_lines_comes_after_the_last_of_them(rich: Diagnosis) -> None:
    diagnosis = _diagnosis(rich)
    (finding,) = diagnosis.findings
    assert finding.fix is not None
    diff = """--- model.py
+++ model.py
@@ -7,4 +7,2 @@
-        print(x.shape)
-        if x.shape[0] > 4:
-            x = x[:4]
+        x = x[:4]
         return x * 2
"""
    edit = replace(finding.fix.edits[0], path="model.py", start=(7, 9), end=(9, 22))
    changed = replace(finding, fix=replace(finding.fix, diff=diff, edits=(edit,)))
    (file,) = source_view.files(replace(diagnosis, findings=(changed,)))
    assert [line.number for line in file.lines if line.findings] == [7]
    assert [line.number for line in file.lines if line.changes] == [9]
