"""torch.export in both ways on real models: what it takes, and where it fails."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.layers.export import export
from graphdoctor.dynamic.numerics.comparison import snapshot
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.model.export import Exported

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))
FILE = Path(__file__).name

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Net(nn.Module):
    """A layer, a keyword argument, and a value that is read before it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        return {"y": self.linear(x) * scale}

    def other(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).tanh()


class Sized(nn.Module):
    """Compiles without a graph break where sizes from data are traced; an export cannot choose."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = x.nonzero()
        if found.shape[0] > 2:  # not exported
            return found * 2
        return found


class Result:
    """A class of the user's own."""

    def __init__(self, y: torch.Tensor) -> None:
        self.y = y


def wrapped(x: torch.Tensor) -> Result:
    return Result(x + 1)


def exported(function: Callable[..., Any], **keywords: Any) -> list[Exported]:
    target = Target("f", lambda: Sample(function, (torch.arange(4.0),), dict(keywords)), torch.device("cpu"))
    sample = target.sample("eval")
    expected = snapshot(sample, sample.function(*sample.args, **sample.kwargs))
    return list(export(target, "eval", PLACES, expected))


@pytest.mark.parametrize(
    "function", [Net(), Net().other, lambda x, scale: x.sin() * scale], ids=["module", "method", "function"]
)
def test_what_works_gives_the_same_outputs(function: Callable[..., Any]) -> None:
    keywords = {} if getattr(function, "__name__", "") == "other" else {"scale": 2.0}
    for made in exported(function, **keywords):
        assert (made.outcome, made.error) == ("ok", "")
        assert made.operators


def test_a_failure_is_at_the_line_that_decides() -> None:
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# not exported")
    )
    for made in exported(Sized()):
        assert (made.outcome, made.path, made.line, made.function) == ("failed", FILE, line, "forward")
        assert "`u0 > 2`, where u0 stands for a number that tensor data gives" in made.error


class Counter(nn.Module):
    """Writes to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x + self.step


def test_what_fails_leaves_nothing_behind_for_later_compiles() -> None:
    exported(Sized())
    compiled = torch.compile(Counter(), backend="eager", fullgraph=True)
    assert [compiled(torch.zeros(1)).item() for _ in range(2)] == [1, 2]


def test_a_class_that_export_does_not_know_is_named() -> None:
    for made in exported(wrapped):
        assert made.outcome == "failed"
        assert "Result is no type that torch.export can take apart" in made.error


def test_every_report_says_where_exporting_fails(
    graphdoctor: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(
        "import torch\n"
        "from torch import nn\n\n"
        "class Net(nn.Module):\n"
        "    def forward(self, x):\n"
        "        if x.sum() > 0:\n"
        "            x = x * 2\n"
        "        return x\n\n"
        "def graphdoctor_target():\n"
        "    return Net(), (torch.ones(4),)\n"
    )
    scan = ("scan", "model.py", "--export", "--no-verify", "--mode", "eval", "--output-format")
    names = ("text", "json", "sarif", "markdown")
    printed = {name: graphdoctor(*scan, name, cwd=tmp_path).stdout for name in names}
    report = json.loads(printed["json"])
    assert [
        (made["strict"], made["outcome"], made["line"], made["rule"]) for made in report["dynamic"][0]["export"]
    ] == [
        (True, "failed", 6, "GD201"),
        (False, "failed", 6, "GD201"),
    ]
    assert "torch.export fails (strict=True and strict=False)" in report["summary"]["headline"]
    assert [result["ruleId"] for result in json.loads(printed["sarif"])["runs"][0]["results"]] == ["GD201"]
    for name in ("text", "markdown"):
        assert "torch.export(strict=True) fails at model.py:6 (GD201)" in printed[name].replace("\\", ""), printed[name]
