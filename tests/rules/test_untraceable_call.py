"""Library functions that Dynamo does not trace, told by their arguments or by what torch does not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse

SOURCE = """\
import numpy as np
import torch
import torch.nn as nn
from pydantic import BaseModel


class Inputs(BaseModel):
    time: torch.Tensor


class Net(nn.Module):
    def forward(self, x):
        low, high = torch.tensor(0.0), torch.tensor(1.0)
        checked = torch.distributions.Uniform(low, high, validate_args=True)  # found
        plain = torch.distributions.Uniform(low, high)
        both = torch.distributions.Independent(plain, 0, validate_args=True)
        middle = np.nanmean(np.ones(3))  # found
        mean = np.mean(np.ones(3))
        mask = torch.autograd.Variable(x > 0)  # found
        given = Inputs(time=x)  # found
        points = torch.quasirandom.SobolEngine(3)  # found
        cast = torch.amp.custom_fwd(torch.relu, device_type="cpu")  # found
        x = cast(x) + points.draw(4)  # found
        return given.time * checked.sample() * both.sample() * middle * mean * mask
"""


def test_what_is_not_traced(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE)
    found = analyse([(file, "model.py")]).findings
    marked = [number for number, line in enumerate(SOURCE.split("\n"), 1) if line.endswith("# found")]
    assert [(f.rule, f.location.line) for f in found] == [("GD405", line) for line in marked]
    first, _, variable, last = (f.suggestion for f in found[:4])
    assert "validate_args" in first and "`x.detach()`" in variable and last.startswith("check the values before")


@pytest.mark.parametrize(
    "read",
    [
        "torch.cov(x)",
        "x.cov()",
        "torch.corrcoef(x)",
        "x.corrcoef()",
        "torch.distributions.Wishart(x.exp().sum() + 4, torch.eye(4))",
        "torch.distributions.Binomial(3, logits=x).entropy()",
        "torch.distributions.Multinomial(3, logits=x).entropy()",
    ],
)
def test_a_function_of_torch_that_reads_the_data(tmp_path: Path, splits: Callable[..., bool], read: str) -> None:
    torch = pytest.importorskip("torch")
    source = f"import torch\n\n\n@torch.compile(backend='eager')\ndef f(x: torch.Tensor):\n    return {read}\n"
    file = tmp_path / "model.py"
    file.write_text(source)
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ["GD405"]
    assert splits(source, "f", torch.rand(4, 4))


MATCHER = """\
import cv2
import pandas as pd
import torch.nn as nn
from scipy.optimize import linear_sum_assignment


class Matcher(nn.Module):
    def forward(self, cost):
        pairs = [linear_sum_assignment(c) for c in cost.cpu()]  # found
        frame = pd.DataFrame({"a": [1]})  # found
        mean = frame.mean()
        small = cv2.resize(cost.numpy(), (2, 2), interpolation=cv2.INTER_AREA)  # found
        return pairs, mean, small
"""


def test_packages_that_work_on_data_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MATCHER)
    found = analyse([(file, "model.py")]).findings
    marked = [number for number, line in enumerate(MATCHER.split("\n"), 1) if line.endswith("# found")]
    assert [(f.rule, f.location.line) for f in found] == [("GD405", line) for line in marked]
    assert all("outside the compiled code" in f.suggestion for f in found)


TOKENIZERS = """\
import torch.nn as nn
from tokenizers import Tokenizer
from transformers import AutoTokenizer, CLIPTokenizer


