"""``match`` on a number that was read from tensor data, as the chain of comparisons that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse

#: A case: its test, None where it takes all that is left, and its block.
Case = tuple[cst.BaseExpression | None, cst.BaseSuite]


def cases_of(match: cst.Match, editor: Editor) -> Sequence[Case]:
    """``case 0 | 1:`` as ``k == 0 or k == 1``, in order. Refuses patterns that bind a name, guards and other kinds."""
    found: list[Case] = []
    for case in match.cases:
        if case.guard is not None:
            raise Refuse("a case has a guard")
        if found and found[-1][0] is None:
            raise Refuse("a case stands after one that takes everything")
        found.append((_test(match.subject, case.pattern, editor), case.body))
    return found


def as_branches(match: cst.Match, editor: Editor) -> cst.If:
    """The cases as ``if``, ``elif`` and ``else``, with the blocks as they stand. Refuses what has no such form."""
    cases = cases_of(match, editor)
    orelse: cst.If | cst.Else | None = None
    for test, body in reversed(cases):
        if test is None:
            orelse = cst.Else(body)
        else:
            orelse = cst.If(test, body, orelse)
    if not isinstance(orelse, cst.If):
        raise Refuse("no case compares the number with a literal")
    return orelse


def _test(subject: cst.BaseExpression, pattern: cst.MatchPattern, editor: Editor) -> cst.BaseExpression | None:
    if isinstance(pattern, cst.MatchAs) and pattern.pattern is None and pattern.name is None:
        return None
    if isinstance(pattern, cst.MatchOr):
        tests = [_test(subject, element.pattern, editor) for element in pattern.patterns]
        given = [test for test in tests if test is not None]
        if len(given) != len(tests):
            return None
        return reduce(lambda one, other: cst.BooleanOperation(one, cst.Or(), other), given)
    value = pattern.value if isinstance(pattern, cst.MatchValue) else None
    inner = value.expression if isinstance(value, cst.UnaryOperation) else value
    if value is None or not isinstance(inner, (cst.Integer, cst.Float)):
        raise Refuse("a case is more than a comparison with a number")
    return cst.Comparison(subject, [cst.ComparisonTarget(cst.Equal(), value)])
