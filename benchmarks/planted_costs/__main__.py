"""Four models whose costs are planted, each through ``graphdoctor bench``: the verdict, and the table below it.

    python -m benchmarks.planted_costs [--json FILE]

Eager code and compiled graphs wait for known times (model.py): one strategy is clearly best, one ties with eager, all
are slower, or the gain of the fastest is real and too small for its compilation. It takes two minutes, most of them
waiting.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.planted_costs.model import COSTS

_ROOT = Path(__file__).parents[2]
_FILE = """import sys

sys.path.append({root!r})
from benchmarks.planted_costs.model import planted


def graphdoctor_target():
    return planted({name!r})
"""
_SHOWN = ("strategy", "step", "speed-up", "paid back after")
#: How the verdict has to begin, and what the column "paid back after" has to say of each strategy.
_STEPS = r"[\d,]+ steps?"
_RIGHT = {
    "best": ("Compile with the strategy default", {"default": _STEPS, "regional": _STEPS, "dynamic": "never"}),
    "tie": (
        # The second where other work on the machine makes the times scatter.
        "Not worth compiling: .* no gain of 5 % is possible|Cannot tell",
        dict.fromkeys(("default", "regional", "dynamic"), "cannot tell|never"),
    ),
    "slower": (
        "Not worth compiling: regional is the fastest and 0.",
        {"default": "never", "regional": "never", "dynamic": "never"},
    ),
    "never_paid_back": (
        "Not worth compiling: default is the fastest",
        {"default": _STEPS, "regional": "never", "dynamic": "never"},
    ),
}


def main() -> int:
    """Print the four; 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {name: measured(name) for name in COSTS}
    wrong = {name: text for name, (headline, rows) in found.items() if (text := mistake(name, headline, rows))}
    for name, (headline, rows) in found.items():
        print(f"{name}: {headline}")
        for row in rows.values():
            print(
                "   ", "  ".join(f"{row[column]:16}" for column in ("strategy", "step", "speed-up", "paid back after"))
            )
        print(f"    {'WRONG: ' + wrong[name] if name in wrong else 'right'}")
    if options.json is not None:
        kept = {
            name: {"planted": COSTS[name]._asdict(), "verdict": headline, "right": name not in wrong, "table": rows}
            for name, (headline, rows) in found.items()
        }
        options.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def measured(name: str) -> tuple[str, dict[str, dict[str, str]]]:
    """The headline, and the rows of the table by strategy, as the report shows them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "planted.py").write_text(_FILE.format(root=str(_ROOT), name=name), encoding="utf-8")
        command = [sys.executable, "-m", "graphdoctor", "bench", "planted.py", "--backend", "planted"]
        command += ["--strategies", "default,regional,dynamic", "--output-format", "markdown"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    headline, table = done.stdout.splitlines()[0].removeprefix("### "), []
    for line in done.stdout.splitlines():
        if line.startswith("| "):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
    return headline, {row[0]: dict(zip(table[0], row, strict=True)) for row in table[2:]}


def mistake(name: str, headline: str, rows: dict[str, dict[str, str]]) -> str:
    """What is wrong with the verdict or the table; empty where nothing is."""
    begins, paid_back = _RIGHT[name]
    if not re.match(begins, headline):
        return f"expected {begins!r}"
    for strategy, expected in paid_back.items():
        if not re.fullmatch(expected, rows[strategy]["paid back after"]):
            return f"{strategy}: paid back after {rows[strategy]['paid back after']!r}"
    strategy = re.search(r"strategy (\w+)|: (\w+) (?:is the fastest|takes) ", headline)
    assert strategy is not None
    row = rows[strategy[1] or strategy[2]]
    missing = [row["step"]] + ([row["speed-up"][:-1]] if " times as fast" in headline else [])
    if row["paid back after"][:1].isdigit():
        missing.append(row["paid back after"])
    missing = [text for text in missing if text not in headline]
    return f"the headline does not have {missing} of the table" if missing else ""


if __name__ == "__main__":
    sys.exit(main())
