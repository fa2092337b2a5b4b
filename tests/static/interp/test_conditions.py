"""What tests decide, and what is known after them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call, Convert, GetAttr, Truth
from graphdoctor.static.domain.values import SkippedDefault, Tensor


def run(events, body: str):
    source = "import torch\nfrom elsewhere import Block\ndef f(x, mask=None):\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    source += "def graphdoctor_target():\n    return f, (torch.rand(4, 4),)\n"
    return events(source)


def uses(found) -> int:
    return sum(isinstance(e, GetAttr) and isinstance(e.receiver, SkippedDefault) for e in found)


SKIPPED = "if mask is None and not torch.compiler.is_compiling():\n    mask = torch.ones_like(x)\n"


@pytest.mark.parametrize(
    ("rest", "count"),
    [
        ("return mask.shape", 1),
        ("a = mask.shape\nreturn mask.dtype", 1),
        ("if mask is not None:\n    return mask.shape\nreturn x", 0),
        ("if isinstance(mask, (torch.Tensor, Block)) and mask.ndim == 4:\n    return x\nreturn x", 0),
        ("if mask is None:\n    mask = x\nreturn mask.shape", 0),
    ],
)
def test_a_default_that_compiling_skips_is_missing_until_it_is_tested(events, rest, count):
    assert uses(run(events, SKIPPED + rest)) == count


def test_none_is_no_object_of_a_class_that_is_imported_where_it_exists(events):
    body = "Either = Block if available() else torch.Tensor\n" + SKIPPED
    body += "return x if isinstance(mask, (torch.Tensor, Either)) and mask.ndim == 4 else -x"
    assert uses(run(events, body)) == 0


def test_asking_for_compile_does_not_fail(events):
    found = events("""
        import torch
        def compiling():
            try:
                import torch
                return torch.compiler.is_compiling()
            except Exception:
                return False
        def f(x):
            if not compiling():
                if x.sum() > 0:
                    return -x
            return x
        def graphdoctor_target():
            return f, (torch.rand(4),)
        """)
    assert [e for e in found if isinstance(e, Truth)] == []


def test_a_default_behind_another_flag_is_not(events):
    assert uses(run(events, "if mask is None and False:\n    mask = x\nreturn mask.shape")) == 0


@pytest.mark.parametrize(
    "test",
    [
        "x is None",
        "isinstance(x, str)",
        "False and x > 0",
        "not x.requires_grad and x is None",
        "mask is not None and mask > 0",
    ],
)
def test_decided_tests_ask_no_tensor(events, test):
    assert [e for e in run(events, f"if {test}:\n    return x\nreturn -x") if isinstance(e, Truth)] == []


def test_the_second_operand_is_asked_under_a_condition(events):
    found = run(events, "if x.shape[0] > 2 and x.sum() > 0:\n    return x\nreturn -x")
    assert [(e.site.conditional, e.context) for e in found if isinstance(e, Truth)] == [(True, "if")]


def test_and_with_a_false_operand_is_false_whatever_stands_before_it(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                quick = x.is_cuda and not torch.compiler.is_compiling() and x.sum() > 0
                if quick:
                    return x
                return -x
        """
    )
    assert [e for e in found if isinstance(e, Truth)] == []


@pytest.mark.parametrize(("most", "converted"), [("rows.shape[1]", 0), ("None", 1)])
def test_a_size_that_is_given_for_an_optional_argument_is_not_none(events, most: str, converted: int) -> None:
    found = events(f"""
        import torch

        def mask(lengths, most=None):
            if most is None:
                most = lengths.max()
            return torch.arange(0, most, 1) < lengths

        class Net(torch.nn.Module):
            def forward(self, lengths, batches):
                rows = batches[0]["rows"]
                return mask(lengths, {most})
    """)
    assert sum(isinstance(e, Convert) for e in found) == converted


@pytest.mark.parametrize(
    ("other", "asked"),
    [("[]", 0), ("[x > 0]", 0), ("[x > 0, x]", 1), ("ys", 1)],
)
def test_lists_of_different_length_differ_whatever_they_hold(events, other: str, asked: int) -> None:
    found = events(f"""
        import torch

        @torch.compile
        def f(x: torch.Tensor, ys: list[torch.Tensor]):
            return [x + 1, x + 2] != {other}
    """)
    assert sum(isinstance(e, Truth) for e in found) == asked


@pytest.mark.parametrize(
    ("declared", "is_rare"),
    [("Union[bool, torch.Tensor]", True), ("float | torch.Tensor", True), ("Union[torch.Tensor, float]", False)],
)
def test_what_is_rather_a_number_is_rarely_a_tensor(events, declared, is_rare):
    found = events(
        f"""
        from typing import Union

        import torch

        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor, rate: {declared}):
                return x * rate.item() if isinstance(rate, torch.Tensor) else x * rate
        """
    )
    assert [e.site.untaken for e in found if isinstance(e, Call) and e.qualname.endswith(".item")] == [is_rare]


