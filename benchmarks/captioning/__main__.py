"""The table of strategies of the study, ours beside the published one.

    python -m benchmarks.captioning [--original] [--backend NAME] [--rows TEXT] [--limit SECONDS] [--json FILE]

Tiny on a CPU; ``--original`` takes the sizes of the study, which need a GPU. Each row runs in a process of its own with
an empty compile cache (the cached one after the row that fills it), and a row that fails leaves a line that says why.
Each result is written at once, in the place of an earlier one of the same row and size, so Ctrl-C keeps what there is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.captioning.published import ROWS, SOURCE, WARM_UP, Row

_ROOT = Path(__file__).parents[2]
_RESULTS = _ROOT / "benchmarks/results/captioning.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.captioning")
    parser.add_argument("--original", action="store_true", help="the sizes of the study; needs a GPU")
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="give a row up after this time")
    parser.add_argument("--json", type=Path, metavar="FILE", default=_RESULTS, help="where the results go")
    options = parser.parse_args()
    print(f"{'':44}{'steps/s':>9}{'warm-up':>10}{'graphs':>8}{'published':>11}{'warm-up':>10}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, row in enumerate(ROWS):
                if options.rows not in row.name:
                    continue
                found = _measure(number, options, Path(folder) / cache_name(row))
                print(_line(row, found), flush=True)
                _write(options.json, "original" if options.original else "tiny", row.name, found)
        except KeyboardInterrupt:
            print("interrupted")


def cache_name(row: Row) -> str:
    """The folder of the compile cache of ``row``; that of the row before is the cached one's.

    Letters alone: Inductor gives paths to the C++ compiler in a line that is split at spaces.
    """
    return re.sub(r"\W+", "-", row.name.removesuffix(", cached"))


def _measure(number: int, options: argparse.Namespace, cache: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.captioning.row", str(number), options.backend]
    if options.original:
        command.append("original")
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "PYTHONPATH": str(_ROOT)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"failure": f"stopped after {options.limit:.0f} s"}
    if done.returncode:
        return {"failure": _reason(done.stderr)}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**result, "load": os.getloadavg()[0]}


def _reason(stderr: str) -> str:
    """The line that names the exception, else the last one: torch adds advice after its errors."""
    lines = stderr.strip().splitlines() or ["no message"]
    return next(
        (line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception|Unsupported|Failed)\b", line)), lines[-1]
    )


def _write(file: Path, size: str, row: str, found: dict[str, Any]) -> None:
    """Put one row into the file; what is there of other rows, and of the other size from another machine, stays."""
    before = json.loads(file.read_text()) if file.exists() else {}
    sizes = {name: before.get(name, "unverified: not run yet") for name in ("tiny", "original")}
    rows = sizes[size] if isinstance(sizes[size], dict) else {}
    sizes[size] = {entry.name: ({**rows, row: found}).get(entry.name, "not run yet") for entry in ROWS}
    published = {row.name: {"steps_per_second": row.published, "warm_up": WARM_UP.get(row.name)} for row in ROWS}
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps({"published": {"source": SOURCE, "rows": published}, **sizes}, indent=2) + "\n")
    temporary.replace(file)


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
