"""What the compile caches of torch recorded: hits, misses and bypasses, and the parts that their keys are made of.

torch writes the parts as lines ``[digest] name: value``, some 600 for each graph (torch/_inductor/codecache.py,
FxGraphHashDetails); nearly all of them are the settings of Inductor, and the same for all graphs of a process.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.trace.process import Code

#: Names of the records: which cache, and what came of it.
RECORD = re.compile(r"(fx_graph|aotautograd)_cache_(hit|miss|bypass)")
NAMES = tuple(
    f"{cache}_cache_{result}" for cache in ("fx_graph", "aotautograd") for result in ("hit", "miss", "bypass")
)

_PART = re.compile(r"\[(\w+)\] ([^\n:]+): (.*)", re.DOTALL)
#: Characters that are kept of a part's value, and cache records of a process.
_VALUE = 600
_USES = 1000


@dataclass(frozen=True)
class Part:
    """A part of a key. Two are the same where their digests are: the text of a value may hold an address."""

    digest: str
    value: str


@dataclass(frozen=True)
class CacheUse:
    """One look into a cache for a graph of ``code``. ``own`` are the parts that differ from the first use's.

    ``reason``: why the cache was bypassed.
    """

    cache: str
    result: str
    code: Code
    key: str = ""
    own: Mapping[str, Part | None] = field(default_factory=dict)
    reason: str = ""


@dataclass
class Caches:
    """The cache records of one process: how many of each kind, and the first of them in full."""

    counts: Counter[str] = field(default_factory=Counter)
    uses: list[CacheUse] = field(default_factory=list)
    #: The parts of the first key.
    common: dict[str, Part] = field(default_factory=dict)

    def take(self, name: str, code: Code, payload: str) -> None:
        """Add the record ``name``. Raises ValueError for a payload that torch would not write."""
        found = RECORD.fullmatch(name)
        assert found is not None
        cache, result = found.groups()
        self.counts[f"{cache} {result}"] += 1
        if len(self.uses) >= _USES:
            return
        content = _content(payload)
        parts = _parts(content.get("components"))
        if not self.common:
            self.common = parts
        names = [*parts, *(name for name in self.common if name not in parts)] if parts else []
        own = {name: parts.get(name) for name in names if parts.get(name) != self.common.get(name)}
        key, reason = (str(content.get(name) or "") for name in ("key", "cache_bypass_reason"))
        self.uses.append(CacheUse(cache, result, code, key, own, reason))

    def parts(self, use: CacheUse) -> dict[str, Part]:
        """The parts of the key of ``use``; empty where there is no key."""
        if not use.key:
            return {}
        return {name: part for name, part in {**self.common, **use.own}.items() if part is not None}


def _content(payload: str) -> Mapping[str, object]:
    """The JSON of a record; empty where it has none, or one so long that it was cut."""
    try:
        content = json.loads(payload) if payload else {}
    except ValueError:
        return {}
    if not isinstance(content, dict):
        raise ValueError("no object")
    return content


def _parts(lines: object) -> dict[str, Part]:
    found = (_PART.match(line) for line in (lines if isinstance(lines, list) else ()) if isinstance(line, str))
    return {match[2]: Part(match[1], match[3][:_VALUE]) for match in found if match is not None}
