"""What the usage and recompile rules (GD6xx, GD7xx) say of other people's code, each finding with a verdict.

``python benchmarks/foreign_usage.py FOLDER`` scans the checkouts in FOLDER, one folder ``OWNER+NAME`` for each
repository of ``results/usage.json`` at the commit that the table names, without running anything. Findings that the
table knows keep their verdict ("right", "debatable" or "wrong", and why, judged by reading the code), others are new.
The table is written anew, and the counts for each rule are printed. ``--table usage-unseen.json`` is the same with
repositories that no rule was written on; what was found there first, before anything was mended, stays in the table
under ``first``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

RESULTS = Path(__file__).with_name("results")

#: What a finding may be, in the order in which they are counted.
VERDICTS = ("right", "debatable", "wrong", "new")

#: What names a finding.
KEY = ("rule", "repository", "path", "line")


def findings(checkout: Path) -> list[dict[str, Any]]:
    """The findings in one checkout."""
    options = ["--no-run", "--select", "GD6,GD7", "--output-format", "json"]
    command = [sys.executable, "-m", "graphdoctor", "scan", str(checkout), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    repository = checkout.name.replace("+", "/")
    return [
        {name: found[name] for name in ("rule", "path", "line", "severity", "message")} | {"repository": repository}
        for found in json.loads(done.stdout)["findings"]
    ]


def judged(found: list[dict[str, Any]], known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was found, with the verdicts that are known; "new" where there is none."""
    verdicts = {tuple(each[name] for name in KEY): each for each in known}
    rows = []
    for each in found:
        before = verdicts.get(tuple(each[name] for name in KEY), {})
        rows.append(each | {"verdict": before.get("verdict", "new"), "why": before.get("why", "")})
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


def counts(rows: list[dict[str, Any]]) -> list[tuple[str, int, int, int, int]]:
    """Rule, right, debatable, wrong and new, for each rule."""
    found = Counter((row["rule"], row["verdict"]) for row in rows)
    rules = sorted({row["rule"] for row in rows})
    return [(rule, *(found[rule, verdict] for verdict in VERDICTS)) for rule in rules]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--table", "name", default="usage.json", show_default=True, help="The file in benchmarks/results.")
def main(folder: Path, name: str) -> None:
    """Scan the checkouts in FOLDER and write the table anew."""
    file = RESULTS / name
    table = json.loads(file.read_text(encoding="utf-8"))
    checkouts = [folder / each["repository"].replace("/", "+") for each in table["repositories"]]
    found = [each for checkout in checkouts if checkout.is_dir() for each in findings(checkout)]
    table["findings"] = judged(found, table["findings"])
    file.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for rule, *found_so in counts(table["findings"]):
        print(f"{rule}: {', '.join(f'{count} {verdict}' for count, verdict in zip(found_so, VERDICTS, strict=True))}")


if __name__ == "__main__":
    main()
