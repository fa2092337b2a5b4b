"""What other programs call: ``scan`` with ``ScanOptions``, and the fixes of its diagnosis as text."""

from __future__ import annotations

from collections.abc import Iterator

from graphdoctor.interrupt import Interrupts
from graphdoctor.model.findings import Diagnosis
from graphdoctor.scan.options import ScanOptions, UsageError
from graphdoctor.scan.patches import diff, fixed, third_party_patch
from graphdoctor.scan.pipeline import diagnose
from graphdoctor.scan.plan import plan_for
from graphdoctor.scan.session import Callbacks, Choose, Decided, Early, ExternalRuns, Progress
from graphdoctor.scan.steps.again import MOST, is_worth_another

__all__ = ["ScanOptions", "UsageError", "diff", "fixed", "scan", "scan_in_rounds", "third_party_patch"]


def scan(
    options: ScanOptions,
    progress: Progress = lambda _text: None,
    choose: Choose | None = None,
    interrupts: Interrupts | None = None,
    early: Early = lambda _findings: None,
    ran: ExternalRuns | None = None,
    decided: Decided = lambda _summary, _runs, _seconds: None,
) -> Diagnosis:
    """Analyse, run where a sample is declared, join, verify the fixes. Writes nothing unless ``options.fix``.

    ``progress`` gets lines that say what is being done. ``choose`` gets the findings whose fixes would be written, and
    returns those that are. Where ``interrupts`` listens, Ctrl-C ends what is under way; the diagnosis has what is known
    by then, and nothing is written. Where the code is run, ``early`` gets the findings of the static pass before that,
    and ``decided`` the summary and the runs of the verdict before fixes are verified and recompiles counted.
    With ``ran`` its runs are joined, and nothing is run here.

    Raises UsageError. Whatever the scanned code does, the static findings are complete.
    """
    interrupts = interrupts or Interrupts()
    plan = plan_for(options, with_runs=ran is not None)
    interrupts.hold()
    return diagnose(plan, Callbacks(progress, choose, interrupts, early, ran, decided))


def scan_in_rounds(
    options: ScanOptions,
    progress: Progress = lambda _text: None,
    choose: Choose | None = None,
    interrupts: Interrupts | None = None,
    most: int = MOST,
) -> Iterator[Diagnosis]:
    """``scan`` that writes fixes, again and again while what is written reveals more: the diagnosis of each round.

    Each round proves its fixes against the code that the round before left.
    """
    interrupts = interrupts or Interrupts()
    for number in range(1, most + 1):
        diagnosis = scan(options, progress, choose, interrupts)
        yield diagnosis
        if interrupts.requested or number == most or not is_worth_another(diagnosis):
            return
