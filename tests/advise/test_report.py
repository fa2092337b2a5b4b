"""An advice as text, Markdown and JSON."""

import json
from dataclasses import replace

from graphdoctor.model.advice import Advice, Note, Placement, Shapes
from graphdoctor.report.measurements.advise import as_json, markdown, text

ADVICE = Advice(
    "Net",
    "eval",
    2,
    (
        Placement("model", "model = torch.compile(model)", compilations=4, later=2, breaks=3, share=0.5),
        Placement("blocks", "for block in model.h:\n    block.compile()", ("h.0", "h.1"), 1, share=0.25, seconds=1.5),
        Placement("submodules", "", ("encoder",), failure="ValueError: a|b"),
    ),
    proposed=(1,),
    reason="The blocks have no break.",
    shapes=(Shapes("`mark_dynamic`", 1), Shapes("`dynamic=True`", None, "raises")),
    notes=(Note("Accelerate", "compile_regions(model)", "In place of your own."),),
    environment={"torch": "2.13.0"},
)


def test_the_text_gives_the_place_the_code_and_the_counts() -> None:
    lines = text(ADVICE).splitlines()
    assert lines[0] == "Put torch.compile on: repeated blocks. The blocks have no break."
    assert lines[2:4] == ["    for block in model.h:", "        block.compile()"]
    assert "repeated blocks (2)  1             0            0       25 %       1.5 s" in lines
    assert lines[-2:] == ["Accelerate: In place of your own.", "    compile_regions(model)"]
    assert "  `mark_dynamic`: 1 compilation" in lines
    assert "  `dynamic=True`: raises" in lines


def test_markdown_has_the_code_in_a_fence_and_a_whole_table() -> None:
    shown = markdown(ADVICE)
    assert "```python\nfor block in model.h:\n    block.compile()\n```" in shown
    assert {line.count("|") for line in shown.splitlines() if line.startswith("|")} == {8}


def test_it_is_told_why_the_gpu_was_not_used() -> None:
    on_cpu = replace(ADVICE, device_note="run on the CPU: on a GPU it ended with x")
    for shown in (text(on_cpu), markdown(on_cpu)):
        assert shown.count("\n\nnote: run on the CPU: on a GPU it ended with x\n\n") == 1


def test_nowhere_is_an_answer() -> None:
    nowhere = Advice("Net", "eval", 2, ADVICE.placements[:1], (), "Nothing of it runs compiled.")
    assert text(nowhere).startswith("Put torch.compile on: nowhere. Nothing of it runs compiled.\n\nwhere")


def test_json_names_the_proposed_placements() -> None:
    data = json.loads(as_json(ADVICE))
    assert [data["placements"][number]["kind"] for number in data["proposed"]] == ["blocks"]
