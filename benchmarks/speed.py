"""What a static scan costs, in CPU seconds, beside parsing alone.

``python benchmarks/speed.py PATH...`` measures, in one process and on the same files, ``ast.parse``,
``libcst.parse_module`` and the whole static pass, and prints the median of five rounds of each and the ratios. Ratios
carry over between machines better than seconds do. ``--json FILE`` saves the result with its versions.
"""

from __future__ import annotations

import ast
import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click
import libcst

from graphdoctor.api import ScanOptions, scan

ROUNDS = 5


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process, one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def sources(paths: tuple[Path, ...]) -> list[str]:
    """The texts of all Python files under ``paths``."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    return [file.read_text() for file in files]


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "output", type=click.Path(path_type=Path), help="Save the result here.")
def main(paths: tuple[Path, ...], output: Path | None) -> None:
    texts = sources(paths)
    options = ScanOptions(paths=tuple(str(path) for path in paths), run=False)
    work: dict[str, Callable[[], object]] = {
        "ast.parse": lambda: [ast.parse(text) for text in texts],
        "libcst.parse_module": lambda: [libcst.parse_module(text) for text in texts],
        "static scan": lambda: scan(options),
    }
    rounds = [{name: cpu_seconds(call) for name, call in work.items()} for _ in range(ROUNDS)]
    seconds = {name: statistics.median(one[name] for one in rounds) for name in work}
    result = {
        "files": len(texts),
        "lines": sum(len(text.splitlines()) for text in texts),
        "cpu_seconds": {name: round(value, 3) for name, value in seconds.items()},
        "scan_to_libcst": round(seconds["static scan"] / seconds["libcst.parse_module"], 2),
        "scan_to_ast": round(seconds["static scan"] / seconds["ast.parse"], 2),
        "rounds": ROUNDS,
        "python": platform.python_version(),
        "libcst": version("libcst"),
        "graphdoctor": version("graphdoctor"),
    }
    click.echo(json.dumps(result, indent=2))
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
