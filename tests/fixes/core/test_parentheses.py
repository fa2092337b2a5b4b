"""What stands alone has no parentheses around it."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import find


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("y = g()\n", "(a @ b)", "y = a @ b\n"),
        ("f(g(), k=g())\n", "(a @ b)", "f(a @ b, k=g())\n"),
        ("y = g() * 2\n", "(a @ b)", "y = (a @ b) * 2\n"),
        ("y = g().x\n", "(a @ b)", "y = (a @ b).x\n"),
        ("f(*g())\n", "(a or b)", "f(*(a or b))\n"),
        ("y = g()\n", "(a, b)", "y = (a, b)\n"),
        ("y = g()\n", "(a) + (b)", "y = (a) + (b)\n"),
        ("f(g(), 2)\n", "(a for a in b)", "f((a for a in b), 2)\n"),
        ("y = g()\n", "(\n    a +\n    b)", "y = (\n    a +\n    b)\n"),
    ],
)
def test_parentheses_around_a_value(before: str, text: str, after: str) -> None:
    module = SourceModule("model.py", Path("model.py"), before, "utf-8")
    editor = Editor(module)
    calls = (editor.module.of(call) for call in find(module.tree, cst.Call))
    call = next(call for call in calls if editor.code(call) == "g()")
    assert apply(before, [editor.replace(call, text)]) == after
