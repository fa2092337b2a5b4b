"""What it costs to follow the packages that one file calls from what it compiles, in CPU seconds.

``python benchmarks/libraries.py FILE... [--python ENVIRONMENT]`` scans each file with an empty cache and again with the
full one, each also with ``--only-given``, which follows nothing, and prints the medians and their ratios.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from speed import cost, median

_ROUNDS = 3


def _seconds(file: str, python: str | None, cache: str | None, *options: str) -> float:
    """The median of the CPU seconds of a scan, without what is kept where ``cache`` is None."""
    where = ["--python", python] if python else []
    kept = ["--cache-dir", cache] if cache else ["--no-cache"]
    command = [sys.executable, "-m", "graphdoctor", "scan", file, "--no-run", "--exit-zero", *where, *kept, *options]
    return median([cost(command) for _ in range(_ROUNDS)]).cpu


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--python", type=click.Path(exists=True), help="The environment that has the packages.")
def main(files: tuple[str, ...], python: str | None) -> None:
    """Measure each of FILES."""
    for file in files:
        cold, alone = _seconds(file, python, None), _seconds(file, python, None, "--only-given")
        with tempfile.TemporaryDirectory() as cache:
            for options in ((), ("--only-given",)):
                _seconds(file, python, cache, *options)
            warm, warm_alone = (
                _seconds(file, python, cache),
                _seconds(file, python, cache, "--only-given"),
            )
        click.echo(
            f"{Path(file).name}: cold {cold:.2f} s, {cold / alone:.2f} x without packages; "
            f"warm {warm:.2f} s, {warm / warm_alone:.2f} x"
        )


if __name__ == "__main__":
    main()
