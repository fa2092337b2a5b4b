"""``graphdoctor.check`` finds what a scan finds, wherever the model was made."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import graphdoctor


class Loud(nn.Module):
    """Prints, and branches on data."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        x = self.linear(x) * scale
        print("forward")
        if x.sum() > 0:
            x = x * 2
        return x


class Quiet(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin()


class Other(nn.Module):
    """In the same file, and not what is checked."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("never called")
        return x


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x + self.calls


class Lazy(nn.Module):
    """Makes its table in the first call, which is no recompile that goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.table: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.table is None:
            self.table = torch.ones(3)
        return x + self.table


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_findings_have_rule_place_and_fix() -> None:
    result = graphdoctor.check(Loud(), torch.rand(2, 4), scale=2.0)
    assert not result.ok
    assert {f.rule for f in result.breaks} == {"GD101", "GD201"}
    assert {f.location.line for f in result.breaks} == {line_of('print("forward")'), line_of("if x.sum() > 0:")}
    assert all(f.status == "confirmed" and f.location.path.endswith("test_check.py") for f in result.breaks)
    assert len(result.fixes) == 2
    assert any("+            x = torch.where" in fix.diff or "torch.where" in fix.diff for fix in result.fixes)
    assert result.diagnosis.dynamic is not None
    assert result.diagnosis.dynamic[0].fullgraph.passes is False


def test_a_model_that_is_ready() -> None:
    result = graphdoctor.check(Quiet(), torch.rand(3))
    assert result.ok
    assert result
    assert result.breaks == result.fixes == result.recompiles == ()
    result.raise_if_broken()
    assert repr(result).startswith("Ready: 0 graph breaks")


def test_a_model_of_torchs_own() -> None:
    """No source file of the user's takes part."""
    text = str(graphdoctor.check(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.rand(1, 2)))
    assert text.startswith("Ready: ") and text.rstrip().endswith("No findings.")


def test_raise_if_broken_tells_everything() -> None:
    with pytest.raises(AssertionError, match=r"GD101 (.|\n)*GD201|GD201 (.|\n)*GD101"):
        graphdoctor.check(Loud(), torch.rand(2, 4)).raise_if_broken()


def shifted(x: torch.Tensor) -> torch.Tensor:
    print("shifted")
    return x + 1


class Scaled(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item()

    def other(self, x: torch.Tensor) -> torch.Tensor:
        return shifted(x)


def test_functions_and_methods() -> None:
    assert [f.rule for f in graphdoctor.check(shifted, torch.rand(3)).breaks] == ["GD101"]
    assert [f.rule for f in graphdoctor.check(Scaled(), torch.rand(3)).breaks] == ["GD211"]
    assert [f.gb_ids for f in graphdoctor.check(Scaled().other, torch.rand(3)).breaks] == [("GB0059",)]


@pytest.mark.parametrize("compiled", ["torch.compile", "Module.compile"])
def test_a_model_that_is_compiled_already(compiled: str) -> None:
    model: Any = Loud()
    if compiled == "torch.compile":
        model = torch.compile(model, backend="eager")
    else:
        model.compile(backend="eager")
    model(torch.rand(2, 4))
    assert len(graphdoctor.check(model, torch.rand(2, 4)).breaks) == 2


def test_a_model_on_another_device() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).to("meta")
    result = graphdoctor.check(model, torch.rand(2, 4, device="meta"))
    assert result.ok
    assert result.diagnosis.environment["device"] == "meta"


def test_what_changes_with_every_call_is_a_recompile_and_a_warm_up_is_none() -> None:
    counting = graphdoctor.check(Counting(), torch.rand(3))
    assert not counting.ok
    assert [recompile.name for recompile in counting.recompiles] == ["self.calls"]
    assert graphdoctor.check(Lazy(), torch.rand(3)).recompiles == ()


def test_what_the_model_raises_comes_through() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        graphdoctor.check(Loud(), torch.rand(2, 5))


def test_an_installed_model_has_its_breaks_without_a_static_pass() -> None:
    from torch.nn.utils.rnn import pack_padded_sequence

    def packed(x: torch.Tensor) -> torch.Tensor:
        return pack_padded_sequence(x, torch.tensor([2, 1]), batch_first=True).data

    result = graphdoctor.check(packed, torch.rand(2, 3, 4))
    assert [f.location.path.endswith("test_check.py") for f in result.breaks] == [True] * len(result.breaks)


def test_nothing_compiled_is_not_ok() -> None:
    def untouched(x: torch.Tensor) -> torch.Tensor:
        return x

    result = graphdoctor.check(torch._dynamo.disable(untouched), torch.rand(3))
    assert not result.ok
    assert result.diagnosis.summary.verdict == "nothing-compiled"


def test_the_page(tmp_path: Path) -> None:
    result = graphdoctor.check(Loud(), torch.rand(2, 4))
    result.save_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "GD201" in page
    fragment = result._repr_html_()
    assert "GD201" in fragment
    assert "<script" not in fragment
    assert "x.sum() &gt; 0" in fragment


def test_code_from_a_prompt_without_source() -> None:
    made: dict[str, Any] = {"__name__": "typed"}
    exec(compile("def loud(x):\n    x = x.sin()\n    print('typed')\n    return x + 1\n", "<stdin>", "exec"), made)
    result = graphdoctor.check(made["loud"], torch.rand(3))
    assert [(f.location.path, f.location.line, f.gb_ids) for f in result.breaks] == [("<stdin>", 3, ("GB0059",))]


def test_in_a_script(tmp_path: Path) -> None:
    source = (
        "import torch, graphdoctor\nimport helper\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        return helper.loud(x)\n\nresult = graphdoctor.check(Net(), torch.rand(3))\nprint(repr(result))\n"
    )
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    (tmp_path / "helper.py").write_text(
        "def loud(x):\n    x = x.sin()\n    print(x)\n    return x + 1\n", encoding="utf-8"
    )
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r"^  helper\.py:3:5: GD101 .*\[safe fix\]$", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_importing_graphdoctor_does_not_import_torch() -> None:
    code = "import sys, graphdoctor; dir(graphdoctor); print({'torch', 'libcst', 'click', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = graphdoctor.nothing
