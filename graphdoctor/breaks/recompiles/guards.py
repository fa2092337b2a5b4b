"""The reason of a recompile, parsed and put into words. Pure.

Dynamo names the first guard that failed (torch/_dynamo/guards.py); two changed dimensions come as one reason.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from graphdoctor.breaks.recompiles.guard_kinds import LOCAL, STACK_VALUE, SYMBOL, Kind, classify

#: The line of the user's code that set up a guard; after it may come that of torch's, in brackets.
_USER_CODE = re.compile(r"\s{2,}# (?P<code>.*?)\s+# (?P<path>[^#\s][^#]*?):(?P<line>\d+) in \S+")
#: The function of torch's that needed the value itself, of a number that was symbolic until then.
_NEEDED = re.compile(r"\([\w/]+\.py:\d+ in (\w+)\)\s*$")
_STACK = re.compile(r'^[ \t]*File "(.+)", line (\d+), in ', re.MULTILINE)
_ZERO_ONE = re.compile(r"^2 <= \S+$")
_ADDRESS = re.compile(r"(___check_(?:obj|type)_id\(.+?, )\d+\)")
#: Characters of a guard that are read.
_MOST = 5_000
#: The variable of an enclosing function that a guard is on, as Dynamo's hint names it, and the guard's own name for it.
_VARIABLE = re.compile(r"\(HINT: guard on \"(\w+)\"\)")
_CELL = re.compile(r"(.+)\.__closure__\[\d+\]\.cell_contents$")
_CONDITION = re.compile(r"(if|elif|while)\b")


@dataclass(frozen=True)
class Guard:
    """One failed guard.

    ``kind``: what the guard looked at; "presence" is None or not, "mode" train or eval, "state" grad mode, autocast and
    the like, "identity" which object it is, "lifetime" that an object still lives. ``name`` is the guarded expression
    as users write it. ``path`` may be the end of a longer path; ``stack`` has whole paths, outermost frame first.
    ``zero_one`` says that a size of 0 or 1 came to code compiled for sizes from 2 on, ``decides`` that the line is a
    condition, ``is_kept`` that the line reads an attribute of ``self``, which is there from call to call. ``code`` is
    that line, and ``needed_by`` the function of torch's that asked for the value of a symbol in it.
    """

    kind: Kind
    name: str | None
    text: str
    words: str
    dimension: int | None = None
    path: str | None = None
    line: int | None = None
    stack: tuple[tuple[str, int], ...] = ()
    zero_one: bool = False
    decides: bool = False
    is_kept: bool = False
    code: str = ""
    needed_by: str = ""


def reasons(payload: str) -> tuple[str, ...]:
    """The reasons of one recompile: a JSON list, or one as plain text, depending on their number and the version."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return (payload,)
    return tuple(map(str, found)) if isinstance(found, list) and found else (str(found),)


def read(reason: str) -> Guard:
    """Take one reason apart; it may begin with the id of the cache entry ("0/0: ")."""
    whole = re.sub(r"^\d+/\d+: ", "", reason.strip())
    # What is longer was written by no guard, and the patterns take time that grows with its square.
    first = whole.partition("\n")[0].strip()[:_MOST]
    user = _USER_CODE.search(first)
    # Addresses differ from run to run, and have no meaning.
    text = _ADDRESS.sub(r"\1...)", LOCAL.sub(r"\1", _USER_CODE.split(first)[0].strip() if user else first))
    path, line = (user["path"], int(user["line"])) if user else (None, None)
    stack = tuple((file, int(number)) for file, number in _STACK.findall(whole))
    bare = text.split("  # ")[0].strip()
    part = classify(bare)
    zero_one = part.kind == "size" and bool(_ZERO_ONE.match(bare))
    words = f"{part.name} has size 0 or 1 in dimension {part.dimension}: {_ZERO_ONE_WORDS}" if zero_one else part.words
    variable, cell = _VARIABLE.search(first), _CELL.match(part.name or "")
    if variable and cell:
        words = words.replace(cell[0], f"`{variable[1]}`, which {cell[1]} closes over,")
    decides = bool(user and _CONDITION.match(user["code"]))
    is_kept = (part.name or "").startswith("self.") or bool(user and _reads_of_self(user["code"], part.name or ""))
    needed = _NEEDED.search(first)
    return Guard(
        part.kind,
        part.name,
        text,
        without_symbols(words),
        part.dimension,
        path,
        line,
        stack,
        zero_one,
        decides,
        is_kept,
        code=user["code"] if user else "",
        needed_by=needed[1] if needed else "",
    )


def _reads_of_self(code: str, name: str) -> bool:
    """Whether ``code`` has the last attribute of ``name`` as one of ``self``, or of what ``self`` holds.

    Where a wrapper is compiled, ``self`` is one of its arguments: ``args[0].config.kind``.
    """
    attribute = re.search(r"\.(\w+)$", name)
    return attribute is not None and re.search(rf"\bself(\.\w+)*\.{attribute[1]}\b", code) is not None


def without_symbols(words: str) -> str:
    """``words`` with the names that Dynamo itself gives to values (``___stack0``, ``zuf0``) described."""
    return SYMBOL.sub("a number computed from tensor data", STACK_VALUE.sub("a value from before a graph break", words))


_REMOVE = "remove the graph break"
#: What helps against recompiles of a function that several submodules share.
REMOVE_BREAKS = f"{_REMOVE}s: because of them the function is compiled separately, once for each kind of call"
#: The advice for a number that each call changes.
BECOMES_DYNAMIC = "a number that changes is dynamic from its second value on: one compilation more, and no further"
#: What helps where a condition asks for an attribute that changes: a tensor in its place would break the graph.
SET_ONCE = "set it once, before the first call: the code decides by it, so each value gets a compilation of its own"
#: What helps where an attribute is set after the first call, or taken away.
SET_BEFORE = "set it before the first call of what is compiled"
#: What helps where the first call fills a cache that the second one finds.
FILL_BEFORE = "fill it before the first call of what is compiled"


def remove_break(place: str) -> str:
    """``REMOVE_BREAKS`` where it is known that the break at ``place`` is one of them."""
    return f"{_REMOVE} at {place}: because of it the function is compiled separately, once for each kind of call"


def comes_of_break(guard: str, remedy: str | None) -> bool:
    """Whether a recompile with this guard and this advice ends with a graph break."""
    return is_left_by_break(guard) or (remedy or "").startswith(_REMOVE)


#: What helps against recompiles for sizes of which ``is_of_zero_or_one`` is true.
AVOID_ZERO_AND_ONE = "sizes 0 and 1 are always compiled separately: avoid them, or accept the one compilation"
_NEW_SIZE = re.compile(r" size mismatch at index \d+\. expected (\d+), actual (\d+)")


def is_of_zero_or_one(guard: Guard) -> bool:
    """Whether ``guard`` failed because a size is 0 or 1, or no longer is: no dynamic dimension takes both."""
    changed = _NEW_SIZE.search(guard.text)
    return guard.zero_one or (changed is not None and min(int(changed[1]), int(changed[2])) < 2)


def is_left_by_break(guard: str) -> bool:
    """Whether the text of a guard is about a value that a graph break left: without the break there is no guard."""
    return STACK_VALUE.search(guard) is not None


_ZERO_ONE_WORDS = "Dynamo always compiles sizes 0 and 1 separately, because broadcasting treats them differently"
