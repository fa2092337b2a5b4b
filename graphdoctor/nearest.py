"""The name that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def hint(wanted: str, known: Iterable[str], otherwise: str) -> str:
    """``did you mean 'select'?`` where a known name is near, else ``otherwise``."""
    # Only a message about a mistake needs it.
    import difflib

    # Without regard to case, but shown as it is written.
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(wanted.lower(), names, n=1)
    return f"did you mean {names[close[0]]!r}?" if close else otherwise