def test_a_text_of_the_environment_may_not_be_there(events):
    found = events("""
        import os

        import torch

        def given(value):
            return value is not None

        FOLDER = None if given(os.environ.get("NO_CACHE")) else "cache"

        class Net(torch.nn.Module):
            def forward(self, x):
                return x * x.sum().item() if given(FOLDER) else x
    """)
    assert [e.qualname for e in found if isinstance(e, Call)] == ["torch.Tensor.sum", "torch.Tensor.item"]


def test_a_flag_of_the_environment_is_what_it_is_by_default(events):
    found = events("""
        import os

        import torch

        DEBUG = os.environ.get("DEBUG", "0") == "1"
        VERBOSE = bool(int(os.getenv("VERBOSE", "0")))
        TRACE = os.environ.get("TRACE", "").lower() in ("1", "true")
        CHECK = "CHECK" in os.environ
        LOUD = os.environ.get("LOUD")
        FAST = os.environ.get("FAST", "1") != "0"

        @torch.compile
        def f(x):
            if DEBUG:
                x.sum().item()
            if VERBOSE:
                x.sum().item()
            if TRACE and x.max() > 1:
                x.sum().item()
            if CHECK:
                x.sum().item()
            if LOUD:
                x.sum().item()
            if FAST:
                x.sum().item()
            else:
                x.sum().item()
            return x
    """)
    read = [e for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"]
    untaken = {e.site.module.location(e.node).line: e.site.untaken for e in read}
    assert untaken == {16: True, 18: True, 20: True, 22: True, 24: True, 26: False, 28: True}


@pytest.mark.parametrize(
    ("test", "lines"),
    [
        ("type(y) is torch.Tensor", [9]),
        ("type(y) == torch.Tensor", [9]),
        ("type(y) is not torch.Tensor", [11]),
        ("type(y) != list", [9]),
        ("type(y) == list", [11]),
        ("type(y) is type(x)", [9, 11]),
    ],
)
def test_a_test_of_the_type_narrows_as_isinstance_does(tmp_path: Path, test: str, lines: list[int]) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nimport torch.nn as nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, y):\n"
        f"        x = x + torch.exp(y).sum()\n        if {test}:\n            z = int(y)\n        else:\n"
        "            z = int(y)\n        return x + z\n"
    )
    assert sorted(f.location.line for f in analyse([(file, "net.py")]).findings if f.rule == "GD214") == lines


@pytest.mark.parametrize(
    ("annotation", "test", "statement", "found"),
    [
        ("Union[float, int, torch.Tensor]", "isinstance(y, float) or isinstance(y, int)", "x * float(y)", []),
        ("Union[float, int, torch.Tensor]", "isinstance(y, float) or x.ndim > 1", "x * float(y)", ["GD214"]),
        ("Union[float, int, torch.Tensor]", "isinstance(y, (float, int))", "x * float(y)", []),
        ("Optional[Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]]", "True", "(y or (x, x))[0]", []),
        ("Optional[torch.Tensor]", "True", "x + (y or x)", ["GD201"]),
    ],
)
def test_a_union_is_narrowed_by_what_is_asked(
    tmp_path: Path, annotation: str, test: str, statement: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nfrom typing import Optional, Tuple, Union\n\n\nclass Net(torch.nn.Module):\n"
        f"    def forward(self, x, y: {annotation} = None):\n        if {test}:\n            return {statement}\n"
        "        return x\n"
    )
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found


@pytest.mark.parametrize(
    ("annotation", "statement", "found"),
    [
        ("Union[int, torch.LongTensor]", "nn.functional.interpolate(x, (n * 2, n * 2))", []),
        ("int | torch.Tensor", "x[:n]", []),
        ("torch.LongTensor", "x[:n]", ["GD215"]),
        ("Union[int, torch.Tensor]", "x * n.item()", ["GD211"]),
    ],
)
def test_what_may_be_a_number_is_one_where_a_number_is_asked_for(
    tmp_path: Path, annotation: str, statement: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nfrom typing import Union\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
        f"    def forward(self, x, n: {annotation}):\n        return {statement}\n"
    )
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found


