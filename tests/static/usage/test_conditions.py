"""Tests that the program answers itself: flags that are off, and questions about the compiled wrapper."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse


def rules(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "run.py"
    file.write_text(text)
    return [finding.rule for finding in analyse([(file, "run.py")]).findings]


FLAG = """\
import sys
import torch

net = torch.nn.Linear(4, 4)
use_compile = {value}
{line}
if use_compile:
    net = torch.compile(net)
torch.save(net.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    ("value", "line", "found"),
    [
        ("False", "", []),
        ("True", "", ["GD618"]),
        ("'--compile' in sys.argv", "", ["GD618"]),
        ("False", "exec(open('settings.py').read())", ["GD618"]),
        ("False", "globals().update(dict(use_compile=True))", ["GD618"]),
        ("False", "if len(sys.argv) > 1: use_compile = True", ["GD618"]),
        ("False", "for use_compile in (False, True): pass", ["GD618"]),
    ],
)
def test_what_stands_behind_a_flag_that_is_off_does_not_run(
    tmp_path: Path, value: str, line: str, found: list[str]
) -> None:
    assert rules(tmp_path, FLAG.format(value=value, line=line)) == found


HEAD = """\
import torch
from torch._dynamo import OptimizedModule


class Net(torch.nn.Module):
    def forward(self, x):
        return x

    def generate(self, x):
        return self(x).argmax(-1)


def unwrap(model):
    if hasattr(model, "_orig_mod"):
        return model._orig_mod
    return model


model = torch.compile(Net())
x = torch.rand(4)
"""


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("model.generate(x)", ["GD606"]),
        ("unwrap(model).generate(x)", []),
        ("(model._orig_mod if hasattr(model, '_orig_mod') else model).generate(x)", []),
        ("if hasattr(model, '_orig_mod'):\n    model = model._orig_mod\nmodel.generate(x)", []),
        ("if isinstance(model, OptimizedModule):\n    model = model._orig_mod\nmodel.generate(x)", []),
        ("if isinstance(model, torch.nn.Linear):\n    model = model._orig_mod\nmodel.generate(x)", ["GD606"]),
        ("if hasattr(model, 'module'):\n    model = model.module\nmodel.generate(x)", ["GD606"]),
    ],
)
def test_a_model_that_is_unwrapped_where_it_is_wrapped_runs_as_the_program_means_it(
    tmp_path: Path, rest: str, found: list[str]
) -> None:
    assert rules(tmp_path, f"{HEAD}{rest}\n") == found


PARTS = """\
import argparse
import torch


def save(model):
    torch.save(model.state_dict(), "net.pt")
    return True


args = argparse.ArgumentParser().parse_args()
net = torch.nn.Linear(4, 4)
if args.fast:
    net = torch.compile(net)
{test}
"""


@pytest.mark.parametrize(
    ("test", "found"),
    [
        # What is called in a test is followed.
        ("if save(net): pass", ["GD618"]),
        ("while save(net): break", ["GD618"]),
        ("done = 1 if save(net) else 2", ["GD618"]),
        ("if args.save and args.fast: save(net)", ["GD618"]),
        ("if args.save and not args.fast: save(net)", []),
        ("if args.save and (args.late and args.fast == False): save(net)", []),
        ("if args.fast is not True: save(net)", []),
        ("if args.fast is not False: save(net)", ["GD618"]),
        ("if args.fast or args.other: pass\nelse: save(net)", []),
        ("if not (args.fast or args.other): save(net)", []),
        ("if args.other or not args.fast: save(net)", ["GD618"]),
        ("done = None if args.fast or args.other else save(net)", []),
    ],
)
def test_a_part_of_a_test_says_that_nothing_is_compiled(tmp_path: Path, test: str, found: list[str]) -> None:
    assert rules(tmp_path, PARTS.format(test=test)) == found


ONCE = """\
import torch


class Speech:
    def __init__(self):
        self.layer = torch.nn.Linear(4, 4)
        self.flag = False
        self.none = None

    def step(self, x):
        return self.layer(x)

    def generate(self, x):
        if {test}:
            self.step = torch.compile(self.step)
            {then}
        return self.step(x)


speech = Speech()
speech.generate(torch.rand(2, 4))
speech.generate(torch.rand(2, 4))
"""


@pytest.mark.parametrize(
    ("test", "then", "found"),
    [
        ("not self.flag", "self.flag = True", []),
        ("not self.flag", "pass", ["GD603"]),
        ("not self.flag", "self.other = True", ["GD603"]),
        ("self.none is None and x.is_cuda", "self.none = 1", []),
        ('not hasattr(self, "new")', "self.new = True", []),
        ('not hasattr(self, "new")', "self.flag = True", ["GD603"]),
        ('getattr(self, "new", None) is None', "self.new = torch.zeros(1)", []),
    ],
)
def test_a_branch_that_keeps_itself_from_running_again_runs_once(
    tmp_path: Path, test: str, then: str, found: list[str]
) -> None:
    assert rules(tmp_path, ONCE.format(test=test, then=then)) == found
