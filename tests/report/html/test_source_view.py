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


def test_a_change_stands_at_the_lines_of_its_finding_only(rich: Diagnosis) -> None:
    finding = rich.findings[0]
    assert finding.fix is not None
    assert source_view.changes_here(finding)
    (edit,) = finding.fix.edits
    elsewhere = replace(finding.fix, edits=(replace(edit, start=(1, 1), end=(1, 1)),))
    assert not source_view.changes_here(replace(finding, fix=elsewhere))


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
    diagnosis = _diagnosis(rich)
    (finding,) = diagnosis.findings
    assert finding.fix is not None and diagnosis.verification is not None
    edit = replace(finding.fix.edits[0], path="model.py", start=(7, 9), end=(7, 23))
    tried = replace(finding, fix=replace(finding.fix, edits=(edit,)))
    inside = replace(tried, fingerprint="inside")
    shown = source_view.files(replace(diagnosis, findings=(tried, inside)))
    assert [found.fingerprint for line in shown[0].lines for found in line.diffs] == [finding.fingerprint]


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
    assert [line.number for line in file.lines if line.diffs] == [9]