class Encoder(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.clip = CLIPTokenizer.from_pretrained(name)
        self.plain = Tokenizer.from_file(name)
        self.end = self.tokenizer.eos_token_id

    def forward(self, texts, labels):
        batch = self.tokenizer(texts, padding=True, return_tensors="pt")  # found
        ids = self.clip.encode("a")  # found
        more = self.plain.encode("a")  # found
        labels = labels.masked_fill(labels == self.tokenizer.pad_token_id, self.end)  # found
        return batch, ids, more, labels + self.tokenizer.vocab_size  # found
"""


def test_a_tokenizer_is_written_in_rust(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(TOKENIZERS)
    found = analyse([(file, "model.py")]).findings
    marked = [number for number, line in enumerate(TOKENIZERS.split("\n"), 1) if line.endswith("# found")]
    assert [(f.rule, f.location.line) for f in found] == [("GD405", line) for line in marked]
    assert found[0].suggestion == "tokenize outside the compiled code, and pass the ids"


def test_dynamo_traces_no_tokenizer() -> None:
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    # Those of transformers ask one of these.
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    compiled = torch.compile(lambda x: x + len(backend.encode("a b").ids), backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="of class `Tokenizer`"):
        compiled(torch.rand(4))


COMPILED_BY_NUMBA = """\
import numba
import torch
import torch.nn as nn
from numba import njit


@njit
def path_of(costs):
    return costs.argmin()


@numba.vectorize
def grow(value):
    return value + 1


class Aligner(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = grow(3)

    def forward(self, x):
        best = path_of(x.detach().numpy())  # found
        return x * best * torch.from_numpy(grow(x.detach().numpy())) * self.steps  # found
"""


def test_what_numba_compiles(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(COMPILED_BY_NUMBA)
    found = analyse([(file, "model.py")]).findings
    marked = [n for n, line in enumerate(COMPILED_BY_NUMBA.split("\n"), 1) if line.endswith("# found")]
    assert [(f.rule, f.location.line) for f in found] == [("GD405", line) for line in marked]


OPERATORS = """\
import torch
import torch.nn as nn


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __mul__(self, other):
        return other * self.factor

    def __rmul__(self, other):
        return other * self.factor


class Store:
    def __init__(self, last):
        self.last = last


class Net(nn.Module):
    def forward(self, x, known: bool):
        scale = Scale(x.mean())
        y = scale * x  # found
        parts = {"x": x, "store": Store(y), "scale": scale}
        for name in parts:
            y = parts[name] * y
        either = scale if known else Scale(2.0)
        y = either * y  # found
        return x * (scale if known else y) + y
"""


def test_an_operator_of_what_may_be_a_tensor(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(OPERATORS)
    found = analyse([(file, "model.py")]).findings
    marked = [number for number, line in enumerate(OPERATORS.split("\n"), 1) if line.endswith("# found")]
    assert [(f.rule, f.location.line) for f in found] == [("GD405", line) for line in marked]


TRACKED = """\
import torch
import torch.nn as nn
import mlflow
import wandb
from torch.utils.tensorboard import SummaryWriter

run = wandb.init(project="demo")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.writer = SummaryWriter()

    def forward(self, x):
        y = self.layer(x)
        wandb.log({"mean": y.mean()})  # found
        run.log({"mean": 1.0})  # found
        self.writer.add_scalar("mean", y.mean(), 1)  # found
        if not torch.compiler.is_compiling():
            mlflow.log_metric("mean", 1.0)
        return y


def train(net, x):
    wandb.log({"loss": net(x).sum()})


def video(frames: torch.Tensor):
    return wandb.Video(frames.cpu().numpy(), fps=int(frames.max().item()))


__all__ = ["video"]
"""


def test_what_experiments_are_logged_with(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(TRACKED)
    found = analyse([(file, "model.py")]).findings
    marked = [number for number, line in enumerate(TRACKED.split("\n"), 1) if line.endswith("# found")]
    assert [(f.rule, f.location.line) for f in found] == [("GD405", line) for line in marked]
    assert all(f.suggestion.startswith("return the value and log it after the call") for f in found)
    assert {f.fix.safety for f in found if f.fix} == {"unsafe"}


_OF_PACKAGES = """\
import cupy
import PIL
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        {line}
        return x * 2
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("new = PIL.__version__.split('.')[0] >= '9'", []),
        ("image = PIL.Image.fromarray(x)", ["GD405"]),
        ("image = cupy.asarray(x)", ["GD405"]),
    ],
)
def test_the_version_of_a_package_is_plain_text(tmp_path: Path, line: str, found: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(_OF_PACKAGES.format(line=line))
    assert [finding.rule for finding in analyse([(file, file.name)]).findings] == found


@pytest.mark.parametrize(
    ("made", "value", "breaks"),
    [
        ("operator.itemgetter(0)", "x * MADE([2, 3])", True),
        ("operator.attrgetter('T')", "MADE(x)", True),
        ("operator.methodcaller('sin')", "MADE(x)", True),
        ("None", "x * operator.itemgetter(0)([2, 3])", False),
        ("re.compile('a')", "x * len([m for m in MADE.finditer('ab')])", True),
        ("None", "x * len([m for m in re.finditer('a', 'ab')])", True),
        ("re.compile('a')", "x * len(MADE.findall('ab'))", False),
        ("None", "torch.from_numpy(np.pad(x.numpy(), 1))", True),
        ("None", "x * len(str.maketrans('a', 'b'))", True),
        ("None", "torch.resize_as_(torch.empty(0), x)", True),
        ("None", "(x, property(len))[0]", True),
    ],
)
def test_calls_that_end_the_graph(tmp_path: Path, made: str, value: str, breaks: bool) -> None:
    torch = pytest.importorskip("torch")
    source = "import operator\nimport re\n\nimport numpy as np\nimport torch\n\n"
    source += f"MADE = {made}\n\n\n@torch.compile(backend='eager', fullgraph=True)\ndef f(x: torch.Tensor):\n    return {value}\n"
    file = tmp_path / "model.py"
    file.write_text(source)
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ["GD405"] * breaks
    names: dict[str, Any] = {}
    exec(source, names)
    torch._dynamo.reset()
    if breaks:
        with pytest.raises(Exception, match=r"(?i)dynamo|trace"):
            names["f"](torch.rand(4, 4))
    else:
        names["f"](torch.rand(4, 4))


@pytest.mark.parametrize("name", ["staticmethod", "classmethod"])
def test_a_static_method_can_be_made_since_torch_2_15(tmp_path: Path, splits, name: str) -> None:
    torch = pytest.importorskip("torch")
    source = (
        f"import torch\n\n\ndef f(x: torch.Tensor):\n    return (x * 2, {name}(len))[0]\n\n\ng = torch.compile(f)\n"
    )
    file = tmp_path / "model.py"
    file.write_text(source)
    found = {
        version: [f.rule for f in analyse([(file, file.name)], catalog.holding(catalog.rules(), version)).findings]
        for version in ("2.14.1", "2.15.0", torch.__version__)
    }
    assert (found["2.14.1"], found["2.15.0"]) == (["GD405"], [])
    assert bool(found[torch.__version__]) is splits(source, "f", torch.ones(2))


def test_what_holds_outputs_cannot_be_made_before(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "from types import SimpleNamespace\n\nimport torch\n\n\n@torch.compile\ndef f(x):\n"
        "    return SimpleNamespace(hidden=x * 2)\n"
    )
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.suggestion == "give a dict, a named tuple or an object of a dataclass, which are traced"


@pytest.mark.parametrize(
    ("call", "suggestion"),
    [
        ("scipy.fft.next_fast_len(x.shape[0])", "call it outside the compiled code, and pass its result in"),
        ("scipy.special.erf(x)", "call it outside the compiled code, or make a custom operator of it"),
    ],
)
def test_a_function_of_numbers_is_no_operator(tmp_path: Path, call: str, suggestion: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(f"import scipy\nimport torch\n\n\n@torch.compile\ndef f(x):\n    return x * {call}\n")
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.suggestion.startswith(suggestion)


DECORATED = """\
import functools

import torch


def f(x):
    {decorator}
    def inner(y):
        return y * 2

    return x + 1
"""


@pytest.mark.parametrize(
    ("decorator", "breaks"),
    [
        ("@torch.compiler.disable", True),
        ("@torch.compiler.disable(recursive=False)", True),
        ("@torch._dynamo.disable", True),
        ("@torch.no_grad()", False),
        ("@functools.wraps(torch.relu)", False),
    ],
)
def test_a_decorator_is_called_where_its_function_is_defined(
    decorator: str, breaks: bool, tmp_path: Path, splits: Callable[..., bool]
) -> None:
    import torch

    source = DECORATED.format(decorator=decorator)
    assert splits(source, "f", torch.rand(4)) is breaks
    file = tmp_path / "model.py"
    file.write_text(source + "\n\ng = torch.compile(f)\n")
    found = analyse([(file, "model.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == ([("GD405", 7)] if breaks else [])
    refusals = {
        "A decorator is applied where the function is defined, in each call.",
        "A function that is kept out of compilation is to run in each call.",
    }
    assert all(f.fix is not None and f.fix.safety == "manual" and f.fix.reason in refusals for f in found)


HOLDERS = """\
import dataclasses
import threading
import types

import torch


def doubled(x):
    return x * 2


other = types.ModuleType("other")
local = threading.local()
Added = types.new_class("Added")
Point = dataclasses.make_dataclass("Point", ["shift"], namespace={"moved": lambda self, x: x + self.shift})
point = Point(2)
other.doubled = local.doubled = doubled
Added.doubled = staticmethod(doubled)


def f(x):
    return point.moved(other.doubled(local.doubled(Added.doubled(x))))
"""


def test_a_function_that_an_object_of_python_holds_is_traced(tmp_path: Path, splits: Callable[..., bool]) -> None:
    file = tmp_path / "model.py"
    file.write_text(HOLDERS)
    assert not analyse([(file, "model.py")]).findings
    assert not splits(HOLDERS, "f", torch.rand(3))


@pytest.mark.parametrize(
    ("call", "broken"),
    [
        ("b'abc'.find(b'c')", True),
        ("b'abc'.decode()", False),
        ("(5).to_bytes(2, 'big')", True),
        ("(5).bit_length()", False),
    ],
)
def test_methods_of_bytes_are_not_traced(tmp_path: Path, splits: Callable[..., bool], call: str, broken: bool) -> None:
    source = f"import torch\n\n\ndef f(x):\n    kept = {call}\n    return x * 2 if kept else x\n"
    file = tmp_path / "model.py"
    file.write_text(f"{source}\n\ncompiled = torch.compile(f)\n")
    assert [finding.rule for finding in analyse([(file, "model.py")]).findings] == ["GD405"] * broken
    assert splits(source, "f", torch.rand(2)) is broken


MEMBERS = """
import enum
import torch


class Mode(str, enum.Enum):
    SUM = "sum"
    MEAN = "mean"


class Plain(enum.Enum):
    SUM = "sum"


class Net(torch.nn.Module):
    def __init__(self, mode=Mode.SUM):
        super().__init__()
        self.mode, self.plain = mode, Plain.SUM

    def forward(self, x):
        if CALL:
            x = x + 1
        return x * 2


net = Net()
"""


@pytest.mark.parametrize(
    ("call", "broken"),
    [
        ("self.mode.lower() == 'sum'", True),
        ("Mode.MEAN.startswith('s')", True),
        ("isinstance(self.mode, str) and self.mode.strip() == 'sum'", True),
        ("isinstance(self.plain, str) and self.plain.strip() == 'sum'", False),
        ("self.mode.value.lower() == 'sum'", False),
        ("self.mode == 'sum' and self.mode is Mode.SUM and self.mode in ('sum', Mode.MEAN)", False),
        ("self.mode.name.lower() == 'sum' or f'{self.mode}'", False),
        ("self.plain.value.upper() == 'SUM'", False),
    ],
)
def test_methods_of_a_text_that_is_a_member_of_an_enum_are_not_traced(
    tmp_path: Path, splits: Callable[..., bool], call: str, broken: bool
) -> None:
    source = MEMBERS.replace("CALL", call)
    file = tmp_path / "model.py"
    file.write_text(source)
    found = analyse([(file, "model.py")]).findings
    assert [(finding.rule, finding.severity) for finding in found] == [("GD405", "error")] * broken
    assert splits(source, "net", torch.rand(2)) is broken


def test_a_decorator_in_the_body_of_a_class_is_no_call(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\n\n\n@torch.compile\ndef f(x):\n    class Pair:\n        @property\n        def left(self):\n"
        "            return x\n\n        @staticmethod\n        def right():\n            return x\n\n    return Pair\n"
    )
    assert "GD405" not in [f.rule for f in analyse([(file, "model.py")]).findings]


def test_a_function_that_sympy_wrote_is_traced(tmp_path: Path, splits: Callable[..., bool]) -> None:
    head = "import sympy\nimport torch\n\nsine = sympy.lambdify(['z'], sympy.sin('z'), {'sin': torch.sin})\n\n\n"
    source = f"{head}def f(x):\n    return sine(x) + 1\n"
    file = tmp_path / "model.py"
    file.write_text(source.replace("def f", "@torch.compile\ndef f"))
    assert not analyse([(file, "model.py")]).findings
    assert not splits(source, "f", torch.rand(2))
