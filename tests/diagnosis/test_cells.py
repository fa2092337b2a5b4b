"""Edits of the module that cells make together, as edits of the cells."""

from __future__ import annotations

from graphdoctor.diagnosis.cells import cell_edits, in_cells
from graphdoctor.fixes.core.apply import apply
from graphdoctor.model.consequence import Block, Consequence
from graphdoctor.model.findings import Caller, Edit, Finding, Location
from graphdoctor.source.cells import Cell, Cells

CELLS = Cells((Cell("one", "import torch\nx = 1"), Cell("two", "y = 2")))


def test_a_line_behind_the_last_one_of_a_cell_stays_in_it() -> None:
    line = CELLS.text.splitlines().index("x = 1") + 2
    (edit,) = cell_edits(Edit("all", (line, 1), (line, 1), "torch.manual_seed(0)\n"), CELLS)
    assert (edit.path, apply(CELLS.cells[0].text, [edit])) == ("one", "import torch\nx = 1\ntorch.manual_seed(0)")


def test_a_message_names_lines_of_its_cell() -> None:
    line = CELLS.text.splitlines().index("x = 1") + 1
    cost = Consequence("whole", "f", Block("for", line))
    place = Location("all", line, 1, line, 6)
    finding = Finding("GD101", "n", "error", "certain", place, "f", "print()", "", "", consequence=cost)
    shown = in_cells(finding, {"all": CELLS})
    assert (shown.location.path, shown.location.line) == ("one", 2)
    assert shown.message.endswith("cannot split its `for` loop at line 2")


def test_a_text_names_the_cell_of_the_notebook_that_it_means() -> None:
    others = Cells((Cell("a/nb.ipynb:cell 1", "x = 1"),))
    notebooks = {"nb.ipynb": CELLS, "a/nb.ipynb": others}
    line = CELLS.text.splitlines().index("x = 1") + 1
    other = others.text.splitlines().index("x = 1") + 1
    text = f"a/nb.ipynb:{other} and nb.ipynb:{line}, as in other.py:3"
    assert in_cells(text, notebooks) == "a/nb.ipynb:cell 1:1 and one:2, as in other.py:3"


def test_a_call_that_leads_to_a_finding_is_in_its_cell() -> None:
    line = CELLS.text.splitlines().index("y = 2") + 1
    callers = (Caller("all", line, "Net.forward"), Caller("other.py", 3, "train"))
    for path in ("all", "other.py"):
        place = Location(path, 2, 1, 2, 6)
        finding = Finding("GD101", "n", "error", "certain", place, "f", "print()", "", "", called_from=callers)
        assert in_cells(finding, {"all": CELLS}).called_from == (Caller("two", 1, "Net.forward"), callers[1])
