"""The table of strategies: ``python benchmarks/captioning [--original] [--backend NAME] [--rows TEXT] [--json FILE]``.

Tiny on a CPU; ``--original`` takes the sizes of the study, which need a GPU. Each row runs in a process of its own with
an empty compile cache (the cached one after the row that fills it), and a row that fails leaves a line that says why.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from published import ROWS, WARM_UP, Row

#: Seconds after which a row is given up.
_LIMIT = 900


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/captioning")
    parser.add_argument("--original", action="store_true", help="the sizes of the study; needs a GPU")
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    print(f"{'':44}{'steps/s':>9}{'warm-up':>10}{'graphs':>8}{'published':>11}{'warm-up':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for number, row in enumerate(ROWS):
            if options.rows not in row.name:
                continue
            cache = "dynamic: mark_dynamic" if row.cached else row.name
            found[row.name] = _measure(number, options, Path(folder) / cache.replace(":", ""))
            print(_line(row, found[row.name]), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"published": "A100, torch 2.7", "rows": found}, indent=2) + "\n")


def _measure(number: int, options: argparse.Namespace, cache: Path) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).with_name("row.py")), str(number), options.backend]
    if options.original:
        command.append("original")
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return {"failure": f"stopped after {_LIMIT} s"}
    if done.returncode:
        return {"failure": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _line(row: Row, result: dict[str, Any]) -> str:
    if "failure" in result:
        return f"{row.name:44}failed: {result['failure']}"
    published = f"{row.published:.2f}" if row.published else "-"
    warm_up = f"{WARM_UP[row.name]:.0f} s" if row.name in WARM_UP else "-"
    return (
        f"{row.name:44}{result['steps_per_second']:9.2f}{result['warm_up']:8.1f} s{result['graphs']:8}"
        f"{published:>11}{warm_up:>10}"
    )


if __name__ == "__main__":
    main()
