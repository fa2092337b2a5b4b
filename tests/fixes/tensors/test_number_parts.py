"""Parts of tensors that lengths bound or name: over the full shape, in one graph, whatever the lengths are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.tensors.number_parts import reduce_part
from graphdoctor.lint import engine
from graphdoctor.static.domain.values import UNKNOWN

PROGRAM = """\
import torch


def f(x, n):
{}

def graphdoctor_target():
    return f, (torch.rand(3, 5, 4), torch.tensor([5, 3, 2]))
"""
FORMS = {
    "means": "rows = []\nfor i, k in enumerate(n.tolist()):\n    rows.append(x[i, :k].mean(dim=0))\nreturn torch.stack(rows)",
    "sums": "return torch.stack([x[i, :k].sum(0) for i, k in enumerate(n.tolist())])",
    "named": "n = n.cpu().tolist()\nrows = []\nfor i in range(len(n)):\n    part = x[i, : n[i]]\n"
             "    rows.append(torch.cat([part.max(0).values, part.amin(0), part.mean(0)]))\nreturn torch.stack(rows)",
    "beside others": "rows = []\nfor row, k in zip(x, n.tolist()):\n    rows.append(row[:k].sum(0))\nreturn torch.stack(rows)",
    "numbers": "return torch.stack([x[i, : n[i].item(), 1].sum() if False else x[i, 0 : int(n[i])].amax(0) for i in range(3)])",
    "first part": "k = n[1].item()\npart = x[:, 1]\nreturn part[:k].mean(0)",
    "last": "return torch.stack([x[i, int(n[i]) - 1] for i in range(x.size(0))])",
    "tensors": "rows = []\nfor i in range(3):\n    rows.append(x[i, : n[i]].mean(0))\nreturn torch.stack(rows)",
    "numbers in a row": "y = x[:, :, 0]\nk = n - 1\nreturn torch.stack([y[i, : k[i]].sum() for i in range(3)])",
    "column": "k = n[0].item() - 1\nreturn x[1, :, k - 2] + x[:, k - 1, 2].sum()",
}  # fmt: skip


def program(body: str) -> str:
    return PROGRAM.format("".join(f"    {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize("form", FORMS)
def test_one_graph_with_the_results_and_gradients_of_eager(fixed: Any, runner: Any, form: str) -> None:
    import torch

    source = program(FORMS[form])
    after = fixed(source, unsafe=True).text
    assert "capture_" not in after
    for lengths in ([5, 3, 2], [4, 4, 4], [5, 1, 9], [3, -1, -3], [3, 0, 1]):
        results: list[Any] = []
        for text in (source, after):
            x = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
            x[2, 4] = torch.nan
            x.requires_grad_()
            try:
                value = runner.eager(text, x, torch.tensor(lengths))
            except (IndexError, RuntimeError):
                break  # Of no rows there is no maximum; what the original does not take is not compared.
            value.nan_to_num().sum().backward()
            results.append((value, x.grad))
        if len(results) == 2:
            torch.testing.assert_close(results[0], results[1], equal_nan=True)
    x, n = torch.rand(3, 5, 4), torch.tensor([5, 3, 2])
    for fullgraph in (False, True):
        compiled = runner.compiled(after, x, n, fullgraph=fullgraph)
        assert (compiled.breaks, compiled.graphs) == (0, 1)
        torch.testing.assert_close(compiled.value, runner.eager(source, x, n))


KEPT = {
    "the part itself": "return torch.cat([x[i, :k] for i, k in enumerate(n.tolist())])",
    "a part of a part": "k = n[0].item()\nreturn x[1:, :k].sum(0)",
    "after a number": "k = n[0].item()\nreturn x[0, k:].sum(0)",
    "in steps": "k = n[0].item()\nreturn x[0, :k:2].sum(0)",
    "a bound that is called": "return x[0, : n.max()].sum(0)",
    "over all": "k = n[0].item()\nreturn x[0, :k].sum()",
    "a maximum of whole numbers": "k = n[0].item()\nreturn n[:k].amax(0) + x",
    "a call": "k = n[0].item()\nreturn (x + 1)[0, :k].sum(0)",
    "bound twice": "for k in n.tolist():\n    x = x + x[0, :k].sum(0)\nfor k in range(3):\n    x = x * k\nreturn x",
    "a written element": "k = n[0].item()\nx[0, k - 1] = 1\nreturn x",
    "an element that is changed": "k = n[0].item()\nrow = x[0, k - 1]\nrow += 1\nreturn x",
    "two numbers": "k = n[0].item()\nreturn x[k - 1, k - 1]",
    "an element of a list": "k = n[0].item()\nreturn [x, x * 2, x, x, x, x][k]",
    "a fraction": "k = x[0, 0, 0].item()\nreturn n[k] + x",
    "a quotient": "k = n[0].item()\nreturn x[k / 1]",
    "starred": "rows = [x[0, :k].sum(0) for i, j, k in zip(*(x, x), n.tolist())]\nreturn torch.stack(rows)",
    "pairs": "rows = [x[0, : k[0]].sum(0) for k in zip(n.tolist(), x)]\nreturn torch.stack(rows)",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_other_code_keeps_its_numbers(tmp_path: Path, name: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(program(KEPT[name]))
    fixes = [finding.fix for finding in engine.analyse([(file, file.name)]).findings]
    changed = [
        fix for fix in fixes if fix is not None and ("arange" in (fix.diff or "") or "reshape" in (fix.diff or ""))
    ]
    assert not changed


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("means", "        rows.append(torch.where(kept, x[i], 0).sum(dim=0) / kept.sum())\n"),
        ("beside others", "        rows.append(torch.where(kept, row, 0).sum(0))\n"),
    ],
)
def test_the_mask_has_a_line_of_its_own(fixed: Any, form: str, line: str) -> None:
    after = fixed(program(FORMS[form]), unsafe=True).text
    assert "        kept = (torch.arange(" in after
    assert line in after


def test_what_runs_for_each_element_has_its_mask_there(fixed: Any) -> None:
    assert "kept" not in fixed(program(FORMS["sums"]), unsafe=True).text


def test_an_array_of_numpy_is_indexed_by_a_number(fixed: Any) -> None:
    """The number may be on a GPU: numpy takes a number from there, and no tensor."""
    body = "import numpy as np\ntable = np.sqrt(np.linspace(0.0, 1.0, 9))\nreturn x * table[int(n[-1])]"
    assert "table[int(n[-1])]" in fixed(program(body), unsafe=True).text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return x + n.k", "The tensor bounds no slice."),
        ("return x[0, : n.k()]", "`n.k()` calls a function, which would be called twice."),
    ],
)
def test_refusal(refusal: Any, body: str, reason: str) -> None:
    place = (cst.Call, "n.k()") if "k()" in body else (cst.Attribute, "n.k")
    assert refusal(reduce_part, body, place, UNKNOWN) == reason
