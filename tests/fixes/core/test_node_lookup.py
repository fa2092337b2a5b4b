"""What the fixes of one file ask again and again."""

from __future__ import annotations

from pathlib import Path

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.module import SourceModule


def editor_of(text: str) -> Editor:
    return Editor(SourceModule("model.py", Path("model.py"), text, "utf-8"))


def test_a_fresh_name_is_one_that_the_code_lacks() -> None:
    editor = editor_of("def f(x):\n    # until all is done\n    skipped = x.skipped_\n")
    assert editor.fresh("done") == "done"
    assert editor.fresh("skipped") == "skipped__"


def test_names_inside_and_outside_of_a_function() -> None:
    editor = editor_of("a = 1\ndef f(x):\n    return a + a + x, 'b'\ndef g(y):\n    return a\n")
    function = editor.every(cst.FunctionDef)[0]
    assert [editor.location(n).column for n in editor.mentions(function, "a")] == [12, 16]
    assert editor.mentions_outside(function, "a")
    assert not editor.mentions_outside(function, "x") and not editor.mentions_outside(function, "b")


def test_what_was_found_before_a_part_was_parsed_is_what_is_written_afterwards() -> None:
    editor = editor_of("m = 'a' 'b'\nclass A:\n    def f(self):\n        return  m\n")
    (before,) = editor.every(cst.FunctionDef)
    (bound,) = editor.assignments(editor.module.tree, "m")
    written, assigned = editor.module.of(before), editor.module.of(bound)
    assert written is not before and list(editor.every(cst.FunctionDef)) == [written]
    assert assigned is not bound and list(editor.assignments(editor.module.tree, "m")) == [assigned]
