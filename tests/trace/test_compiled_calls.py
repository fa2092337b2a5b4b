"""A cause is one for the functions that a call comes through, and another one for each model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.trace.diagnose import diagnose

if TYPE_CHECKING:
    from conftest import Traces

TEXT = """\
class Actor:
    def forward(self, x):
        return self.layer(x)


class Critic:
    def forward(self, x):
        return self.layer(x)


class Layer:
    def forward(self, x):
        return x.relu()
"""
ACTOR, CRITIC, LAYER = 2, 7, 12


def test_two_models_have_a_cause_each_and_their_layers_none_of_their_own(traces: Traces, tmp_path: Path) -> None:
    net = tmp_path / "net.py"
    net.write_text(TEXT)
    records = b""
    for frame, line in enumerate((ACTOR, LAYER, CRITIC)):
        callers = ((ACTOR + 1, "forward"),) if line == LAYER else ()
        records += traces.start(frame, 0, str(net), line, callers=callers)
        reason = f"{frame}/0: tensor 'x' size mismatch at index 0. expected 8, actual 6"
        records += traces.artifact("recompile_reasons", reason, frame, 1)
        records += traces.start(frame, 1, str(net), line, callers=callers)
    traces.write(0, records)
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert [(one.line, one.input, one.caused) for one in found] == [(ACTOR, "x", 1), (CRITIC, "x", 1)]
