"""What a graph break costs, as the end of a finding's message: what the source predicts, and what a run made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding

_SPLITS = "this splits the graph"
_REASON = ", because Dynamo cannot split its loop, try or with block"
_WHOLE = re.compile(r"`([^`]+)` runs uncompiled as a whole")
_BEHIND = re.compile(r"once compiling gets past line (\d+)")
_REST = re.compile(r"`[^`]+` runs uncompiled from here on")
_END = re.compile(rf": (?:{_SPLITS}|{_WHOLE.pattern}(?:{_REASON})?|{_REST.pattern})$")


def consequence(whole_frame: str) -> str:
    """``whole_frame`` is the function that is not compiled at all because of the break; empty where there is none."""
    return f"`{whole_frame}` runs uncompiled as a whole{_REASON}" if whole_frame else _SPLITS


def given_up(finding: Finding) -> str:
    """The function that is not compiled at all because of the break: a loop around the call may be a caller's."""
    found = _WHOLE.search(finding.message)
    return found[1] if found else finding.function


def behind(message: str, line: int) -> str:
    """``message`` of a finding to which compiling did not get, because it ended at ``line``."""
    then = f"once compiling gets past line {line}"
    head, found = _END.subn(f": a graph break {then}", message)
    return head if found else f"{message} ({then})"


def waits_for(message: str) -> int:
    """The line that compiling ended at before it came to the finding with this ``message``; 0 where there is none."""
    found = _BEHIND.search(message)
    return int(found[1]) if found else 0


def unmeasured(message: str) -> str:
    """``message`` of a prediction where no run compiled anything: nothing was split, and nothing ran uncompiled."""
    return _END.sub(": would break the graph", message)


def reason_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """``findings`` of which only the first of a function says why nothing of it is compiled."""
    explained: set[tuple[str, str]] = set()
    for finding in findings:
        whole = _WHOLE.search(finding.message)
        frame = finding.location.path, whole[1] if whole else ""
        repeats = whole is not None and finding.message.endswith(_REASON) and frame in explained
        yield replace(finding, message=finding.message.removesuffix(_REASON)) if repeats else finding
        explained |= {frame} if whole else set()
