"""Programs, fixed and compared with what they were: what differs, and how much was compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import torch

from benchmarks.fix_safety.compare import Difference, differences
from benchmarks.fix_safety.fixing import Fixed
from benchmarks.fix_safety.inputs import Input, inputs_for, inputs_of_sample
from benchmarks.fix_safety.observe import observe


@dataclass(frozen=True)
class Checked:
    """What came of a program: on how many inputs the original ran, and the first that shows a difference."""

    fixed: Fixed
    inputs: int = 0
    ran: int = 0
    failing_input: Input | None = None
    found: tuple[Difference, ...] = ()
    #: True where the difference shows only in what compiled code is made of, behind the guards of the fix.
    under_compile: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of difference, as the tables show them."""
        return tuple(sorted({f"{d.kind}, compiled" if self.under_compile else d.kind for d in self.found}))


def check(fixed: Fixed, inputs: int) -> Checked:
    """Compare a fixed program with the original on ``inputs`` inputs on which it runs, of three times as many drawn.

    They depend on the name of the program alone.
    """
    program = fixed.program
    if fixed.text == program.text:
        return Checked(fixed)
    drawn = inputs_for(program.arguments, crc32(program.name.encode()), 3 * inputs)
    return check_on(fixed, drawn, inputs)


def check_on(fixed: Fixed, inputs: Sequence[Input], most: int = 1000) -> Checked:
    """The same on ``inputs``, ``most`` of those it runs on, up to the first that shows a difference."""
    program = fixed.program
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ran = 0
        for one in inputs:
            if ran == most:
                break
            before = observe(program, program.text, one)
            if before.failed or not before.calls or before.calls[0].exception:
                continue
            ran += 1
            after = observe(program, fixed.text, one)
            if after.failed:
                found = [Difference("exception", "import", "none", after.failed)]
                return Checked(fixed, len(inputs), ran, one, tuple(found))
            found = differences(before, after)
            if found:
                return Checked(fixed, len(inputs), ran, one, tuple(found))
            texts = fixed.as_compiled
            if texts is not None:
                found = differences(observe(program, texts[0], one), observe(program, texts[1], one), output=False)
                if found:
                    return Checked(fixed, len(inputs), ran, one, tuple(found), under_compile=True)
        return Checked(fixed, len(inputs), ran)
    finally:
        torch.set_num_threads(threads)


def check_verified(fixed: Fixed) -> Checked:
    """Compare a program that was fixed with a run, on its sample and on what verification varies of it."""
    if fixed.text == fixed.program.text:
        return Checked(fixed)
    return check_on(fixed, inputs_of_sample(fixed.program.sample))
