"""How the cost of the static pass grows: generated programs, each small and ten times as large.

``python -m benchmarks.growth`` prints the CPU time of a line for both, the median of ``--rounds``, and the ratio. The
programs: modules of many layers with breaks that have fixes, a deep chain of calls, one function that calls many, and
one expression of many terms.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from graphdoctor.lint.catalog import rules
from graphdoctor.lint.engine import analyse

_LAYER = """
class Net{0}(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear({0}, 4)
        self.calls = 0

    def forward(self, x, mask):
        y = self.fc(x)
        if y.shape[0] > 2:
            y = y + 1
        if y.sum() > {0}:
            y = -y
        print("layer", {0})
        scale = y.abs().max().item()
        for index in range(3):
            y = y + index
        rows = mask.nonzero()
        assert (y >= 0).all(), "negative"
        return y * scale, rows
"""


def layers(count: int) -> str:
    """Modules whose forward breaks in five places."""
    return "import torch\nfrom torch import nn\n" + "".join(_LAYER.format(number) for number in range(1, count + 1))


def chain(count: int) -> str:
    """``count`` functions of which each calls the next."""
    links = "".join(f"def f{n}(x):\n    return f{n + 1}(x) + 1\n\n" for n in range(count))
    last = f"def f{count}(x):\n    return x.item()\n\n"
    return f"import torch\n\n{links}{last}@torch.compile\ndef main(x: torch.Tensor):\n    return f0(x)\n"


def wide(count: int) -> str:
    """One function that calls ``count`` others."""
    functions = "".join(f"def f{n}(x):\n    return x + {n}\n\n" for n in range(count))
    calls = "".join(f"    x = f{n}(x)\n" for n in range(count))
    return f"import torch\n\n{functions}@torch.compile\ndef main(x: torch.Tensor):\n{calls}    return x\n"


def terms(count: int) -> str:
    """One sum, a term a line, which is as deeply nested as it has terms."""
    more = "".join("        + x\n" for _ in range(count))
    return f"import torch\n\n@torch.compile\ndef main(x: torch.Tensor):\n    return (\n        x\n{more}    )\n"


#: The program, how many parts its small form has, and how many its large one.
_PROGRAMS: dict[str, tuple[Callable[[int], str], int, int]] = {
    "layers with breaks, 4,000 and 40,000 lines": (layers, 210, 2_100),
    "chain of 100 and 1,000 calls": (chain, 100, 1_000),
    "500 and 5,000 functions called by one": (wide, 500, 5_000),
    "sum of 250 and 2,500 terms": (terms, 250, 2_500),
}


def seconds_a_line(text: str, folder: Path) -> float:
    """CPU seconds that the analysis takes for each line."""
    file = folder / "program.py"
    file.write_text(text)
    gc.collect()
    started = time.process_time()
    found = analyse([(file, file.name)])
    cost = time.process_time() - started
    assert found.files[0].reason is None, found.files[0].reason
    return cost / text.count("\n")


@click.command(help=__doc__)
@click.option("--rounds", default=5, show_default=True)
def main(rounds: int) -> None:
    rules()
    with tempfile.TemporaryDirectory() as name:
        for program, (make, few, many) in _PROGRAMS.items():
            pairs = [
                (seconds_a_line(make(few), Path(name)), seconds_a_line(make(many), Path(name))) for _ in range(rounds)
            ]
            small, large = (statistics.median(column) for column in zip(*pairs, strict=True))
            click.echo(f"{program}: {small * 1e6:.0f} and {large * 1e6:.0f} us a line, ratio {large / small:.2f}")


if __name__ == "__main__":
    main()
