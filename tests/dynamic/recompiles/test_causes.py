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
