"""Scans of targets that are named: what is read, what is run, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, UsageError, scan

MODULE = """\
import torch

class Branch(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x

def make():
    return Branch(), (torch.rand(2, 4),)

def branch(pretrained=False, **options):
    return Branch(**options)
"""
OPTIONS = ScanOptions(("shop:make",), mode="eval", quick=True, isolated=True)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_function_of_a_module_is_run_and_joined_with_its_source(shop: Path) -> None:
    pytest.importorskip("torch")
    diagnosis = scan(OPTIONS)
    assert [(f.rule, f.location.path, f.location.line, f.status) for f in diagnosis.findings] == [
        ("GD201", "shop.py", 5, "confirmed")
    ]
    assert [run.target for run in diagnosis.dynamic or ()] == ["Branch"]


@pytest.mark.parametrize(
    "path",
    ["shop:make", "shop:Branch", "shop:branch", "shop.py:make", "shop.py:Branch", "shop.py:branch"],
)
def test_model_that_is_named_or_made_runs_with_inputs_of_the_command_line(shop: Path, path: str) -> None:
    pytest.importorskip("torch")
    diagnosis = scan(replace(OPTIONS, paths=(path,), inputs=("float32[3,5]",)))
    assert [(f.rule, f.location.line, f.status) for f in diagnosis.findings] == [("GD201", 5, "confirmed")]
    (run,) = diagnosis.dynamic or ()
    assert run.inputs == "x float32[3, 5], from --input, random numbers"


def test_model_without_inputs_says_what_to_give(shop: Path) -> None:
    pytest.importorskip("torch")
    (run,) = scan(replace(OPTIONS, paths=("shop:branch",))).dynamic or ()
    assert run.detail == (
        "shop:branch is a model without inputs: give --input, for example --input 'float32[8,3]'"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"paths": ("shop:mak",)}, "shop:mak: the module has nothing of this name; did you mean 'make'?"),
        ({"paths": ("shop:make", "shop.py")}, "shop:make names a target, and such a target is scanned alone"),
        ({"target": "Branch"}, "shop:make names a target: give a file with --target instead"),
        (
            {"paths": ("click:echo",), "fix": True},
            "--fix writes nothing to installed packages, and click:echo is in one",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(shop: Path, changes: dict[str, object], line: str) -> None:
    with pytest.raises(UsageError) as told:
        scan(replace(OPTIONS, **changes))  # type: ignore[arg-type]
    assert str(told.value).startswith(line) and "\n" not in str(told.value)
