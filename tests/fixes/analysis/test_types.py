"""A value that is a Python bool on another path is left alone, although the sample takes the path of the tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint import engine

SENTENCE = "`ok` may also be a Python value, such as a bool, which a tensor cannot replace."

#: Values of ``ok`` that are tensor data in a call ``f(x)`` and a bool in another, and whether they are only that.
MIXED = {
    "conditional": "x.isfinite().all() if check else True",
    "constant after": "True if not check else x.isfinite().all()",
    "and": "check is not None and x.isfinite().all()",
    "number": "x.sum() if check else 1.0",
}
PLAIN = {"tensor": "x.isfinite().all()", "both tensors": "x.isfinite().all() if check else (x > 0).all()"}
USES = {
    "check": "torch._check_tensor_all(ok)",
    "branch": "if not ok:\n        x = x + 1",
    "kept truth": "done = not ok\n    x = x * done",
}


def fixes(folder: Path, value: str, use: str) -> list[tuple[str, str]]:
    file = folder / "model.py"
    file.write_text(
        "import torch\n\n\ndef f(x, check=True):\n"
        f"    ok = {value}\n    {use}\n    return x\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(3),)\n"
    )
    found = engine.analyse([(file, file.name)]).findings
    return [(f.fix.safety, f.fix.reason) for f in found if f.fix is not None]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", MIXED)
def test_a_mixed_value_has_no_fix(tmp_path: Path, value: str, use: str) -> None:
    assert not [reason for safety, reason in fixes(tmp_path, MIXED[value], USES[use]) if safety != "manual"]


def test_the_sentence_names_the_value(tmp_path: Path) -> None:
    assert fixes(tmp_path, MIXED["conditional"], USES["check"]) == [("manual", SENTENCE)]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", PLAIN)
def test_a_tensor_on_every_path_has_one(tmp_path: Path, value: str, use: str) -> None:
    assert [safety for safety, _ in fixes(tmp_path, PLAIN[value], USES[use])] != ["manual"]
