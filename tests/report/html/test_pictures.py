"""The layout of the pictures: what is drawn, in which order, within the width."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model.advice import Advice, Placement
from graphdoctor.model.benchmark import Bench, Result, Timing
from graphdoctor.model.findings import Diagnosis, Location
from graphdoctor.model.runs import Frame, Piece, Sweep, SweepCall
from graphdoctor.model.submodules import ModuleNode
from graphdoctor.report.html import page
from graphdoctor.report.html.pictures.bars import of_advice
from graphdoctor.report.html.pictures.icicle import icicles
from graphdoctor.report.html.pictures.strip import strip
from graphdoctor.report.html.pictures.timeline import timelines


def test_graphs_and_cuts_in_the_order_of_execution(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    order = (
        Piece(break_at=1, dropped="Net.forward"),
        Piece(operators=4),
        Piece(break_at=0),
        Piece(operators=1),
        Piece(operators=1),
    )
    run = replace(rich.dynamic[0], pieces=order, graphs=3)
    drawn = strip(replace(rich, dynamic=(run, replace(run, mode="train"))))
    assert drawn is not None and drawn.returns and drawn.ordered
    # Both modes did the same, and the last lane is the code with the fix.
    assert [lane.title.partition(":")[0] for lane in drawn.lanes] == [
        "Net, eval and train mode, on cpu", "With 1 fix applied to a copy",
    ]  # fmt: skip
    for drawing in drawn.lanes[0].drawings:
        assert [(shape.kind, shape.text) for shape in drawing.shapes] == [
            ("cut", "1"), ("eager", "Net.forward runs in eager; what it calls is traced by itself"),
            ("graph", "1"), ("cut", "2"), ("graph", "2"), ("graph", "3"),
        ]  # fmt: skip
        assert all(shape.x >= 0 and shape.x + shape.width <= drawing.width for shape in drawing.shapes)
    # The first met is the first in the list, whatever the order of the findings.
    assert [cut.place for cut in drawn.cuts] == ["model.py:21", "model.py:18", "site-packages/library.py:7"]
    assert rich.verification is not None
    same = replace(rich.verification, breaks=rich.summary.breaks or 0, grade="none", fullgraph_passes=False)
    drawn = strip(replace(rich, dynamic=(run,), verification=same))
    assert drawn is not None and len(drawn.lanes) == 1


def test_what_cuts_many_functions_on_the_way_to_it_is_drawn_once(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    found = rich.dynamic[0].breaks[0]
    breaks = (replace(found, whole_frame=True), replace(found, whole_frame=True, line=found.line + 1))
    # A caller is given up with the first cut, and then what it calls.
    order = (
        *(Piece(break_at=at, dropped="Model.forward") for at in (0, 0, 1, 0)),
        *(Piece(break_at=at, dropped="Net.forward" if at == 1 else "") for at in (1, None, 0)),
    )
    run = replace(rich.dynamic[0], breaks=breaks, pieces=order, graphs=1)
    drawn = strip(replace(rich, dynamic=(run,)))
    assert drawn is not None
    assert [(shape.kind, shape.text) for shape in drawn.lanes[0].drawings[0].shapes] == [
        ("cut", "1"), ("eager", "Model.forward runs in eager; what it calls is traced by itself"),
        ("cut", "2"), ("eager", "Net.forward runs in eager; what it calls is traced by itself"),
        ("graph", "1"), ("cut", "1"),
    ]  # fmt: skip


def test_two_places_of_a_library_behind_one_line_are_two_cuts(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    found = next(entry for entry in rich.dynamic[0].breaks if entry.owner != "own")
    breaks = tuple(replace(found, stack=(*found.stack, Frame("library.py", line, "f"))) for line in (5, 7))
    run = replace(rich.dynamic[0], breaks=breaks, pieces=(), graphs=1)
    drawn = strip(replace(rich, dynamic=(run,)))
    assert drawn is not None and len(drawn.cuts) == 2
    # Each is told by its own finding, though both have one line, column and id.
    here = Location(found.path, found.line, 1, found.line, 1)
    findings = [
        replace(rich.findings[0], location=here, events=1, fact=f"a call (at library.py:{line})") for line in (5, 7)
    ]
    drawn = strip(replace(rich, dynamic=(run,), findings=tuple(findings)))
    assert drawn is not None and [cut.finding for cut in drawn.cuts] == findings


def test_a_cut_is_told_by_the_finding_in_the_library_before_that_of_the_line_that_leads_there(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    found = next(entry for entry in rich.dynamic[0].breaks if entry.owner != "own")
    entry = replace(found, stack=(*found.stack, Frame("library.py", 7, "f")))
    run = replace(rich.dynamic[0], breaks=(entry,), pieces=(), graphs=1)
    leads = replace(rich.findings[0], location=Location(found.path, found.line, 1, found.line, 1), events=1)
    inside = replace(leads, location=Location("library.py", 7, 5, 7, 9), fact="in a library: `g(x)`")
    drawn = strip(replace(rich, dynamic=(run,), findings=(leads, inside)))
    assert drawn is not None and drawn.cuts[0].finding == inside


def test_where_nothing_is_compiled_all_is_eager(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    drawn = strip(replace(rich, dynamic=(replace(rich.dynamic[0], graphs=0),), verification=None))
    assert drawn is not None
    assert [shape.kind for shape in drawn.lanes[0].drawings[0].shapes] == ["cut", "cut", "cut", "eager"]


def test_no_run_no_strip(clean: Diagnosis) -> None:
    assert strip(clean) is None


def test_cells_are_as_wide_as_their_operators_and_lie_below_their_parents() -> None:
    nodes = (
        ModuleNode("", "Net", "partly", 100, 0.75, 1, 1),
        ModuleNode("a", "A", "compiled", 75, 1.0, 0, 0),
        ModuleNode("a.x", "X", "compiled", 50, 1.0, 0, 0),
        ModuleNode("b", "B", "eager", 25, 0.0, 1, 0),
    )
    wide, _ = icicles(nodes)
    assert [(cell.x, cell.width, cell.y // 30, cell.state) for cell in wide.cells] == [
        (0, 1000, 0, "partly"), (0, 750, 1, "compiled"), (0, 500, 2, "compiled"), (750, 250, 1, "eager"),
    ]  # fmt: skip
    # A label that does not fit is cut, not left out.
    narrow = icicles((replace(nodes[0], operators=1000), replace(nodes[3], name="embedding")))[1]
    assert [cell.label for cell in narrow.cells] == ["Net: 75 %", ""]
    cut = icicles((replace(nodes[0], operators=100), replace(nodes[3], name="embeddings_of_words")))[1]
    assert cut.cells[1].label == "embedding…"
    assert wide.cells[-1].title == "b (B): 0 % of 25 operators compiled, 1 graph break"
    assert icicles(()) == icicles((replace(nodes[0], operators=0),)) == ()


def test_a_timeline_marks_the_calls_that_compile(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    steps = (SweepCall(2), SweepCall(0), SweepCall(1, "x: 4 -> 5 in dimension 0"))
    run = replace(rich.dynamic[0], sweeps=(Sweep("batch 4, 5", True, 3, 2, steps=steps),))
    (drawn,) = timelines((run, replace(run, mode="train")))
    assert drawn.title == "Called with batch 4, 5 in eval and train mode"
    assert [call.compiles for call in drawn.calls] == [True, False, True]
    assert drawn.changes == (
        "call 3: 1 compilation; x: 4 -> 5 in dimension 0",
        "3 compilations in 3 calls, at most 2 of one function",
    )
    shared = replace(run, sweeps=(replace(run.sweeps[0], steps=steps[:2]),))
    assert timelines((shared,))[0].changes == (
        "only the first call compiles: 2 compilations, at most 2 of one function",
    )


def test_two_breaks_at_one_place_are_two_cuts(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    first, *_ = rich.dynamic[0].breaks
    run = replace(rich.dynamic[0], breaks=(first, replace(first, gb_id="GB0156")), pieces=(), graphs=2)
    drawn = strip(replace(rich, dynamic=(run,)))
    assert drawn is not None and [cut.number for cut in drawn.cuts] == [1, 2]


def test_an_advice_has_bars_of_compilations_and_those_of_its_benchmark_with_quartiles(rich: Diagnosis) -> None:
    placements = (
        Placement("model", "model = torch.compile(model)", compilations=4),
        Placement("blocks", "block.compile()", ("h.0", "h.1"), 1, setting="dynamic=True, mode=reduce-overhead"),
        Placement("submodules", "", ("encoder",), failure="raises"),
    )
    timed = Result("default", "ok", timing=Timing(0.005, 0.004, 0.006, 20))
    advice = Advice("Net", "eval", 2, placements, (1,), "No break.", bench=Bench("Net", "eval", "inductor", (timed,)))
    counted, steps = of_advice(advice)
    assert [(bar.value, bar.tone) for bar in counted.bars] == [("4 compilations", "info"), ("1 compilation", "accent")]
    assert counted.bars[0].width == 4 * counted.bars[1].width
    # The longest label has room left of the bars.
    assert counted.left > 7 * len(counted.bars[1].label)
    (bar,) = steps.bars
    assert bar.low is not None and bar.high is not None and bar.low < bar.width < bar.high
    shown = page.render(replace(rich, advice=advice))
    assert shown.count('<path class="spread"') == 1
    assert 'aria-label="Seconds per step: default 5 ms"' in shown
