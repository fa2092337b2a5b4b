"""The newest torch on which the examples of the rules were run, and what to say of a newer one."""

from __future__ import annotations

import re

#: Major and minor version; ``benchmarks/results/rule_versions.json`` has the result.
TESTED = (2, 15)


def newer_than_tested(version: str | None) -> str | None:
    """A sentence for a ``version`` such as "2.16.0+cu130" that is newer than TESTED; None for others."""
    found = re.match(r"(\d+)\.(\d+)", version or "")
    if found is None or (int(found[1]), int(found[2])) <= TESTED:
        return None
    newest = ".".join(map(str, TESTED))
    return f"torch {version} is newer than {newest}, the newest that the rules were tested on: some may be out of date"