def test_a_layer_of_torch_is_none_of_a_class_that_does_not_derive_from_it(events):
    found = events("""
        import torch
        from torch import nn

        class Scale(nn.Module):
            def forward(self, x, s):
                return x * s

        class Own(nn.LSTM):
            pass

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.LSTM(8, 8), Scale()])

            def forward(self, x, s):
                for block in self.blocks:
                    if isinstance(block, Scale):
                        x = block(x, s)
                    elif isinstance(block, Own):
                        x = block(x)[1]
                    else:
                        x = block(x)[0]
                return x
    """)
    called = [
        e.site.module.code(e.node) for e in found if isinstance(e, Call) and e.qualname == "torch.nn.LSTM.forward"
    ]
    assert "block(x, s)" not in called and called.count("block(x)") == 2


ARRAYS = """
import numpy as np
import torch

class Net(torch.nn.Module):
    def forward(self, x, flag: bool):
        {}
        return torch.zeros(3, dtype=y.dtype)
"""


@pytest.mark.parametrize(
    "body",
    [
        "y = torch.empty_like(x) if isinstance(x, torch.Tensor) else np.empty_like(x)",
        "y = x.clone() if torch.is_tensor(x) else np.copy(x)",
        "y = np.copy(x) if not torch.is_tensor(x) else x.clone()",
        "y = np.asarray(x) if isinstance(x, (list, tuple)) else x",
        "y = x\n        if isinstance(x, np.ndarray):\n            y = np.copy(x)",
        "y = x\n        if not isinstance(x, torch.Tensor):\n            y = np.array(x)",
    ],
)
def test_what_is_for_arrays_is_not_taken_for_a_tensor(body, tmp_path):
    assert _rules(ARRAYS.format(body), tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [
        "y = x.clone() if isinstance(x, torch.Tensor) and flag else np.copy(x)",
        "y = np.zeros(3) if isinstance(x, torch.Tensor) else x",
        "y = np.copy(x) if isinstance(x, torch.Tensor) else np.asarray(x)",
        "y = np.copy(x) if flag else x.clone()",
    ],
)
def test_an_array_that_is_made_of_a_tensor_is_one(body, tmp_path):
    assert _rules(ARRAYS.format(body), tmp_path) == ["GD213"]


def _rules(source: str, folder: Path) -> list[str]:
    file = folder / "net.py"
    file.write_text(source)
    return [finding.rule for finding in analyse([(file, "net.py")]).findings]


@pytest.mark.parametrize("asked", ["is_sparse", "is_nested"])
def test_what_runs_for_a_tensor_of_a_rare_layout_is_possible(tmp_path, asked):
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\nfrom torch import Tensor\n\n__all__ = ['start']\n\n\ndef start(x: Tensor):\n"
        f"    state = torch.zeros(x.shape).to_sparse() if x.{asked} else x\n"
        f"    if x.{asked} and x.sum() > 0:\n        print(state)\n"
        "    return x.nonzero()\n"
    )
    found = analyse([(file, file.name)]).findings
    assert [f.location.line for f in found if f.confidence != "possible"] == [11]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("if torch.is_tensor(held['sum']):\n    return x\nif held['sum'] > 0:\n    return -x\nreturn x", 0),
        ("if isinstance(held['sum'], torch.Tensor) and held['sum'] > 0:\n    return -x\nreturn x", 1),
        ("if not torch.is_tensor(held['sum']):\n    held['sum'] = x\n    if held['sum'] > 0:\n        return -x", 1),
        ("if not torch.is_tensor(held['sum']):\n    held.update(sum=x)\n    if held['sum'] > 0:\n        return -x", 1),
        ("if not torch.is_tensor(held['sum']):\n    held = {'sum': x}\n    if held['sum'] > 0:\n        return -x", 1),
        ("pair = (held['sum'], x)\nif torch.is_tensor(pair[0]) and pair[0] > 0:\n    return -x\nreturn x", 1),
    ],
)
def test_the_kind_of_an_item_is_known_behind_its_test_until_it_is_stored(events, body, count):
    found = run(events, "held = {'sum': x if x.shape[0] > 2 else 1}\n" + body)
    assert sum(isinstance(e, Truth) and type(e.value) is Tensor for e in found) == count


@pytest.mark.parametrize(
    ("test", "confident"),
    [
        ("self.until is not None and x.sum() > self.until", [10]),
        ("self.until is None or x.sum() > self.until", [10]),
        ("self.until is None and x.sum() > 0", []),
        ("self.flag and x.sum() > 0", []),
        ("until is not None and x.sum() > until", []),
    ],
)
def test_an_option_of_an_object_is_given(tmp_path, test, confident):
    """Like the one of a nested ``if``, the operand behind ``self.until is not None`` is no exception."""
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n"
        "    def __init__(self, flag, until=None):\n        super().__init__()\n        self.flag = flag\n"
        f"        self.until = until\n    def forward(self, x, until=None):\n        if {test}:\n            return x\n"
        "        return x * 2\n"
    )
    found = analyse([(file, file.name)]).findings
    assert [f.location.line for f in found if f.confidence != "possible"] == confident
