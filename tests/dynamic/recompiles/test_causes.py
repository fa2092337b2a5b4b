from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.dynamic.recompiles.advice import advice
from graphdoctor.dynamic.recompiles.causes import causes
from graphdoctor.dynamic.recompiles.compiled_calls import Call
from graphdoctor.dynamic.tracing.capture import Failed, Recording, Start

LAYER = """\
class Layer:
    def __init__(self, causal):
        self.causal = causal

    def forward(self, x):
        return x.tril() if self.causal else x
"""
NOTHING: Any = None


@pytest.mark.parametrize(
    ("text", "start"),
    [(LAYER, "remove the graph breaks"), (LAYER + "        self.causal = True\n", "set it once")],
)
def test_an_attribute_that_differs_by_instance_is_not_to_be_set_once(tmp_path: Path, text: str, start: str) -> None:
    file = str(tmp_path / "net.py")
    Path(file).write_text(text)

    def call(attempt: int, *failed: Failed) -> Call:
        recording = Recording(starts=[Start(1, attempt, file, 5)], recompiles=list(failed))
        return Call(recording, frozenset(), {}, NOTHING, shared=((file, 5, 7),))

    (cause,) = causes([call(0), call(1, Failed(1, 1, ("1/0: L['self'].causal == False",)))])
    assert (advice(cause) or "").startswith(start)


@pytest.mark.parametrize(
    ("guard", "start"),
    [
        ("len(L['inputs']) == 2", "remove the graph breaks"),
        ("tuple index out of range", "remove the graph breaks"),
        # An argument of what is compiled, and what a module keeps, may change from call to call.
        ("len(L['xs']) == 2", "keep the length"),
        ("len(L['self'].seen) == 2", "fill it before the first call"),
    ],
)
def test_a_length_that_differs_between_the_calls_of_a_submodule_is_not_to_be_kept(
    tmp_path: Path, guard: str, start: str
) -> None:
    file = str(tmp_path / "net.py")
    Path(file).write_text(LAYER)

    def call(attempt: int, *failed: Failed) -> Call:
        recording = Recording(starts=[Start(1, attempt, file, 5)], recompiles=list(failed))
        return Call(recording, frozenset({"xs"}), {}, NOTHING, shared=((file, 5, 7),))

    (cause,) = causes([call(0), call(1, Failed(1, 1, (f"1/0: {guard}",)))])
    assert (advice(cause) or "").startswith(start)


@pytest.mark.parametrize(("rounds", "start"), [(2, "remove the graph breaks"), (1, "keep `requires_grad`")])
def test_what_a_loop_runs_in_each_round_is_compiled_again_for_the_break_in_it(
    tmp_path: Path, rounds: int, start: str
) -> None:
    """The function is the one that is compiled as a whole, so what runs several times is the rest of it."""
    file = str(tmp_path / "net.py")
    guard = "1/0: tensor 'state' requires_grad mismatch. expected requires_grad={}"

    def call(number: int) -> Call:
        starts = [Start(1, number * rounds + each, file, 5) for each in range(rounds)]
        first = 1 if number == 0 else 0
        failed = [Failed(1, start.attempt, (guard.format(start.attempt % 2),)) for start in starts[first:]]
        return Call(Recording(starts=starts, recompiles=failed), frozenset({"x"}), {}, NOTHING, whole=(file, 5, 9))

    (cause,) = causes([call(0), call(1)])
    assert (advice(cause) or "").startswith(start)
