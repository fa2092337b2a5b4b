"""Copies of dicts, lists and sets: the method makes the same copy only of a dict, list or set itself."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = "import copy\n\nimport torch\n\n\nclass Named(dict):\n    pass\n\n\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4), {'a': 1})\n"


@pytest.mark.parametrize(
    "body, changed",
    [
        ("d = {'a': x}\n    return copy.copy(d)['a']", "return d.copy()['a']"),
        ("return copy.copy({'a': x, **given})['a']", "return {'a': x, **given}.copy()['a']"),
        ("rows = [x, x + 1]\n    return copy.copy(rows)[1]", "return rows.copy()[1]"),
        ("sizes = {1, 2}\n    return x * len(copy.copy(sizes))", "len(sizes.copy())"),
        ("rows: list = [x]\n    return copy.copy(rows)[0]", "return rows.copy()[0]"),
        # Of a class of its own the method would give a plain dict.
        ("return copy.copy(given)", ""),
        # The list is unpacked, and none of its parts.
        ("n, d = [1, {'a': x}]\n    return copy.copy(d)['a'] * n", ""),
        ("d = {'a': x}\n    d = Named(d)\n    return copy.copy(d)", ""),
        ("d = {'a': x}\n    return copy.copy(*[d])", ""),
    ],
)
def test_a_container_is_copied_by_its_method(fixed: Any, body: str, changed: str) -> None:
    source = f"{HEAD}def f(x, given):\n    {body}\n{TAIL}"
    result = fixed(source)
    assert changed in result.text and (result.text == source) is not bool(changed)
