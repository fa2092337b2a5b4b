"""What a run did not check, in a few words."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import FullGraph, Sweep
from graphdoctor.report.html import page
from graphdoctor.report.html.gaps import in_brief


def test_each_gap_is_named_once(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    eval_run = replace(rich.dynamic[0], mode="eval", device="cpu", ladder=None)
    train_run = replace(eval_run, mode="train", sweeps=(), recompiles=())
    assert in_brief(replace(rich, dynamic=(eval_run,))) == ("train mode", "GPU", "speed")
    assert in_brief(replace(rich, dynamic=(eval_run, train_run))) == ("recompiles in train mode", "GPU", "speed")
    watched = replace(eval_run, mode="train", fullgraph=FullGraph(None, "read from a trace"), numerics=None)
    found = replace(rich, dynamic=(watched,), verification=None)
    assert in_brief(found) == ("fullgraph=True", "outputs", "GPU", "speed", "fixes")
    none = replace(eval_run, device="cuda", sweeps=(), recompiles=())
    assert in_brief(replace(rich, dynamic=(none, replace(none, mode="train")))) == ("recompiles", "speed")
    swept = replace(none, sweeps=(Sweep("batch", True, 2, 1),))
    assert in_brief(replace(rich, dynamic=(swept, replace(swept, mode="train")))) == ("speed",)


def test_where_nothing_ran_to_its_end_nothing_is_listed(clean: Diagnosis, rich: Diagnosis) -> None:
    assert in_brief(clean) == ()
    assert rich.dynamic is not None
    raised = replace(rich, dynamic=(replace(rich.dynamic[0], outcome="raised"),))
    assert in_brief(raised) == ()
    assert "Not checked</a>:" not in page.render(raised)
    assert 'href="#unchecked">Not checked</a>: ' in page.render(rich)
