"""Which fallbacks get no error of the compilation."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import logging
import torch

logger = logging.getLogger(__name__)


def warm_up(model):
    model(torch.rand(4, 8))


def load(model{parameters}):
    try:
        {body}
    except {caught}:
        {handler}
    return model
"""
COMPILES = "model = torch.compile(model)"
PRINTS = "print('torch.compile failed')"


def found(folder: Path, body: str, caught: str = "Exception", handler: str = PRINTS, parameters: str = "") -> list[str]:
    file = folder / "load.py"
    body = body.replace("\n", "\n        ")
    file.write_text(SOURCE.format(body=body, caught=caught, handler=handler, parameters=parameters))
    rules = [finding.rule for finding in analyse([(file, "load.py")]).findings]
    return [rule for rule in rules if rule == "GD629"]


@pytest.mark.parametrize(
    ("caught", "rules"),
    [
        ("Exception as error", ["GD629"]),
        ("(ImportError, RuntimeError)", ["GD629"]),
        ("torch._dynamo.exc.TorchDynamoException", ["GD629"]),
        ("ImportError", []),
        ("(AttributeError, NotImplementedError)", []),
    ],
)
def test_errors_that_a_compilation_may_raise(tmp_path: Path, caught: str, rules: list[str]) -> None:
    assert found(tmp_path, COMPILES, caught) == rules


@pytest.mark.parametrize(
    ("handler", "rules"),
    [
        ("pass", ["GD629"]),
        ("return model", ["GD629"]),
        ("logger.warning('uncompiled version')", ["GD629"]),
        ("raise", []),
        ("exit(1)", []),
        ("print('needs torch version 2')", []),
        ("print('not on Windows')", []),
    ],
)
def test_handlers_that_fall_back(tmp_path: Path, handler: str, rules: list[str]) -> None:
    assert found(tmp_path, COMPILES, handler=handler) == rules


@pytest.mark.parametrize(
    ("more", "rules"),
    [
        ("logger.info('compiled')", ["GD629"]),
        ("model.eval()", ["GD629"]),
        ("model(torch.rand(4, 8))", []),
        ("warm_up(model)", []),
        ("model.generate()", []),
        ("check(model)", []),
    ],
)
def test_a_call_in_the_try_makes_the_fallback_real(tmp_path: Path, more: str, rules: list[str]) -> None:
    assert found(tmp_path, f"{COMPILES}\n{more}") == rules


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("model.compile(dynamic=True)", ["GD629"]),
        ("model.compile()", []),
        ("model.compile(dynamic=True)\nmodel(torch.rand(4, 8))", []),
        ("model.compile(optimizer='adam')", []),
    ],
)
def test_in_place_where_the_arguments_are_those_of_torch(tmp_path: Path, body: str, rules: list[str]) -> None:
    assert found(tmp_path, body) == rules


def test_a_try_that_does_more_is_about_compiling_where_its_handler_says_so(tmp_path: Path) -> None:
    body = f"model = read(model)\n{COMPILES}"
    assert found(tmp_path, body) == ["GD629"]
    assert found(tmp_path, body, handler="print('not loaded')") == []


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ("backend='inductor'", ["GD629"]),
        ("backend='tensorrt'", []),
        ("disable=True", []),
        ("mode='max-autotune'", ["GD629"]),
        ("mode='fastest'", []),
    ],
)
def test_what_raises_at_once(tmp_path: Path, options: str, rules: list[str]) -> None:
    assert found(tmp_path, f"model = torch.compile(model, {options})") == rules


@pytest.mark.parametrize(("caught", "handler"), [("Exception", "pass"), ("RuntimeError", PRINTS)])
def test_a_runtime_error_alone_may_be_of_the_platform(tmp_path: Path, caught: str, handler: str) -> None:
    assert found(tmp_path, COMPILES, caught, handler) == ["GD629"]
    assert found(tmp_path, COMPILES, "RuntimeError", "pass") == []
    assert found(tmp_path, COMPILES, "RuntimeError", "model._compiled = None") == []


def test_of_two_around_one_compilation_the_inner_one_counts(tmp_path: Path) -> None:
    inner = f"try:\n    {COMPILES}\nexcept Exception:\n    {PRINTS}"
    assert found(tmp_path, inner) == ["GD629"]


def test_a_handler_may_try_something_else(tmp_path: Path) -> None:
    handler = f"try:\n            {COMPILES}\n        except TypeError:\n            pass"
    assert found(tmp_path, COMPILES, handler=handler) == ["GD629"]


@pytest.mark.parametrize(
    "line",
    [
        "torch._dynamo.config.suppress_errors = True",
        "# compiled at the first call",
        "print('will compile on first run')",
        "try:\n    warm_up(print)\nexcept Exception:\n    print('runs in eager')",
    ],
)
def test_a_file_may_deal_with_what_fails_later(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, COMPILES, parameters="):\n    pass\n\n\n" + line + "\n\n\ndef other(model") == []


NET = """\
import torch.nn as nn
from blocks import block


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = block(4)

    def forward(self, x):
        return self.block(x)
"""

USES_NET = """\
import torch
from net import Net

model = Net()
try:
    model = torch.compile(model)
except Exception:
    print("runs in eager")
"""


def test_the_constructor_of_what_is_compiled_is_no_call_in_the_try(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    file = tmp_path / "main.py"
    file.write_text(USES_NET)
    assert [finding.rule for finding in analyse([(file, "main.py")]).findings] == ["GD629"]
