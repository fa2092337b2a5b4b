"""What a static scan costs, in CPU seconds, beside parsing alone and beside other linters.

``python benchmarks/speed.py PATH...`` runs each command in processes of its own, round by round, and prints the median
CPU time, wall time and peak memory of each, and the ratios that are asked of graphdoctor. Ratios carry over between
machines better than seconds do. ``--tools FOLDER`` also measures the linters whose commands lie there (flake8 with
bugbear, ruff, fixit, torchfix). ``--json FILE`` saves the result with its versions.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import click

#: Parses all files in one process, and keeps no tree.
_PARSE = """
import ast, sys
import libcst
parse = {"ast": ast.parse, "libcst": libcst.parse_module}[sys.argv[1]]
for line in open(sys.argv[2]):
    parse(open(line.strip(), encoding="utf-8").read())
"""
#: The linters, and how each is asked for its rules of this kind, one process.
_TOOLS = {
    "flake8": ("--select=B", "--jobs=1", "--isolated"),
    "ruff": ("check", "--isolated", "--select=B", "--no-cache"),
    "torchfix": ("--select=ALL",),
    "fixit": ("lint",),
}
_SMALL = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.relu()\n"


@dataclass(frozen=True)
class Cost:
    """Of one process with its children: seconds, and the peak of memory in MB."""

    cpu: float
    wall: float
    memory: float


def cost(command: Sequence[str], environment: dict[str, str] | None = None) -> Cost:
    """What ``command`` costs. What it prints and how it ends is not looked at."""
    # Tools that pip installed have their bytecode; a checkout has it only where Python may write it.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**variables, **(environment or {})}
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return Cost(used.ru_utime + used.ru_stime, time.monotonic() - started, used.ru_maxrss / 1024)


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(
        *(statistics.median(values) for values in zip(*((c.cpu, c.wall, c.memory) for c in costs), strict=True))
    )


class Bench:
    """The commands to measure; ``folder`` takes caches and lists."""

    def __init__(self, files: Sequence[Path], folder: Path, tools: Path | None) -> None:
        self._files = files
        self._folder = folder
        self._tools = tools
        self.listed = folder / "files.txt"
        self.listed.write_text("".join(f"{file}\n" for file in files))
        self.small = folder / "small.py"
        self.small.write_text(_SMALL)
        self._rounds = 0

    def scan(self, cache: str, *options: str, files: Sequence[Path] | None = None) -> list[str]:
        """A static scan that keeps its results in the cache of this name."""
        where = ("--cache-dir", str(self._folder / cache)) if cache else ("--no-cache",)
        fixed = ("scan", "--no-run", "--isolated", "--output-format", "json", "--output", os.devnull)
        scanned = self._files if files is None else files
        return [sys.executable, "-m", "graphdoctor", *fixed, *where, *options, *map(str, scanned)]

    def round(self) -> dict[str, Cost]:
        """One measurement of everything."""
        self._rounds += 1
        cache, python = f"cache{self._rounds}", sys.executable
        found = {
            "ast.parse": cost([python, "-c", _PARSE, "ast", str(self.listed)]),
            "libcst.parse_module": cost([python, "-c", _PARSE, "libcst", str(self.listed)]),
            "cold, 1 process": cost(self.scan(cache, "--jobs", "1")),
            "warm": cost(self.scan(cache, "--jobs", "1")),
            "one file changed": self._changed(lambda: cost(self.scan(cache, "--jobs", "1"))),
            "cold, 2 processes": cost(self.scan("", "--jobs", "2")),
            "small file, cold": cost(self.scan("", files=[self.small])),
            "python -c pass": cost([python, "-c", "pass"]),
            "import click": cost([python, "-c", "import click"]),
            "--version": cost([python, "-m", "graphdoctor", "--version"]),
        }
        cost(self.scan(cache, files=[self.small]))
        found["small file, warm"] = cost(self.scan(cache, files=[self.small]))
        shutil.rmtree(self._folder / cache)
        for tool, options in _TOOLS.items():
            command = shutil.which(tool, path=str(self._tools)) if self._tools is not None else None
            if command is not None:
                found[tool] = cost([command, *options, *map(str, self._files)])
                found[f"small file, {tool}"] = cost([command, *options, str(self.small)])
        return found

    def _changed(self, measure: Callable[[], Cost]) -> Cost:
        """Measure with a comment at the end of the file in the middle, which is put back."""
        file = sorted(self._files)[len(self._files) // 2]
        before = file.read_bytes()
        try:
            file.write_bytes(before + b"\n# changed\n")
            return measure()
        finally:
            file.write_bytes(before)


#: What is asked: the ratio of two of the figures, and whether of CPU or wall time.
_RATIOS = (
    ("cold, 1 process", "libcst.parse_module", "cpu"), ("cold, 1 process", "flake8", "cpu"),
    ("cold, 1 process", "torchfix", "cpu"), ("cold, 1 process", "fixit", "cpu"),
    ("cold, 2 processes", "cold, 1 process", "wall"), ("warm", "cold, 1 process", "cpu"),
    ("one file changed", "cold, 1 process", "cpu"), ("small file, warm", "small file, flake8", "cpu"),
    ("small file, warm", "import click", "cpu"), ("small file, cold", "small file, torchfix", "cpu"),
    ("--version", "python -c pass", "cpu"),
)  # fmt: skip


def ratios(medians: dict[str, Cost]) -> dict[str, float]:
    """The ratios whose two sides were measured."""
    known = ((one, other, kind) for one, other, kind in _RATIOS if one in medians and other in medians)
    return {
        f"{one} / {other}": round(getattr(medians[one], kind) / max(getattr(medians[other], kind), 1e-3), 3)
        for one, other, kind in known
    }


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--pattern", default="*.py", show_default=True, help="Which files of a folder are measured.")
@click.option("--every", default=1, show_default=True, help="Measure each N-th of the files.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--tools", type=click.Path(exists=True, path_type=Path), help="The folder of the linters' commands.")
@click.option("--json", "output", type=click.Path(path_type=Path), help="Save the result here.")
def main(
    paths: tuple[Path, ...], pattern: str, every: int, rounds: int, tools: Path | None, output: Path | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        # A copy, because one of the files is changed; of whole folders, because the files import others.
        folder, copied = Path(name), []
        for number, path in enumerate(paths):
            target = folder / str(number) / path.name
            if path.is_file():
                target.parent.mkdir()
                shutil.copy2(path, target)
                copied.append(target)
            else:
                shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
                copied += sorted(target.rglob(pattern))
        copied = copied[::every]
        bench = Bench(copied, folder, tools)
        measured = [bench.round() for _ in range(rounds)]
        lines = sum(len(file.read_bytes().splitlines()) for file in copied)
    medians = {name: median([one[name] for one in measured]) for name in measured[0]}
    result = {
        "files": len(copied),
        "lines": lines,
        "medians": {name: {k: round(v, 3) for k, v in vars(c).items()} for name, c in medians.items()},
        "ratios": ratios(medians),
        "rounds": rounds,
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "libcst": version("libcst"),
        "graphdoctor": version("graphdoctor"),
    }
    click.echo(json.dumps(result, indent=2))
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
