"""What a finding carries: edits with their diff, or the reason why there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.core.diff import unified
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.suggest import suggest
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.static.rule import FixPlan, Refusal, Rule

RULE = Rule("GD101", "n", "error", (), ">=2.6", "s", "w", "y", "h", (), (), fix=guard_statement)


def test_a_plan_becomes_a_fix_with_a_diff(make: Any) -> None:
    case = make("import torch\ndef f(x):\n    print(x)\n")
    fix = suggest(RULE, case.hit, case.editor)
    assert fix is not None and (fix.safety, fix.grade) == ("safe", "not-verified")
    assert fix.diff == (
        "--- a/model.py\n+++ b/model.py\n@@ -1,3 +1,4 @@\n import torch\n def f(x):\n-    print(x)\n"
        "+    if not torch.compiler.is_compiling():\n+        print(x)\n"
    )


def test_refusals_become_manual_fixes(make: Any) -> None:
    case = make("def f(x):\n    y = print(x)\n")
    fix = suggest(RULE, case.hit, case.editor)
    assert fix is not None and fix.safety == "manual" and fix.edits == ()
    assert fix.reason == "The value of this call is used, so it cannot be put under a guard."

    def refuse(hit: Any, editor: Any) -> FixPlan | Refusal:
        raise Refuse("it is not\n    simple")

    fix = suggest(replace(RULE, fix=refuse), case.hit, case.editor)
    assert fix is not None and (fix.safety, fix.reason) == ("manual", "It is not simple.")


def test_no_fix_without_a_fixer(make: Any) -> None:
    case = make("print(1)\n")
    assert suggest(replace(RULE, fix=None), case.hit, case.editor) is None


def test_diff_shows_a_missing_last_line_end() -> None:
    assert unified("m.py", "a", "b\n") == (
        "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
    )
    assert unified("m.py", "a\n", "a\n") == ""


def test_a_file_that_calls_torch_by_another_name_gets_no_second_import(make: Any) -> None:
    text = "import torch as th\n\n\ndef f(x):\n    print('torch.x', x)\n"
    case = make(text)
    fix = suggest(RULE, case.hit, case.editor)
    assert fix is not None
    guarded = "    if not th.compiler.is_compiling():\n        print('torch.x', x)\n"
    assert apply(text, fix.edits) == "import torch as th\n\n\ndef f(x):\n" + guarded


@pytest.mark.parametrize(
    "head",
    ["import torch as th\ndef g(th):\n    return th\n", "import torch as th\nth = None\n", "import torch.nn as th\n"],
)
def test_a_name_that_may_be_something_else_is_not_used(make: Any, head: str) -> None:
    text = head + "def f(x):\n    print(x)\n"
    case = make(text)
    fix = suggest(RULE, case.hit, case.editor)
    assert fix is not None
    assert "import torch\n" in apply(text, fix.edits)
