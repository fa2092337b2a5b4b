"""The static pass over files."""

from __future__ import annotations

import dataclasses
import gc
from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.lint.catalog import rules
from graphdoctor.lint.engine import Analysis, analyse
from graphdoctor.lint.work import Work
from graphdoctor.static.interp import expressions
from graphdoctor.syntax.module import SourceModule

MODEL = "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        print(x)\n        return x.sum().item()\n"


def write(folder: Path, **texts: str | bytes) -> list[tuple[Path, str]]:
    files = []
    for name, text in texts.items():
        file = folder / f"{name}.py"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        files.append((file, file.name))
    return files


def test_findings_have_place_function_and_snippet(tmp_path):
    found = analyse(write(tmp_path, model=MODEL)).findings
    assert [(f.rule, f.location.line, f.location.column, f.function) for f in found] == [
        ("GD101", 5, 9, "Net.forward"),
        ("GD211", 6, 16, "Net.forward"),
    ]
    assert found[0].snippet[5 - found[0].snippet_start] == "        print(x)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:\n", "syntax error in line 1: invalid syntax (read as Python 3."),
        (
            "print 'a'\n",
            "syntax error in line 1: Missing parentheses in call to 'print'. Did you mean print(...)? (it is",
        ),
        (b"x = '\0'\n", "null bytes"),
        (b"# coding: latin-1\nx = '\xe9'\n", None),
        (b"x = '\xe9'\n", "cannot be decoded"),
        (b"# coding: nowhere\n", "cannot be decoded"),
        ("", None),
        ("x = " + "(" * 300 + ")" * 300 + "\n", "nested"),
    ],
)
def test_a_bad_file_costs_only_its_own_findings(tmp_path, text, reason):
    result = analyse(write(tmp_path, bad=text, model=MODEL))
    bad, good = result.files
    assert (bad.status, reason is None) == ("scanned" if reason is None else "failed", bad.reason is None)
    assert reason is None or (reason in bad.reason and "\n" not in bad.reason)
    assert good.status == "scanned" and len(result.findings) == 2


RECURRENT = """\
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.first = nn.GRU(8, 8)
        self.second = nn.LSTM(8, 8)

    def encode(self, x):
        return self.first(x)[0]

    def forward(self, x):
        if self.kind == "gru":
            x, _ = self.first(x)
        else:
            x, _ = self.second(x)
        self.second.flatten_parameters()
        if self.second.bidirectional:
            x, _ = self.second(x)
        return self.encode(x)
"""


def test_what_a_rule_finds_behind_the_end_of_a_function_is_left_out(tmp_path):
    found = analyse(write(tmp_path, model=RECURRENT)).findings
    # Each arm may be the one that is not taken; in `encode` nothing stands before the layer.
    assert [(f.rule, f.location.line) for f in found] == [("GD502", line) for line in (11, 15, 17, 18)]


IMPORTS_BLOCKS = """\
import torch.nn as nn

import blocks


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 8)

    def forward(self, x):
        self.rnn.flatten_parameters()
        y, _ = self.rnn(x)
        return y


class Net(nn.Module):
    def __init__(self, kind=None):
        super().__init__()
        self.block = blocks.Block(kind)
        self.rnn = Recurrent()
        self.kind = kind

    def forward(self, x):
        x = self.block(x)
        if self.kind == "rnn":
            x = self.rnn(x)
        return x
"""

IMPORTS_RECURRENT = """\
import torch.nn as nn

from recurrent import Recurrent


class Block(nn.Module):
    def __init__(self, kind=None):
        super().__init__()
        self.rnn = Recurrent()
        self.kind = kind

    def forward(self, x):
        if self.kind == "rnn":
            x = self.rnn(x)
        return x
"""


def test_the_end_of_a_function_that_is_also_reached_by_an_import_of_its_file(tmp_path):
    found = analyse(write(tmp_path, recurrent=IMPORTS_BLOCKS, blocks=IMPORTS_RECURRENT)).findings
    assert [(f.rule, f.location.path, f.location.line) for f in found] == [("GD502", "recurrent.py", 12)]


