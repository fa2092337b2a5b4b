"""The numbers in front of what a scan is doing."""

from __future__ import annotations

from graphdoctor.dynamic.parent import stages
from graphdoctor.model.activity import Activity
from graphdoctor.scan.step_progress import StepProgress


def shown(mode: str, verifies: bool, goes_on: bool, *texts: str) -> list[str]:
    told: list[str] = []
    progress = StepProgress(told.append, mode, verifies, goes_on)
    for text in texts:
        progress(text)
    return told


def test_steps_are_counted_in_the_order_of_a_scan() -> None:
    texts = ["reading 3 files", "importing torch", stages.BUILD, f"{stages.EAGER} (eval)", f"{stages.COMPILE} (eval)"]
    texts += [f"{stages.FULLGRAPH} (eval)", f"{stages.COMPILE} (train)", stages.TRAINING, stages.VERIFY]
    texts += [f"{stages.RECOMPILES} (eval)", next(stage for stage in stages.SHARES if stage != stages.RECOMPILES)]
    numbers = [text.partition("]")[0] for text in shown("both", True, True, *texts)]
    assert numbers == [f"[{n}/9" for n in (1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9)]


def test_steps_never_go_back() -> None:
    texts = [stages.VERIFY, stages.TORCH, f"{stages.RECOMPILES} (eval)", f"{stages.RECOMPILES} (train)"]
    assert [text.partition("]")[0] for text in shown("eval", True, True, *texts)] == ["[5/7", "[5/7", "[6/7", "[6/7"]


def test_what_is_left_out_has_no_number() -> None:
    assert shown("eval", False, False, f"{stages.FULLGRAPH} (eval)") == [f"[4/4] {stages.FULLGRAPH} (eval)"]
    assert shown("eval", False, False, stages.VERIFY, "something else") == [stages.VERIFY, "something else"]


def test_a_run_says_how_long_it_may_take() -> None:
    told: list[str] = []
    progress = StepProgress(told.append, "eval", verifies=True, goes_on=False)
    progress("reading 1 file")
    progress.run(120.0)(f"{stages.COMPILE} (eval)")
    progress.verifying("2 fixes together")
    first, *others = told
    assert isinstance(first, Activity) and first.limit is None
    assert [isinstance(text, Activity) and text.limit for text in others] == [120.0, 120.0]
    assert others[1] == f"[5/5] {stages.VERIFY}: 2 fixes together"
