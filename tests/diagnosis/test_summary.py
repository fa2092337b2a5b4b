"""Verdict, headline and numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.diagnosis.recompile_causes import recompile_causes
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.model.audit import Audit, Audited, Deviation
from graphdoctor.model.findings import Edit, Fix, ScannedFile
from graphdoctor.model.runs import Break, FullGraph, Ladder, Numerics, Recompile, Stage, Sweep, Training

FILES = (ScannedFile("m.py", 9, "scanned"), ScannedFile("n.py", 0, "failed", "syntax error in line 1"))


def test_static_only(build: Any) -> None:
    fix = Fix("safe", "r", (Edit("m.py", (1, 1), (1, 1), ""),))
    findings = [build.finding(fix=fix), build.finding(severity="warning", fix=Fix("manual", "r"))]
    summary = summarise(FILES, findings, None)
    assert (summary.verdict, summary.errors, summary.warnings, summary.fixable) == ("static-only", 1, 1, 1)
    assert (summary.files, summary.failed, summary.breaks, summary.graphs) == (2, 1, None, None)
    assert summary.headline == "1 predicted graph break and 1 warning found (static analysis), 1 file could not be read"


def test_errors_that_are_no_graph_breaks_are_not_called_so(build: Any) -> None:
    usage = build.finding(gb_ids=())
    assert summarise(FILES[:1], [usage], None).headline == "1 error found (static analysis)"
    assert summarise(FILES[:1], [usage, build.finding(), usage], None).headline == (
        "1 predicted graph break and 2 other errors found (static analysis)"
    )
    assert summarise(FILES[:1], [], None).headline == "No graph breaks found (static analysis)"
    assert summarise(FILES[1:], [], None).headline == "Nothing was checked: 1 file could not be read"


def test_ready(build: Any) -> None:
    summary = summarise(FILES, [], [build.run(), build.run(mode="train")])
    assert summary.verdict == "ready" and summary.breaks == 0 and summary.graphs == 2
    assert summary.headline == "Ready: 0 graph breaks in your code, fullgraph=True passes"


def test_not_ready_counts_each_place_once(build: Any) -> None:
    other = build.brk(9, path="/site-packages/x.py", owner="third-party")
    recompile = Recompile("size", "g", "x", 0, "m.py", 3, 2)
    runs = [build.run(build.brk(), other, recompiles=(recompile,)), build.run(build.brk(), mode="train")]
    summary = summarise(FILES, [build.finding()], runs)
    assert (summary.verdict, summary.breaks, summary.breaks_own) == ("not-ready", 2, 1)
    assert summary.headline == (
        "Not ready: 1 graph break in your code, 1 graph break in libraries, 1 recompile cause, fullgraph=True fails"
    )


def test_breaks_in_libraries_alone_are_told_from_those_of_the_code(build: Any) -> None:
    other = build.brk(9, path="/site-packages/x.py", owner="third-party")
    summary = summarise(FILES, [], [build.run(other)])
    assert summary.verdict == "not-ready"
    assert summary.headline == ("Not ready, though your code is: 1 graph break in libraries, fullgraph=True fails")
    recompile = Recompile("size", "g", "x", 0, "m.py", 3, 2)
    assert summarise(FILES, [], [build.run(other, recompiles=(recompile,))]).headline.startswith("Not ready: ")


def test_code_that_reached_the_recompile_limit_is_not_ready(build: Any) -> None:
    """From there on it runs uncompiled."""
    recompile = Recompile("attribute", "self.n == 0", None, None, "m.py", 3, 8, limit=8)
    below, reached = (build.run(recompiles=(replace(recompile, at_limit=limit),)) for limit in (False, True))
    assert summarise(FILES, [], [below]).verdict == "ready"
    summary = summarise(FILES, [], [reached])
    assert summary.verdict == "not-ready"
    assert summary.headline == (
        "Not ready: 0 graph breaks in your code, 1 recompile cause, fullgraph=True passes, "
        "the recompile limit is reached: later calls run uncompiled"
    )


def test_what_breaks_with_other_inputs_is_not_ready(build: Any) -> None:
    def swept(*breaks: Break) -> Sweep:
        return Sweep("batch 4, 5", True, 2, 2, breaks=breaks)

    runs = [build.run(sweeps=(swept(build.brk(), build.brk(7)),)), build.run(build.brk(7), mode="train")]
    assert summarise(FILES, [], runs).headline == (
        "Not ready: 1 graph break in your code, fullgraph=True fails, 1 graph break in calls with other inputs"
    )
    alone = summarise(FILES, [], [build.run(sweeps=(swept(build.brk()),)), build.run(mode="train")])
    assert (alone.verdict, alone.breaks) == ("not-ready", 0)
    assert alone.headline.startswith("Not ready: 0 graph breaks in your code")
    assert summarise(FILES, [], [build.run(sweeps=(swept(build.brk(owner="torch")),))]).headline == (
        "Ready: 0 graph breaks in your code, fullgraph=True passes"
    )


def test_torch_breaks_alone_do_not_make_it_unready(build: Any) -> None:
    run = build.run(build.brk(owner="torch"), fullgraph=FullGraph(True))
    assert summarise(FILES, [], [run]).verdict == "ready"


def test_fullgraph_failure_alone_is_not_ready(build: Any) -> None:
    summary = summarise(FILES, [], [build.run(fullgraph=FullGraph(False, "generator"))])
    assert summary.verdict == "not-ready" and "fullgraph=True fails" in summary.headline


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_mode_that_alone_is_not_ready_is_named(build: Any, mode: str) -> None:
    fails = build.run(build.brk(), mode=mode, fullgraph=FullGraph(False))
    other = build.run(mode="eval" if mode == "train" else "train")
    headline = "1 graph break in your code, fullgraph=True fails"
    assert summarise(FILES, [], [fails, other]).headline == f"Not ready in {mode} mode: {headline}"
    assert summarise(FILES, [], [fails]).headline == f"Not ready: {headline}"


def test_nothing_compiled_comes_first(build: Any) -> None:
    runs = [build.run(build.brk(whole_frame=True), graphs=0), build.run(mode="train")]
    summary = summarise(FILES, [], runs)
    assert summary.verdict == "nothing-compiled"
    assert summary.headline.startswith(
        "Not ready: nothing is compiled in eval mode (0 graphs): 1 graph break in your code"
    )


def test_failed_runs_are_named(build: Any) -> None:
    failed = build.run(outcome="timeout", detail="120 s", mode="train")
    summary = summarise(FILES, [], [failed])
    assert (summary.verdict, summary.breaks) == ("not-run", None)
    assert summary.headline == "Cannot tell: the train run ran out of time (120 s)"
    both = [replace(failed, mode=mode, outcome="raised", detail="ValueError: no") for mode in ("eval", "train")]
    summary = summarise(FILES, [], both)
    assert summary.headline == "Cannot tell: the eval and train runs raised an exception (ValueError: no)"
    summary = summarise(FILES, [], [build.run(), failed])
    assert summary.verdict == "not-ready" and "the train run ran out of time" in summary.headline


def test_what_raises_under_torch_compile_alone_is_known_not_to_be_ready(build: Any) -> None:
    where = {"outcome": "raised", "raised_at": build.frame("m.py", 13, "f")}
    not_compared = Numerics(None, None, "1e-5")
    raises = build.run(detail="TypeError under torch.compile: no (m.py:13 in f)", numerics=not_compared, **where)
    summary = summarise(FILES, [], [raises, replace(raises, mode="train")])
    assert (summary.verdict, summary.breaks, summary.graphs) == ("not-ready", None, None)
    assert summary.headline == "Not ready: torch.compile raises TypeError at m.py:13"
    summary = summarise(FILES, [], [raises, build.run(mode="train")])
    assert summary.headline.endswith("fullgraph=True passes, torch.compile raises TypeError at m.py:13")
    eager = build.run(detail="TypeError in eager: no (m.py:13 in f)", **where)
    assert summarise(FILES, [], [eager]).headline == "Cannot tell: the eval run raised TypeError in eager at m.py:13"


def test_outputs_that_differ_are_not_ready(build: Any) -> None:
    summary = summarise(FILES, [], [build.run(numerics=Numerics(False, 1.0, "1e-5"))])
    assert summary.verdict == "not-ready"
    assert summary.headline.endswith("fullgraph=True passes, compiled outputs differ from eager")


def test_a_backend_that_fails_or_differs_is_not_ready(build: Any) -> None:
    passed = Stage("eager", "ok"), Stage("aot_eager", "skipped", detail="torch has none")
    fails = Ladder((*passed, Stage("inductor", "failed", "Inductor", "no lowering")))
    differs = Ladder((*passed, Stage("inductor", "differs", "Inductor", "output: values differ")))
    summary = summarise(FILES, [], [build.run(ladder=Ladder(passed)), build.run(mode="train", ladder=fails)])
    assert summary.verdict == "not-ready"
    assert summary.headline == (
        "Not ready: 0 graph breaks in your code, fullgraph=True passes, backend inductor fails in Inductor"
    )
    summary = summarise(FILES, [], [build.run(ladder=differs)])
    assert summary.verdict == "not-ready" and "backend inductor gives other outputs than eager" in summary.headline
    assert summarise(FILES, [], [build.run(ladder=Ladder(passed))]).verdict == "ready"
    audit = Audit((Audited("aot_eager", "differs", "AOTAutograd", (Deviation("aliasing", "d"),)),))
    summary = summarise(FILES, [], [build.run(audit=audit)])
    assert summary.headline.endswith("compiling with aot_eager changes the answer (aliasing)")


def test_a_training_step_that_fails_or_differs_is_not_ready(build: Any) -> None:
    step = Training("sgd", False, {"forward": 1}, Numerics(True, 0.0, "1e-5"))
    assert summarise(FILES, [], [build.run(mode="train", training=step)]).verdict == "ready"
    fails = replace(step, numerics=None, outcome="raised", detail="no backward")
    summary = summarise(FILES, [], [build.run(mode="train", training=fails)])
    assert summary.verdict == "not-ready" and "the training step raised an exception" in summary.headline
    differs = replace(step, numerics=Numerics(False, 1.0, "1e-5"))
    summary = summarise(FILES, [], [build.run(mode="train", training=differs)])
    assert summary.verdict == "not-ready" and "the training step differs from eager" in summary.headline


def test_a_run_that_the_program_ended_is_said_with_its_place(build: Any) -> None:
    ended = {"outcome": "exited", "raised_at": build.frame("m.py", 4, "f")}
    run = replace(build.run(), detail="sys.exit(0) at import (m.py:4 in f)", **ended)
    headline = summarise(FILES[:1], [], [run]).headline
    assert headline == "Cannot tell: the eval run called sys.exit(0) at import, at m.py:4"


def test_causes_of_recompiles_are_counted_as_they_are_listed(build: Any) -> None:
    within = Recompile("a value is None now", "x is None", None, None, "m.py", 3, 2, kind="presence", name="x")
    across = replace(within, cause="a value is no longer None", compilations=4)
    other = replace(within, name="y")
    runs = [build.run(recompiles=(within, other)), build.run(recompiles=(across,), mode="train")]
    assert list(recompile_causes(runs)) == [across, other]
    assert "2 recompile causes" in summarise(FILES, [], runs).headline


def test_each_dimension_that_changes_is_a_cause(build: Any) -> None:
    first = Recompile("the size of g changed in dimension 0", "g", "g", 0, "m.py", 3, 3, kind="size", name="g")
    second = replace(first, cause="the size of g changed in dimension 1", dimension=1)
    assert list(recompile_causes([build.run(recompiles=(first, second))])) == [first, second]