OFFERED = """\
import torch

from words import table

__all__ = ["decode", "restored"]


def decode(tokens: torch.Tensor):
    return table(), tokens.sum().item()


def restored(weights: torch.Tensor):
    return open("weights.txt").read(), weights.sum().item()
"""


PACKED = """
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, flat=True):
        super().__init__()
        self.flat = flat
        self.lstm = nn.LSTM(4, 4)

    def forward(self, x):
        print("before")
        if self.flat:
            self.lstm.flatten_parameters()
            print("behind")
        else:
            print("beside")
        print("after")
        return x.relu()
"""


def test_what_other_rules_find_behind_the_end_of_a_function_says_so(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(PACKED)
    found = {f.location.line: f.message for f in analyse([(file, "net.py")]).findings if f.rule == "GD101"}
    splits = "`print({})` in compiled code: this splits the graph"
    assert found == {
        12: splits.format('"before"'),
        15: splits.format('"behind"') + ", once line 14 no longer ends compiling",
        17: splits.format('"beside"'),
        18: splits.format('"after"'),
    }


def test_what_a_function_sets_itself_up_with_elsewhere_does_not_hide_its_breaks(tmp_path):
    package = tmp_path / "library"
    package.mkdir()
    files = {"__init__": "", "words": "def table():\n    return open('words.txt').read()\n"}
    text = OFFERED.replace("from words", "from library.words")
    found = analyse(write(package, **files, decoding=text)).findings
    assert [(f.location.path, f.rule, f.location.line) for f in found if f.rule == "GD211"] == [
        ("decoding.py", "GD211", 9)
    ]


IN_BACKWARD = """\
import torch
from torch import nn

__all__ = ["mean"]


class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x if x.sum() > 0 else x + 1

    @staticmethod
    def backward(ctx, slope):
        return slopes(slope)


def slopes(slope):
    return nn.Parameter(slope * 2)


def mean(x: torch.Tensor):
    return Mean.apply(x)
"""


def test_a_parameter_that_a_backward_makes_does_not_hide_the_breaks_of_an_offered_function(tmp_path):
    found = analyse(write(tmp_path, means=IN_BACKWARD)).findings
    assert [(f.rule, f.location.line) for f in found if f.rule == "GD201"] == [("GD201", 10)]


def test_a_crash_in_one_rule_costs_that_rule_on_that_file(tmp_path):
    def crash(event):
        raise ZeroDivisionError("deliberate")

    broken = [dataclasses.replace(r, checks={"call": crash}) if r.code == "GD101" else r for r in rules()]
    result = analyse(write(tmp_path, model=MODEL), broken)
    assert [f.rule for f in result.findings] == ["GD211"]
    assert "GD101" in result.files[0].reason and "deliberate" in result.files[0].reason


def test_a_rule_is_asked_about_the_calls_that_it_watches(tmp_path):
    printing = next(rule for rule in rules() if rule.code == "GD101")
    blind = dataclasses.replace(printing, watches=lambda name: name == "builtins.len")
    assert analyse(write(tmp_path, model=MODEL), [blind]).findings == ()
    broken = analyse(write(tmp_path, model=MODEL), [dataclasses.replace(printing, watches=lambda name: 1 / 0)])
    assert broken.findings == ()
    assert "rule GD101 failed here (ZeroDivisionError" in broken.files[0].reason


def test_memory_is_given_back_without_the_collector(tmp_path):
    more = "\n    def again(self, x):\n        def inner(y):\n            return inner, helper(y)\n        return [inner(x) for _ in 'ab']\n"
    called = MODEL.replace("print(x)", "self.again(x)")
    files = write(
        tmp_path, model=f"from helper import helper\n{called}{more}", helper="def helper(y):\n    return helper, y\n"
    )
    analysis = Analysis(Work(files[:1]), rules())
    gc.collect()
    gc.disable()
    try:
        before = sum(type(one) is SourceModule for one in gc.get_objects())
        analysis.file(*files[0])
        assert sum(type(one) is SourceModule for one in gc.get_objects()) == before + 1
        analysis.close()
        assert sum(type(one) is SourceModule for one in gc.get_objects()) == before
    finally:
        gc.enable()


def test_an_internal_error_costs_only_what_comes_behind_it(tmp_path, monkeypatch):
    def crash(interpreter, node):
        raise ZeroDivisionError("deliberate\nin two lines")

    monkeypatch.setitem(expressions.HANDLERS, cst.Lambda, crash)
    text = MODEL.replace("return", "f = lambda: x\n        return")
    result = analyse(write(tmp_path, bad=text, model=MODEL))
    assert [(f.location.path, f.rule) for f in result.findings] == [
        ("bad.py", "GD101"),
        ("model.py", "GD101"),
        ("model.py", "GD211"),
    ]
    bad, good = result.files
    assert bad.status == "scanned" and good.reason is None
    assert bad.reason.startswith("internal error (ZeroDivisionError: deliberate in two lines)")


@pytest.mark.parametrize(
    "expression", ["x" + ".abs()" * 900, " + ".join(["x"] * 2_000), "torch.abs(" * 150 + "x" + ")" * 150]
)
def test_deep_expressions_are_analysed(tmp_path, expression):
    result = analyse(write(tmp_path, model=MODEL.replace("x.sum()", f"({expression})")))
    assert result.files[0].reason is None
    assert [f.rule for f in result.findings] == ["GD101", "GD211"]


def test_what_overflows_the_parser_is_refused_in_helpers_too(tmp_path):
    deep = "x = y" + ".abs()" * 20_000
    result = analyse(write(tmp_path, deep=deep, model="from deep import x\n" + MODEL))
    assert (result.files[0].status, result.files[0].reason) == ("failed", "too deeply nested to parse")
    assert [f.rule for f in result.findings] == ["GD101", "GD211"]


def test_a_helper_is_reported_where_it_stands_and_once(tmp_path):
    texts = {
        "a": "import torch\nfrom b import show\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return show(x)\n",
        "b": "def show(x):\n    print(x)\n    return x\n",
        "c": "import torch\nfrom b import show\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return show(x)\n",
    }
    files = write(tmp_path, **texts)
    assert [(f.location.path, f.location.line) for f in analyse(files).findings] == [("b.py", 2)]
    assert analyse([f for f in files if f[1] != "b.py"]).findings == ()


def test_scanned_code_is_never_run(tmp_path):
    marker = tmp_path / "marker"
    text = f"import torch\nopen({str(marker)!r}, 'w').close()\n" + MODEL
    analyse(write(tmp_path, model=text))
    assert not marker.exists()


def test_findings_do_not_depend_on_the_order_of_files(tmp_path):
    files = write(tmp_path, model=MODEL, other=MODEL.replace("Net", "Other"))
    assert analyse(files).findings == analyse(files[::-1]).findings


@pytest.mark.parametrize(
    "line",
    [
        "range(1, 2, 3, 4)",
        "range(1, 5, 0)",
        "range(10**30)",
        "range()",
        "match flags:\n        case []:\n            x = -x\n        case [[], *rest] | {'a': []} as rest:\n            x = x + 1",
    ],
)
def test_code_that_fails_or_is_rare_is_no_internal_error(tmp_path: Path, line: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"import torch\n\n\n@torch.compile\ndef f(x, flags=()):\n    {line}\n    return x.sum().item()\n")
    result = analyse([(file, "net.py")])
    assert [f.rule for f in result.findings] == ["GD211"]
    assert result.files[0].reason is None


def test_a_module_beside_the_file_is_found_without_a_package(tmp_path):
    texts = {
        "b": "def show(x):\n    print(x)\n    return x\n",
        "a": "import torch\nfrom . import b\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return b.show(x)\n",
    }
    result = analyse(write(tmp_path, **texts))
    assert [(f.location.path, f.location.line) for f in result.findings] == [("b.py", 2)]
    assert {file.reason for file in result.files} == {None}


def test_a_module_may_be_made_of_another_call_and_dropped(tmp_path):
    dropped = "Net(); Net(len(x)); Net(print(x))"
    text = (
        "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self, size=1):\n        super().__init__()\n\n"
    )
    result = analyse(write(tmp_path, model=f"{text}    def forward(self, x):\n        {dropped}\n        return x\n"))
    assert result.files[0].reason is None
    assert {f.rule for f in result.findings} >= {"GD101"}
