"""Fixes in rounds: what one round writes may let the next break be seen, and the next fix be tried."""

from __future__ import annotations

from graphdoctor.model.findings import Diagnosis

#: Rounds after which no more are made, whatever is left.
MOST = 5


def is_worth_another(diagnosis: Diagnosis) -> bool:
    """Whether a scan of the code that ``diagnosis`` wrote fixes to may find more to fix, or less to be left.

    Something was written, and code broke although all fixes were applied, also those that were not written. Where
    nothing was run, what is written may have taken with it what another fix would have changed.
    """
    if not diagnosis.summary.fixed:
        return False
    shown = diagnosis.verification
    if shown is not None:
        return shown.breaks > 0 or shown.fullgraph_passes is False
    return diagnosis.dynamic is None and _is_overlapped(diagnosis)


def _is_overlapped(diagnosis: Diagnosis) -> bool:
    """Whether a fix was not written because it changes the same code as one that was."""
    from graphdoctor.fixes.core.apply import overlap

    fixes = [finding.fix for finding in diagnosis.findings if finding.fix is not None]
    written = [edit for fix in fixes if fix.written for edit in fix.edits]
    left = [edit for fix in fixes if not fix.written for edit in fix.edits]
    return any(overlap(edit, other) for edit in left for other in written)
