"""Expressions of several lines after the indentation of the block that they are moved to."""

from __future__ import annotations

import textwrap
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.where import choose_with_where
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import indented, on_one_line

STRING = 'f("""a\nb""")'


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_further_lines_stand_behind_the_indentation(newline: str) -> None:
    text = newline.join(["f(", "    x,", "", ")"])
    assert indented("        ", text, newline) == newline.join(["f(", "            x,", "", "        )"])


def test_what_has_one_line_or_a_string_of_several_stays() -> None:
    assert indented("    ", "f(x)", "\n") == "f(x)"
    assert indented("    ", STRING, "\n") == STRING
    assert indented("    ", STRING.replace('("', '(f"'), "\n") == STRING.replace('("', '(f"')


def test_torch_where_takes_calls_of_several_lines_along(make: Any) -> None:
    source = textwrap.dedent("""\
        import torch


        def f(x, flag=True):
            for _ in range(2):
                if flag and x.sum() > 0:
                    x = torch.clamp(
                        x,
                        min=1,
                    )
            return x
        """)
    after = make(source, cst.If).after(choose_with_where)
    assert after.splitlines()[5:10] == [
        "        if flag:",
        "            x = torch.where(x.sum() > 0, torch.clamp(",
        "                x,",
        "                min=1,",
        "            ), x)",
    ]


@pytest.mark.parametrize(
    "code, line",
    [
        ("g('a  b')", "g('a  b')"),
        ("g(\n    'a  b',  # why\n    h( x ),\n)", "g('a  b', h(x),)"),
        ("g(x)[\n    -1\n]", "g(x)[-1]"),
        ("g(x if y else\n  z, not\n  x)", "g(x if y else z, not x)"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_one_line_has_no_comments_and_the_same_texts(make: Any, code: str, line: str, newline: str) -> None:
    case = make(f"y = {code}\n".replace("\n", newline), kind=cst.Assign)
    assert on_one_line(case.hit.place.value, case.editor) == line


def test_a_string_of_several_lines_has_no_one_line(make: Any) -> None:
    case = make(f"y = {STRING}\n", kind=cst.Assign)
    with pytest.raises(Refuse, match="a string of several lines would be moved"):
        on_one_line(case.hit.place.value, case.editor)
