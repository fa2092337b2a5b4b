"""What a graph break costs, as the end of a finding's message: what the source predicts, and what a run made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.model.runs import Break

_SPLITS = "this splits the graph"
_FAILS = "with `fullgraph=True` compiling fails here"
_ONLY_FULLGRAPH = re.compile(r": [a-z ]+, and `fullgraph=True` fails$")
_CANNOT = ", because Dynamo cannot split its "
_REASON = rf"{_CANNOT}`[a-z]+` (?:loop|block)(?: at line \d+| in [^\s`:]+)?"
_SPACE = re.compile(r"[\s`:]")
_WHOLE = re.compile(rf"`([^`]+)` runs uncompiled as a whole({_REASON})?")
_ONCE_PAST = re.compile(r"once compiling gets past line (\d+)")
#: The line in what this module writes, at the end of a message.
_LINE = re.compile(r"(?:(?<=loop at line )|(?<=block at line )|(?<=gets past line ))\d+(?=\)?$)")
_REST = re.compile(r"`[^`]+` runs uncompiled from here on")
_END = re.compile(rf": (?:{_SPLITS}|{_WHOLE.pattern}|{_REST.pattern})$")


def consequence(function: str = "", keyword: str = "", line: int = 0, file: str = "") -> str:
    """``function`` is not compiled at all because of the break; empty where there is none.

    ``keyword`` and ``line`` are of its statement around the break; where that is in another file, the name of the file
    stands for the line.
    """
    if not function:
        return _SPLITS
    kind = "loop" if keyword in ("for", "while") else "block"
    # What reads the message takes a name for one word.
    at = f" at line {line}" if line else f" in {file}" if file and not _SPACE.search(file) else ""
    return f"`{function}` runs uncompiled as a whole{_CANNOT}`{keyword}` {kind}{at}"


def given_up(finding: Finding) -> str:
    """The function that is not compiled at all because of the break: a loop around the call may be a caller's."""
    found = _WHOLE.search(finding.message)
    return found[1] if found else finding.function


def not_reached_yet(message: str, line: int) -> str:
    """``message`` of a finding to which compiling did not get, because it ended at ``line``."""
    then = f"once compiling gets past line {line}"
    head, found = _END.subn(f": a graph break {then}", message)
    return head if found else f"{message} ({then})"


def waits_for(message: str) -> int:
    """The line that compiling ended at before it came to the finding with this ``message``; 0 where there is none."""
    found = _ONCE_PAST.search(message)
    return int(found[1]) if found else 0


def measured(message: str, functions: Sequence[str]) -> str:
    """``message`` of a break for which a run saw ``functions`` given up as a whole, callers first."""
    found = _WHOLE.search(message)
    if not functions or (found and found[1] in functions):
        return message
    return _END.sub(f": `{functions[-1]}` runs uncompiled as a whole", message)


def measured_rest(message: str, function: str) -> str:
    """``message`` of a break at which a run saw the rest of ``function`` given up, behind an earlier break."""
    rest = f"what an earlier graph break left of `{function}` runs uncompiled"
    return message if _REST.search(message) else _END.sub(f": {rest}", message)


def split(message: str, places: int = 1) -> str:
    """``message`` of a break at which a run saw the graph split, and no function given up.

    Whether Dynamo gives up what has a loop depends on the bytecode after the break: before a `return` it goes on.
    ``places`` are those that broke, where what is called breaks at several.
    """
    if places > 1:
        return _END.sub(f": {_SPLITS} {places} times", message)
    return _END.sub(f": {_SPLITS}", message) if _WHOLE.search(message) else message


def with_lines(message: str, shown: Callable[[int], int]) -> str:
    """``message`` with the lines that it names as ``shown`` gives them."""
    return _LINE.sub(lambda found: str(shown(int(found[0]))), message)


def with_fullgraph(message: str) -> str:
    """``message`` of a break in code that is compiled with ``fullgraph=True`` only: there it is an error."""
    return _END.sub(f": {_FAILS}", message)


def where_recorded(message: str, fullgraph: bool) -> str:
    """``message`` of what only ``fullgraph=True`` fails at, where Dynamo records the number or size by default, too."""
    return _ONLY_FULLGRAPH.sub(f": {_FAILS if fullgraph else _SPLITS}", message)


def unmeasured(message: str) -> str:
    """``message`` of a prediction where no run compiled anything: nothing was split, and nothing ran uncompiled."""
    return _END.sub(": would break the graph", message)


def reason_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """``findings`` of which only the first of a function says why nothing of it is compiled."""
    explained: set[tuple[str, str]] = set()
    for finding in findings:
        whole = _WHOLE.search(finding.message)
        reason = (finding.location.path, whole[0]) if whole is not None and whole[2] else None
        repeats = whole is not None and reason in explained
        yield replace(finding, message=finding.message[: whole.start(2)]) if whole is not None and repeats else finding
        explained |= {reason} if reason else set()


def is_rest_alone(breaks: Iterable[Break]) -> bool:
    """Whether all that was given up because of ``breaks`` is the rest of functions that were split before."""
    given_up = [entry for entry in breaks if entry.whole_frame]
    return bool(given_up) and all(entry.rest for entry in given_up)


def site_of(brk: Break) -> tuple[object, ...]:
    """What tells break sites apart: place and cause, and below a line of the user's the place in a library."""
    inner = brk.stack[-1] if brk.owner == "third-party" and brk.stack else None
    return (brk.path, brk.line, brk.column, brk.gb_id or brk.gb_type, inner)
