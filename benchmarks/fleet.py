"""A fleet of models of transformers, diffusers and timm: the list, and the record of what came of it.

    python -m benchmarks.fleet list FOLDER --count 150
    OMP_NUM_THREADS=1 graphdoctor fleet FOLDER/models.toml --output FOLDER/fleet --jobs 2 -- --mode eval --quick
    python -m benchmarks.fleet record FOLDER/fleet --json benchmarks/results/fleet.json

The list takes every n-th model class of transformers and of diffusers, and every n-th of the small models of timm. All
have random weights, those of transformers and diffusers small configurations too.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.accuracy import diffusers_models
from graphdoctor.dynamic.named.listing import matching
from graphdoctor.fleet.store import existing

#: Of a list, how many are of transformers and diffusers; the rest is of timm.
_SHARES = (0.6, 0.15)
#: Models of timm that fit a small machine.
_SMALL = re.compile(r"atto|femto|pico|nano|tiny|mini|small|_xxs|_xs|18|_s0|b0|050|075")
_SAMPLE = """import sys

sys.path.append({root!r})
from benchmarks.accuracy.diffusers_models import build


def graphdoctor_target():
    return build({name!r})
"""


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("list")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--count", default=150, show_default=True)
def list_(folder: Path, count: int) -> None:
    """Write FOLDER/models.toml, and the samples of diffusers that it names."""
    (folder / "diffusers").mkdir(parents=True, exist_ok=True)
    of_transformers, of_diffusers = (round(share * count) for share in _SHARES)
    targets = _every(matching("hf:*"), of_transformers)
    for name in _every(list(diffusers_models.names()), of_diffusers):
        text = _SAMPLE.format(root=str(Path(__file__).parents[1]), name=name)
        (folder / f"diffusers/{name}.py").write_text(text, encoding="utf-8")
        targets.append(f"diffusers/{name}.py")
    small = [name for name in matching("timm:*") if _SMALL.search(name)]
    targets += _every(small, count - len(targets))
    # In turns, so that a fleet that is stopped has some of each library.
    targets = [name for start in range(7) for name in targets[start::7]]
    (folder / "models.toml").write_text(f"targets = {json.dumps(targets, indent=4)}\n", encoding="utf-8")
    print(f"{len(targets)} targets: {folder / 'models.toml'}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "output", type=click.Path(path_type=Path))
def record(folder: Path, output: Path | None) -> None:
    """Sum up a fleet."""
    results = existing(folder)
    states = Counter(result.summary.verdict if result.summary else result.outcome for result in results.values())
    breaks = {name: r.summary.breaks for name, r in results.items() if r.summary and r.summary.breaks}
    found = {
        "targets": len(results),
        "states": dict(states.most_common()),
        "breaking": dict(sorted(breaks.items())),
        "seconds": {
            "median": round(statistics.median(r.seconds for r in results.values()), 1),
            "longest": round(max(r.seconds for r in results.values()), 1),
        },
        "peak_mb": max(r.memory_mb for r in results.values()),
        "without_report": {name: f"{r.outcome}: {r.detail}" for name, r in results.items() if r.summary is None},
    }
    print(json.dumps(found, indent=2))
    if output is not None:
        output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _every(names: Sequence[str], count: int) -> list[str]:
    return [names[number * len(names) // count] for number in range(min(count, len(names)))]


if __name__ == "__main__":
    main()
