"""``python -m benchmarks.fix_safety``, from the repository's root: does a fix that is called safe change behaviour?

Programs of a seeded grammar are fixed as ``graphdoctor scan --no-run --fix`` fixes files; original and fixed text run
in eager on inputs of many dtypes, shapes, values and layouts, and everything that docs/design.md lists is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.fix_safety.batches import checked_batch
from benchmarks.fix_safety.check import Checked, check_verified
from benchmarks.fix_safety.fixing import verified_fixed
from benchmarks.fix_safety.grammar.programs import program
from benchmarks.fix_safety.reduce import reduced
from benchmarks.fix_safety.report import as_json, groups, shown, table

#: Programs that one scan takes.
_BATCH = 100


@click.command()
@click.option("--programs", default=1000, show_default=True, help="How many programs.")
@click.option("--seed", default=0, show_default=True, help="The seed of the first program; each has its own.")
@click.option("--inputs", default=16, show_default=True, help="Inputs for each program that is changed.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option(
    "--verified", default=0, show_default=True, help="Also so many programs with a run, which verifies fixes."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write every difference to this file.")
@click.option("--keep", type=click.Path(path_type=Path), help="Write each differing program to this folder.")
@click.option("--show", default=1, show_default=True, help="Differences shown in full of each group, made smaller.")
def main(
    programs: int,
    seed: int,
    inputs: int,
    jobs: int,
    verified: int,
    json_file: Path | None,
    keep: Path | None,
    show: int,
) -> None:
    """Generate programs, fix them, and compare them with what they were."""
    checked = list(_all(programs, seed, inputs, jobs))
    if programs:
        click.echo(table(checked))
    if verified:
        with_run = [check_verified(verified_fixed(program(seed + n, with_sample=True))) for n in range(verified)]
        click.echo(
            f"\nwith a run, which verifies fixes, compared on the sample and what is varied of it:\n{table(with_run)}"
        )
        checked += with_run
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for one in (c for c in checked if c.found):
            (keep / f"{one.fixed.program.name}.py").write_text(one.fixed.program.text, encoding="utf-8")
            (keep / f"{one.fixed.program.name}.txt").write_text(shown(one) + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps([as_json(c) for c in checked if c.found], indent=1) + "\n", encoding="utf-8")
    # Making programs smaller takes longest, and what was found is on disk by then.
    found = groups(checked)
    for key, members in found.items():
        click.echo(f"\n## {len(members)} of {', '.join(key)}\n")
        for one in members[:show]:
            click.echo(shown(reduced(one)))
    if any(c.found for c in checked):
        raise SystemExit(1)


def _all(programs: int, seed: int, inputs: int, jobs: int) -> Iterator[Checked]:
    batches = [
        (range(start, min(start + _BATCH, seed + programs)), inputs) for start in range(seed, seed + programs, _BATCH)
    ]
    if jobs == 1:
        for batch in batches:
            yield from checked_batch(batch)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for made in pool.map(checked_batch, batches):
            yield from made


if __name__ == "__main__":
    main()
