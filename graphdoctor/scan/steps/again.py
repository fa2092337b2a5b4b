"""Fixes in rounds: what one round writes may let the next break be seen, and the next fix be tried."""

from __future__ import annotations

from graphdoctor.model.findings import Diagnosis

#: Rounds after which no more are made, whatever is left.
MOST = 5


def is_worth_another(diagnosis: Diagnosis) -> bool:
    """Whether a scan of the code that ``diagnosis`` wrote fixes to may find more to fix.

    Something was written, and code broke although all fixes were applied, also those that were not written.
    """
    shown = diagnosis.verification
    if shown is None or not diagnosis.summary.fixed:
        return False
    return shown.breaks > 0 or shown.fullgraph_passes is False
