"""Values that compiled code holds for, and the one that tells ranks apart."""

from __future__ import annotations

from graphdoctor.trace.guarded import Guarded, deciding, guarded

GUARDS = """\
TREE_GUARD_MANAGER:
+- RootGuardManager
| | +- TRUE_MATCH: L['careful'] == True                    # if careful and x.mean() > 1:  # a b/net.py:7 in forward
| | +- EQUALS_MATCH: L['self'].mode == 'fast'              # if self.mode == "fast":  # a b/net.py:9 in forward
| | +- TRUE_MATCH: L['kwargs']['careful'] == True
| | +- TYPE_MATCH: ___check_type_id(L['x'], 94477), type=<class 'str'>  # x == 3  # net.py:9 in forward
"""


def value(line: int, name: str, value: str) -> Guarded:
    return Guarded("net.py", line, name, value)


def test_plain_values_are_read_with_the_line_that_asks() -> None:
    assert list(guarded(GUARDS)) == [
        Guarded("a b/net.py", 7, "careful", "True"),
        Guarded("a b/net.py", 9, "self.mode", "'fast'"),
    ]


def test_the_last_value_that_no_other_has_decides() -> None:
    some = [value(3, "n", "2"), value(5, "careful", "True"), value(6, "kind", "'a'")]
    others = [value(3, "n", "4"), value(5, "careful", "False"), value(6, "kind", "'a'")]
    assert deciding(some, others) == ("careful", "True", "False")


def test_a_value_that_others_had_too_decides_nothing() -> None:
    some, others = [value(5, "n", "1"), value(5, "n", "2")], [value(5, "n", "2"), value(5, "n", "3")]
    assert deciding(some, others) is None
    assert deciding(some, []) is None
