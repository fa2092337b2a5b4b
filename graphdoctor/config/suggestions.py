"""The name that a user may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: In words that are shorter, one letter makes another word.
_SHORT = 4


def hint(wanted: str, known: Iterable[str], otherwise: str) -> str:
    """``did you mean 'select'?`` where a known name is near, else ``otherwise``."""
    # Only a message about a mistake needs it.
    import difflib

    # Without regard to case, but shown as it is written.
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(wanted.lower(), names, n=1)
    return f"did you mean {names[close[0]]!r}?" if close else otherwise


def slip(wanted: str, known: Iterable[str]) -> str | None:
    """The one known name that ``wanted`` is with a slip of the keyboard: a letter wrong, missing, too many or swapped.

    Where only a whole word differs (``enable_caches``, ``disable_caches``), another option may be meant.
    """
    plain = wanted.lower().replace("-", "_")
    found = {name for name in known if name != wanted and _is_slip(plain, name.lower().replace("-", "_"))}
    return found.pop() if len(found) == 1 else None


def _is_slip(one: str, other: str) -> bool:
    if one.replace("_", "") == other.replace("_", ""):
        return True
    parts, others = re.split(r"[._]", one), re.split(r"[._]", other)
    if len(parts) != len(others):
        return False
    changed = [pair for pair in zip(parts, others, strict=True) if pair[0] != pair[1]]
    return len(changed) == 1 and min(map(len, changed[0])) >= _SHORT and _one_letter(*changed[0])


def _one_letter(one: str, other: str) -> bool:
    """Whether one letter is replaced, added or left out, or two neighbours are swapped."""
    short, long = sorted((one, other), key=len)
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(long) - len(short) == 1:
        return short[start:] == long[start + 1 :]
    swapped = short[start : start + 2] == long[start : start + 2][::-1] and short[start + 2 :] == long[start + 2 :]
    return len(long) == len(short) and (short[start + 1 :] == long[start + 1 :] or swapped)
