"""An element of a tensor whose shape is not known from the source: a number or a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graphdoctor.api import ScanOptions, scan
from graphdoctor.lint.engine import analyse

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        index = torch.topk(x.mean(0), 2)[1]
        return x[:, index[0]] * 2


def graphdoctor_target():
    return Net(), (torch.rand(4, 8).squeeze(){shape},)
"""


def test_a_run_makes_sure_of_what_the_source_leaves_open(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(shape=""))
    assert scan(ScanOptions((str(file),), run=False)).findings == ()
    found = scan(ScanOptions((str(file),), isolated=True))
    (finding,) = found.findings
    assert (finding.rule, finding.status, finding.severity) == ("GD215", "confirmed", "error")
    assert finding.fix is not None and finding.fix.verified
    assert found.verification is not None and found.verification.fullgraph_passes


def test_a_row_of_indices_is_no_finding(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(shape=".reshape(4, 2, 4)"))
    found = scan(ScanOptions((str(file),), isolated=True))
    assert found.summary.verdict == "ready"
    assert [(f.rule, f.status) for f in found.findings if f.status != "refuted"] == []


SUPPRESSION = """\
import torch


def near(boxes, scores):
    order = scores.argsort()
    first = order[0]
    return boxes[first] - boxes[order[1:]]


def graphdoctor_target():
    return near, (torch.rand(4, 2){shape}, torch.rand(4){shape})
"""


def test_the_index_that_is_an_element_is_named_and_not_one_that_is_a_slice(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    unknown = ".view(*map(int, [{}]))".format
    file.write_text(
        SUPPRESSION.replace("(4, 2){shape}", f"(4, 2){unknown('4, 2')}").replace("(4){shape}", f"(4){unknown('4')}")
    )
    (finding,) = scan(ScanOptions((str(file),), isolated=True, mode="eval")).findings
    assert (finding.rule, finding.status) == ("GD215", "confirmed")
    assert finding.message.startswith("`boxes[first]` is indexed")


BATCH = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, batch):
        x = self.layer(batch["x"])
        count = {count}
        return {used}
"""


@pytest.mark.parametrize(
    ("count", "used", "lines"),
    [
        ('batch["count"]', "x[:, : 1 + count]", []),
        ('batch["count"]', "sum(x[i] for i in range(count))", []),
        ('batch["lengths"].max()', "x[:, :count]", [12]),
        ("x.argmax()", "x[:, :count]", [12]),
    ],
)
def test_an_entry_of_a_batch_that_bounds_a_slice_is_rather_a_number(tmp_path, count, used, lines):
    file = tmp_path / "net.py"
    file.write_text(BATCH.format(count=count, used=used))
    assert [f.location.line for f in analyse([(file, file.name)]).findings if f.rule == "GD215"] == lines


LENGTHS = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, sizes):
        lengths = (x > 0.5).sum(-1)
        counts = sizes * 2
        return [row[:n] for row, n in zip(x, lengths)], x[: counts[0]]
"""


def test_lengths_that_the_code_computes_are_no_numbers_of_an_argument(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(LENGTHS)
    found = [f for f in analyse([(file, file.name)]).findings if f.rule == "GD215"]
    assert [(f.location.line, "`n`" in f.message) for f in found] == [(8, True)]


@pytest.mark.parametrize(
    ("index", "cost"),
    [
        (":n", "`cut` runs uncompiled from here on"),
        ("0, n:", "`cut` runs uncompiled from here on"),
        ("n", "this splits"),
    ],
)
def test_nothing_is_compiled_behind_a_slice_that_is_computed(tmp_path: Path, index: str, cost: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        f"import torch\n\n\n@torch.compile\ndef cut(x, mask):\n    n = mask.argmax()\n    y = x + 1\n    return y[{index}] * 2\n"
    )
    (finding,) = analyse([(file, "net.py")]).findings
    assert finding.rule == "GD215" and f": {cost}" in finding.message


COUNTED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.tensor(1))

    def forward(self, x):
        {body}


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return x[:, self.step]", False),
        ("return x.roll(self.step, 0)", False),
        ("return x.repeat(self.step, 1)", False),
        ("return x[:, self.step + 1]", True),
        ("self.step += 1\n        return x[:, self.step]", True),
    ],
)
def test_a_whole_number_in_a_buffer_is_one_of_the_trace(
    tmp_path: Path, splits: Callable[..., bool], body: str, found: bool
) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(COUNTED.format(body=body))
    assert [f.rule for f in analyse([(file, "net.py")]).findings if f.confidence != "possible"] == ["GD215"] * found
    assert splits(f"{file.read_text()}\nnet = Net()", "net", torch.rand(4, 8)) is found


GIVEN = """
import torch
import torch.nn.functional as F


@torch.compile(backend="eager")
def f(x: torch.Tensor):
    t = x.mean().abs()
    n = (x[0] > -9).sum() // 2
    return {}
"""


