"""What holds of fixes that were proved on several saved calls of a program."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from graphdoctor.fixes.verification.verify import Verified
from graphdoctor.model.findings import Finding, Fix, Location
from graphdoctor.model.labels import Label, label
from graphdoctor.model.runs import Dropped, Numerics, Verification
from graphdoctor.program.samples import Saved, write_samples
from graphdoctor.program.several_calls import OnCall, graded, together
from graphdoctor.recorder.saved_call import load
from graphdoctor.trace.files import TraceFile
from graphdoctor.trace.process import Process

FOUND = Finding(
    "GD201",
    "tensor-condition",
    "error",
    "certain",
    Location("train.py", 3, 4, 3, 9),
    "f",
    "fact",
    "why",
    "do",
    fingerprint="1",
)
UNSAFE = Fix("unsafe", "Both sides are computed.", ())
VERIFIED = replace(UNSAFE, verified=True, grade="general")
REFUSED = replace(UNSAFE, grade="none")
NOT_REACHED = replace(UNSAFE, doubts="its line did not run")


def on_call(name: str, fix: Fix | None, passes: bool = True, difference: float = 0.0) -> OnCall:
    found = replace(FOUND, fix=fix)
    verification = Verification(
        fixes=(found.fingerprint,),
        graphs=1,
        breaks=0 if passes else 1,
        fullgraph_passes=passes,
        numerics=Numerics(difference == 0, difference, "1e-5"),
        grade="general" if passes else "none",
        detail="Before: 1 graph break.",
        dropped=(Dropped(found.fingerprint, "the results differ"),) if fix is REFUSED else (),
    )
    return OnCall(Saved(Path(f"{name}.py"), name, False), Verified(verification, (found,)), frozenset(), ())


@pytest.mark.parametrize(
    ("fixes", "expected"),
    [
        ((VERIFIED, None), "verified"),
        ((None, VERIFIED), "verified"),
        ((NOT_REACHED, VERIFIED), "verified"),
        ((VERIFIED, UNSAFE), "unsafe"),
        ((VERIFIED, REFUSED), "refused"),
        ((NOT_REACHED, NOT_REACHED), "unsafe"),
    ],
)
def test_the_worst_of_the_calls_that_reach_a_fix_holds(fixes: tuple[Fix | None, ...], expected: Label) -> None:
    result = together([on_call(name, fix) for name, fix in zip("ab", fixes, strict=True)])
    (found,) = result.findings
    assert found.fix is not None and label(found.fix) == expected
    refused = expected == "refused"
    assert result.verification.fixes == (() if refused else (found.fingerprint,))
    assert [dropped.reason for dropped in result.verification.dropped] == ["the results differ"] * refused


def test_a_fix_that_was_tried_on_no_call_stays() -> None:
    found = replace(FOUND, fix=UNSAFE)
    assert graded([found], together([on_call("a", None), on_call("b", None)])) == [found]
    assert graded([found], on_call("a", VERIFIED).result) == [replace(FOUND, fix=VERIFIED)]


def test_all_calls_must_pass() -> None:
    good, bad = on_call("good", VERIFIED), on_call("bad", VERIFIED, passes=False, difference=0.5)
    result = together([good, bad]).verification
    assert (result.graphs, result.breaks, result.fullgraph_passes, result.grade) == (2, 1, False, "none")
    assert result.numerics == Numerics(False, 0.5, "1e-5")
    assert result.detail == "good: Before: 1 graph break. bad: Before: 1 graph break."
    assert together([good]) is good.result
    unknown = replace(bad.result.verification, numerics=None, fullgraph_passes=None)
    not_compared = replace(bad, result=replace(bad.result, verification=unknown))
    result = together([good, not_compared]).verification
    assert (result.numerics, result.fullgraph_passes) == (None, None)


def test_what_passes_in_one_call_and_breaks_in_another_is_not_passed() -> None:
    first, second = on_call("a", None), on_call("b", None)
    (found,) = first.result.findings
    passing = replace(first, result=replace(first.result, passed=frozenset({found.fingerprint})))
    assert together([passing, second]).passed == {found.fingerprint}
    assert together([passing, replace(second, broke=frozenset({found.fingerprint}))]).passed == frozenset()


def test_layers_that_cannot_be_saved_for_one_reason_are_told_once(tmp_path: Path) -> None:
    process = Process(TraceFile(tmp_path / "trace.log", 0), 0)
    process.notes = {
        "graphdoctor_program": [{"main": str(tmp_path / "train.py")}],
        "graphdoctor_sample": [{"name": "Block", "problem": "no"}] * 3 + [{"name": "Head", "problem": "no"}],
    }
    saved, notes = write_samples(tmp_path / "first.py", tmp_path, [process])
    assert not saved
    assert notes == ("the call of Block was not saved: no", "the call of Head was not saved: no")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, r".*train.py is not there, of which this is a call: put it back, or save the call again with .*"),
        ("class Other:\n    pass\n", r"`Net` is not there any more, of which this call has an object: .*"),
    ],
)
def test_a_call_of_code_that_is_gone_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, said: str
) -> None:
    """The object is one of the script's, which was deleted or changed since."""
    made: Any = ModuleType("__main__")
    exec("class Net:\n    pass\n", vars(made))
    with monkeypatch.context() as saving:
        saving.setitem(sys.modules, "__main__", made)
        torch.save({"args": (made.Net(),), "kwargs": {}, "globals": {}}, tmp_path / "first.pt")
    if script is not None:
        (tmp_path / "train.py").write_text(script)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(RuntimeError, match=said):
        load(tmp_path / "first.pt", script=tmp_path / "train.py", name="train_of_a_call")
    sys.modules.pop("train_of_a_call", None)


def test_what_an_object_itself_misses_when_it_is_loaded_is_said_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import math\nclass Net:\n    def __setstate__(self, state):\n        math.no_such_function\n"
    (tmp_path / "train.py").write_text(text)
    made: Any = ModuleType("__main__")
    exec(text, vars(made))
    net = made.Net()
    net.size = 3
    with monkeypatch.context() as saving:
        saving.setitem(sys.modules, "__main__", made)
        torch.save({"args": (net,), "kwargs": {}, "globals": {}}, tmp_path / "first.pt")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'no_such_function'"):
        load(tmp_path / "first.pt", script=tmp_path / "train.py", name="train_of_an_object")
    sys.modules.pop("train_of_an_object", None)
