"""Which attributes of a class are counters: its methods add to them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphdoctor.syntax.module import SourceModule

#: Where a class or function begins, and where a statement adds to an attribute or to an item of one.
_COUNTERS = re.compile(
    r"^([ \t]*)(?:(?:async[ \t]+)?(class|def)[ \t]+(\w+)|self\.(\w+)(?:\[[^]\n]*\])?[ \t]*[+-]=)", re.MULTILINE
)

_ADDS = re.compile(r"[+-]=")


def counters_of(source: SourceModule) -> Mapping[str, frozenset[str]]:
    """By the name of a class, the attributes that its methods add to, constructors left out.

    ``self.n += 1`` and ``self.n["seen"] += 1`` both add to ``n``.
    """
    # Few files have such a line, and searching for plain text is ten times as fast.
    text = source.text
    starts = (at.start() for at in _ADDS.finditer(text))
    if not any("self." in text[text.rfind("\n", 0, start) + 1 : start] for start in starts):
        return {}
    found: dict[str, set[str]] = {}
    around: list[tuple[int, str, str]] = []
    for indent, kind, name, counter in _COUNTERS.findall(text):
        while around and around[-1][0] >= len(indent.expandtabs()):
            around.pop()
        if kind:
            around.append((len(indent.expandtabs()), kind, name))
            continue
        owner = next((name for _, kind, name in reversed(around) if kind == "class"), "")
        if around and around[-1][2] != "__init__":
            found.setdefault(owner, set()).add(counter)
    return {owner: frozenset(names) for owner, names in found.items()}
