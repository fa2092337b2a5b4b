"""Branches on tensor data that only write output: eager as it was, left out under compile."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.output_blocks import guard_branch
from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan

HEAD = "import numpy as np\nimport torch\nimport warnings\n\nITEMS = iter(range(9))\n\n\ndef f(x: torch.Tensor, flag=True):\n"


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


def plan_of(make: Any, body: str) -> Any:
    case = make(source_of(body), cst.If)
    return guard_branch(case.hit.event.branch, case.editor)


GUARDED = {
    "an import": "y = x * 2\nif y.max() > 1:\n    import sys, math as m\n    print(m.pi, file=sys.stdout)\nreturn y",
    "numpy asks": "y = x * 2\nif not np.isfinite(y.max().item()):\n    print('no number')\nreturn y",
    "a debugger": "y = x * 2\nif torch.isnan(y).any():\n    import pdb; pdb.set_trace()\nreturn y",
    "a traceback": "y = x * 2\nif torch.isnan(y).any():\n    import traceback\n    traceback.print_stack()\nreturn y",
    "one call": "y = x * 2\nif torch.isnan(y).any():\n    print('nan')\nreturn y",
    "several statements": "y = x * 2\nif y.max() > 1:\n    rows = y.shape[0]\n    print(rows)\n    warnings.warn('a')\nreturn y",
    "two sides": "y = x * 2\nif y.max() > 1:\n    print('a')\nelse:\n    print('b')\nreturn y",
    "a longer test": "y = x * 2\nif y.max() > 1 or y.min() < 0:\n    print('a')\nreturn y",
    "a test of two lines": "y = x * 2\nif (\n    y.max() > 1\n    or y.min() < 0\n):\n    print('a')\nreturn y",
    "a branch in it": "y = x * 2\nif y.max() > 1:\n    if flag:\n        print('a')\nreturn y",
}


@pytest.mark.parametrize("name", GUARDED)
def test_the_branch_stays_in_eager_alone(make: Any, runner: Any, name: str, capsys: Any) -> None:
    import torch

    plan = plan_of(make, GUARDED[name])
    assert isinstance(plan, FixPlan) and plan.safety == "safe", plan
    after = apply(source_of(GUARDED[name]), plan.edits)
    for x in (torch.ones(2, 2), -torch.ones(2, 2)):
        expected, written = runner.eager(source_of(GUARDED[name]), x), capsys.readouterr().out
        assert torch.equal(runner.eager(after, x), expected) and capsys.readouterr().out == written
    result = runner.compiled(after, torch.ones(2, 2))
    assert result.breaks == 0 and torch.equal(result.value, 2 * torch.ones(2, 2))


def test_the_lines_of_a_test_in_parentheses_stay(make: Any) -> None:
    body = "if (\n    x.max() > 1\n    or x.min() < 0\n):\n    print('a')\nreturn x"
    plan = plan_of(make, body)
    assert apply(source_of(body), plan.edits) == source_of(f"if not torch.compiler.is_compiling() and {body[3:]}")


def test_what_does_more_than_write_is_unsafe_or_refused(make: Any) -> None:
    plan = plan_of(make, "y = x * 2\nif y.max() > 1:\n    print(next(ITEMS))\nreturn y")
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe" and "`next(ITEMS)` does not run" in plan.reason
    plan = plan_of(make, "y = x * 2\nif y.max() > next(ITEMS):\n    print('a')\nreturn y")
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe"
    for body in (
        "y = x * 2\nif y.max() > 1:\n    print('a')\n    y = y * 2\nreturn y",
        "y = x * 2\nif y.max() > next(ITEMS):\n    y.zero_()\nreturn y",
        "y = x * 2\nif y.max() > 1:\n    rows = 1\n    print(rows)\nelse:\n    rows = 2\nreturn y * rows",
        "y = x * 2\nif y.max() > 1:\n    print('a')\n    return x\nreturn y",
        "y = x * 2\nif y.max() > 1:\n    import antigravity\n    print('a')\nreturn y",
        "y = x * 2\nif y.max() > 1:\n    import os, math\n    print(os.name)\nreturn y * math.pi",
    ):
        with pytest.raises(Refuse):
            plan_of(make, body)


def test_the_fixes_of_the_branch_and_of_its_output_go_together(fixed: Any) -> None:
    target = "\n\ndef graphdoctor_target():\n    return f, (torch.ones(2, 2),)\n"
    after = fixed(source_of(GUARDED["one call"]) + target).text
    assert "if not torch.compiler.is_compiling() and torch.isnan(y).any():" in after
    assert fixed(after).text == after


@pytest.mark.parametrize(
    ("note", "safety"), [("state.told = True", "unsafe"), ("state.count = 3", "safe"), ("told = True", "safe")]
)
def test_not_safe_where_a_flag_says_that_it_was_given(fixed: Any, note: str, safety: str) -> None:
    head = "import types\n\nimport torch\n\nstate = types.SimpleNamespace(told=False, count=0)\n\n\ndef f(x):\n"
    body = (
        f"    if not state.told:\n        {note}\n        if x.isnan().any():\n            print('NaN')\n    return x\n"
    )
    target = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"
    assert fixed(head + body + target).safety("GD201") == safety
