"""The versions of torch on which the examples of the rules were run, and what to say of other ones."""

from __future__ import annotations

import re

#: The oldest torch that the rules know.
OLDEST_TORCH = "2.6"

#: Major and minor version; ``benchmarks/results/rule_versions.json`` has the result.
TESTED = (2, 15)

#: The version that the rules describe; docs/versions.md says what differs on older ones.
WRITTEN_FOR = (2, 13)


def beside_tested(version: str | None) -> str | None:
    """A sentence for a ``version`` such as "2.16.0+cu130" that the rules do not quite describe; None for others."""
    found = re.match(r"(\d+)\.(\d+)", version or "")
    numbers = (int(found[1]), int(found[2])) if found is not None else WRITTEN_FOR
    newest, described = (".".join(map(str, each)) for each in (TESTED, WRITTEN_FOR))
    if numbers > TESTED:
        return (
            f"torch {version} is newer than {newest}, the newest that the rules were tested on: some may be out of date"
        )
    if numbers < WRITTEN_FOR:
        return f"the rules describe torch {described}: torch {version} breaks at some places more"
    return None
