"""What breaks show to be tensors, and what the static pass makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.breaks.run_facts import tensor_places
from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import Break, DynamicRun

NET = """\
import torch
from somewhere import unknown


class Net(torch.nn.Module):
    def forward(self, x):
        out = unknown(x)
        if out.loss is not None and out.loss.item() > 2:
            x = x + 1
        ö = "ö", x + 2 if out.gate else x
        return x
"""
BRANCH, NUMBER = "GB0170", "GB0124"


def broken(line: int, column: int | None, gb_id: str, function: str = "Net.forward") -> Break:
    return Break("net.py", line, column, function, gb_id, None, "a reason")


@pytest.mark.parametrize(
    ("breaks", "places"),
    [
        ([broken(8, 37, NUMBER)], {(8, 37, 8, 45)}),
        ([broken(8, 37, BRANCH)], {(8, 37, 8, 56)}),
        ([broken(10, 27, BRANCH)], {(10, 27, 10, 35)}),
        ([broken(10, 18, BRANCH)], {(10, 27, 10, 35)}),
        # Which of the two conditions it was is not known.
        ([broken(8, 9, BRANCH)], set()),
        ([broken(8, 12, NUMBER), broken(8, 37, "GB0059")], set()),
        # Before torch 2.13 there is no column: what is alone on its line is it.
        ([broken(8, None, NUMBER)], {(8, 37, 8, 45)}),
        ([broken(10, None, BRANCH)], {(10, 27, 10, 35)}),
        ([broken(8, None, BRANCH)], set()),
    ],
)
def test_place_of_a_break_is_an_expression(breaks: list[Break], places: set[tuple[int, int, int, int]]) -> None:
    assert tensor_places(NET, breaks) == (places, frozenset())
    assert tensor_places("def (", breaks) == (frozenset(), frozenset())


def test_what_cannot_be_sorted_is_tensors() -> None:
    text = "def f(**named):\n    return sorted(named.items())\n"
    assert tensor_places(text, [broken(2, 12, "GB0207")]) == ({(2, 12, 2, 33)}, frozenset())


def test_a_shape_that_depends_on_data_shows_masks_and_what_they_select_from() -> None:
    text = "def f(x, m):\n    return g(x.y[m, :], x.nonzero(), torch.nonzero(m), x[..., m + 1, 0])\n"
    breaks = [broken(2, column, "GB0036") for column in (14, 25, 38, 56)]
    masks = {(2, 18, 2, 19), (2, 63, 2, 68)}
    assert tensor_places(text, breaks) == ({(2, 14, 2, 17), (2, 25, 2, 26), (2, 56, 2, 57), *masks}, masks)


def scanned(folder: Path, text: str, *breaks: Break) -> Diagnosis:
    (folder / "net.py").write_text(text)
    run = DynamicRun("Net", "eval", "cpu", "ok", graphs=1, breaks=breaks)
    options = ScanOptions((str(folder / "net.py"),), isolated=True)
    return scan(options, ran=lambda _root, _files: ((run,), {}))


def test_break_at_the_result_of_a_library_has_its_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = scanned(tmp_path, NET, broken(8, 37, NUMBER), broken(10, 27, BRANCH)).findings
    assert [(f.rule, f.location.line, f.status) for f in found] == [
        ("GD211", 8, "confirmed"),
        ("GD201", 10, "confirmed"),
    ]
    assert found[1].fix is not None


def test_function_that_a_trainer_compiled_is_a_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = NET.replace("def forward", "def training_step")
    found = scanned(tmp_path, text, broken(10, 18, BRANCH, function="Net.training_step")).findings
    assert [(f.rule, f.location.line, f.status) for f in found] == [("GD201", 10, "confirmed")]


def test_a_file_that_nothing_leads_to_is_read_where_it_broke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text(
        "import torch\n\n\ndef select(x, m):\n    print(x)\n    y = torch.zeros_like(x)\n    y[m] = x[m] * 2\n    return y\n"
    )
    brk = Break("other.py", 7, 12, "select", "GB0036", None, "a reason")
    (found,) = scanned(tmp_path, NET, brk).findings
    assert (found.rule, found.location.path, found.location.line, found.status) == ("GD302", "other.py", 7, "confirmed")
    assert found.fix is not None and "torch.where(m" in found.fix.edits[-1].text