@pytest.mark.parametrize(
    ("code", "breaks"),
    [
        ("F.scaled_dot_product_attention(x[None], x[None], x[None], scale=t) + n", True),
        ("F.cross_entropy(x, torch.zeros(4, dtype=torch.long), label_smoothing=t) + n", True),
        ("F.pad(x, (1, 1), value=t) + n", True),
        ("F.triplet_margin_loss(x, x + 1, x - 1, margin=t) + n", True),
        ("F.normalize(x, p=t) + n", True),
        ("F.normalize(x, eps=t) + n", False),
        ("torch.histc(x, bins=4, min=t, max=t + 1) + n", True),
        ("torch.nan_to_num(x, nan=t) + n", True),
        ("torch.cdist(x, x, p=t) + n", True),
        ("x.norm(t) + n", True),
        ("x.std(correction=n) + t", True),
        ("x.softmax(-1).multinomial(n) + t", True),
        ("torch.fft.rfft(x, n) + t", True),
        ("torch.lerp(x, x + 1, t) + n", False),
        ("torch.addcdiv(x, x, x, value=t) + n", False),
        ("x.addcdiv(x, x, value=t) + n", True),
        ("torch.isclose(x, x * 1, atol=t) + n", True),
    ],
)
def test_arguments_that_are_numbers(tmp_path: Path, splits: Callable[..., bool], code: str, breaks: bool) -> None:
    import torch

    file = tmp_path / "net.py"
    file.write_text(GIVEN.format(code))
    assert splits(GIVEN.format(code).replace('@torch.compile(backend="eager")', ""), "f", torch.rand(4, 4)) == breaks
    assert {f.rule for f in analyse([(file, "net.py")]).findings} == ({"GD215"} if breaks else set())


@pytest.mark.parametrize(
    ("reduced", "splits_graph"),
    [
        ("torch.sum(x, dim=list(torch.arange(x.dim()))[1:])", True),
        ("x.flip([(x > 1).sum()])", True),
        ("torch.sum(x, dim=list(range(x.dim()))[1:])", False),
        ("x.sum(dim=torch.tensor(1))", False),
        ("torch.max(x, x.mean())", False),
    ],
)
def test_dimensions_are_numbers(tmp_path: Path, splits: Callable[..., bool], reduced: str, splits_graph: bool) -> None:
    torch = pytest.importorskip("torch")
    source = f"import torch\n\n\ndef f(x):\n    return {reduced}\n"
    file = tmp_path / "model.py"
    file.write_text(source.replace("def f", "@torch.compile\ndef f"))
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == (["GD215"] if splits_graph else [])
    assert splits(source, "f", torch.rand(2, 3, 4)) is splits_graph


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        ("torch.stack([x[i, lengths[i] - 1] for i in range(2)])", [6]),
        ("torch.stack([x[i, n - 1] for i, n in enumerate(lengths)])", [6]),
        # What stands beside nothing may be a row of labels, and what is made of the whole vector is one.
        ("torch.stack([x[n - 2] for n in lengths])", []),
        ("x[0, lengths - 1]", []),
    ],
)
def test_the_end_of_one_sequence_is_a_number(splits, tmp_path: Path, result: str, lines: list[int]) -> None:
    import torch

    source = f"""\
import torch


class Net(torch.nn.Module):
    def forward(self, x, lengths: torch.Tensor):
        return {result}


net = Net()
"""
    assert splits(source, "net", torch.rand(2, 3, 4), torch.tensor([3, 2])) or not lines
    file = tmp_path / "net.py"
    file.write_text(source)
    assert [finding.location.line for finding in analyse([(file, "net.py")]).findings] == lines


BESIDE = """
import torch


@torch.compile(backend="eager")
def f(x: torch.Tensor):
    rows = (x > 2).nonzero().squeeze(1)
    order = torch.arange(4)
    return x[:4, None].expand(4, 4)[{index}]
"""


@pytest.mark.parametrize("index", ["rows[0], order[1]", "order[1], rows[0]"])
def test_what_is_surely_a_number_counts_beside_what_may_be_one(tmp_path, index):
    file = tmp_path / "model.py"
    file.write_text(BESIDE.format(index=index))
    found = [f for f in analyse([(file, "model.py")]).findings if f.rule == "GD215"]
    assert [(f.location.line, f.severity) for f in found] == [(9, "error")]


PADDED = """\
import torch
import torch.nn.functional as F


@torch.compile(backend="eager")
def up(x, y):
    wide = torch.tensor([{}])
    return F.pad(x, [wide // 2, wide - wide // 2])
"""


@pytest.mark.parametrize(
    ("number", "found"), [("y.size()[3] - x.size()[3]", []), ("6", []), ("y.sum().long()", ["GD215"])]
)
def test_a_tensor_of_one_number_keeps_it(
    tmp_path: Path, splits: Callable[..., bool], number: str, found: list[str]
) -> None:
    """The padding of a decoder, from sizes: fake tensors of one element know the number that they were made of."""
    source = PADDED.format(number)
    file = tmp_path / "up.py"
    file.write_text(source)
    rules = [f.rule for f in analyse([(file, "up.py")]).findings]
    assert [rule for rule in rules if rule == "GD215"] == found, rules
    assert splits(source, "up", torch.rand(1, 2, 4, 4), torch.rand(1, 2, 4, 6)) is bool(found)
