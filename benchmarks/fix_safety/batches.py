"""Programs of some seeds, fixed by one scan, and compared: what one process is given at a time."""

from __future__ import annotations

from benchmarks.fix_safety.check import Checked, check
from benchmarks.fix_safety.fixing import statically_fixed
from benchmarks.fix_safety.grammar.programs import program


def checked_batch(batch: tuple[range, int]) -> list[Checked]:
    """The programs of the seeds, each compared on as many inputs as the second item says."""
    seeds, inputs = batch
    return [check(fixed, inputs) for fixed in statically_fixed([program(seed) for seed in seeds])]
