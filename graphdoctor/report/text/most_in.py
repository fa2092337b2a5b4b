"""Where most of many findings are, so that a reader of a long list knows where to begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from graphdoctor.model.findings import Finding

#: Of so many errors, in so many files, a look at the list shows as much.
_FEW_ERRORS = 10
_FEW_FILES = 3


def most_in(findings: Sequence[Finding]) -> str:
    """``Most are in audio/stft.py (6), loss.py (3) and net.py (2).`` of the errors in the user's own files.

    Empty where there are few.
    """
    counts = Counter(f.location.path for f in findings if f.severity == "error" and f.owner == "own")
    if counts.total() <= _FEW_ERRORS or len(counts) <= _FEW_FILES:
        return ""
    *first, last = (f"{path} ({number})" for path, number in counts.most_common(3))
    return f"Most are in {', '.join(first)} and {last}."
