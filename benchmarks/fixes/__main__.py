"""``python -m benchmarks.fixes CASES``: the breaks of real models before and after the fixes that were verified.

CASES has a folder for each model: sample.py with a graphdoctor_target(), and beside it the sources that it imports,
which count as the user's own. Each is fixed on a copy in WORK; what WORK has a result of is not run again.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.accuracy.environment import versions
from benchmarks.fixes.case import SAMPLE, Result, Written, measure
from benchmarks.fixes.table import markdown, summary, with_tables


@click.command(help=__doc__)
@click.argument("cases", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("work", type=click.Path(file_okay=False, path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="These cases; default: all.")
@click.option("--mode", type=click.Choice(["eval", "train", "both"]), default="eval", show_default=True)
@click.option("--timeout", default=120.0, show_default=True, help="Seconds for each run.")
@click.option("--only-score", is_flag=True, help="Run nothing: count what WORK holds.")
@click.option("--json", "output", type=click.Path(path_type=Path), help="Save the result here.")
@click.option("--docs", type=click.Path(exists=True, path_type=Path), help="Put the tables into this page.")
def main(
    cases: Path,
    work: Path,
    only: tuple[str, ...],
    mode: str,
    timeout: float,
    only_score: bool,
    output: Path | None,
    docs: Path | None,
) -> None:
    work.mkdir(parents=True, exist_ok=True)
    results = []
    for case in sorted(file.parent for file in cases.glob(f"*/{SAMPLE}")):
        kept = work / f"{case.name}.json"
        if only and case.name not in only:
            continue
        if not kept.exists():
            if only_score:
                continue
            result = measure(case, work, mode, timeout)
            kept.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
            click.echo(f"{case.name}: {result.error or f'{result.before} -> {result.after}'}", err=True)
        results.append(_load(kept))
    found = {**summary(results), "mode": mode, **versions()}
    click.echo(markdown(found))
    if output:
        output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if docs:
        docs.write_text(with_tables(docs.read_text(encoding="utf-8"), markdown(found)), encoding="utf-8")


def _load(file: Path) -> Result:
    data = json.loads(file.read_text(encoding="utf-8"))
    fixes = tuple(Written(**fix) for fix in data["fixes"])
    return Result(**{**data, "fixes": fixes, "left": tuple(data["left"])})


if __name__ == "__main__":
    main()
