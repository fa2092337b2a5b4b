"""Whether a break of the fixed code stood behind the one that a fix removed, on the same line or in what it changed.

Dynamo sees it only once the first one is gone. The expression that breaks is then one that the original has too, beside
what the finding is about; where a fix only trades its break for another, the code that breaks now is new.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from graphdoctor.model.findings import Finding
from graphdoctor.model.runs import Break

#: First line and column, last line and the column after the end; all are counted from 1.
_Span = tuple[int, int, int, int]


def stood_behind(brk: Break, found: Finding, original: str, fixed: str) -> bool:
    """Whether ``brk``, met in the text ``fixed``, was behind ``found`` in the text ``original``."""
    if brk.column is None:
        return False
    here = (span for span, _text in _expressions(fixed) if span[:2] == (brk.line, brk.column))
    broken = dict(_expressions(fixed)).get(max(here, key=lambda span: span[2:], default=(0, 0, 0, 0)))
    place = found.location
    lines = {*range(place.line, place.end_line + 1)}
    for edit in found.fix.edits if found.fix is not None else ():
        lines.update(range(edit.start[0], edit.end[0] + 1))
    same = [span for span, text in _expressions(original) if text == broken and span[0] in lines]
    about = (place.line, place.column, place.end_line, place.end_column)
    return bool(same) and not any(_meet(span, about) for span in same)


def _meet(first: _Span, second: _Span) -> bool:
    return first[:2] < second[2:] and second[:2] < first[2:]


@lru_cache(maxsize=16)
def _expressions(text: str) -> tuple[tuple[_Span, str], ...]:
    """The expressions of ``text``, each with its code; of one that begins where another does, both."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(_spans(tree))


def _spans(tree: ast.AST) -> Iterator[tuple[_Span, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and node.end_lineno is not None and node.end_col_offset is not None:
            yield (node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1), ast.unparse(node)
