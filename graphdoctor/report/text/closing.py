"""The last lines of a text report: what its list shows, counted, and what to do about it."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.model.labels import is_offered, may_be_written
from graphdoctor.report import wording
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding


def listed(diagnosis: Diagnosis) -> list[Finding]:
    """The findings that a text report lists: all but those that the run refuted, the user's own code first, then what
    is new, and last what the base had.
    """
    new = frozenset(diagnosis.comparison.new if diagnosis.comparison else ())
    known = frozenset(diagnosis.comparison.unchanged if diagnosis.comparison else ())
    found = [finding for finding in diagnosis.findings if finding.status != "refuted"]
    return sorted(found, key=lambda f: (f.owner != "own", f.fingerprint not in new, f.fingerprint in known))


def closing(diagnosis: Diagnosis) -> str:
    """``Found 5 errors and 1 warning in 3 files. 4 automatic fixes: --diff shows them, --fix applies them.``"""
    summary = diagnosis.summary
    if summary.failed and summary.failed == summary.files:
        return f"Nothing was checked: {plural(summary.failed, 'file')} could not be read."
    read = summary.files - summary.failed
    found = listed(diagnosis)
    if not found:
        return f"No findings in {plural(read, 'file')}." if read else "No findings."
    # What a file calls is read, too, so there may be more files with findings than were asked for.
    # A cell of a notebook is no file of its own.
    places = len({finding.location.path.partition(".ipynb:cell ")[0] for finding in found})
    files = plural(places, "file") if places >= read else f"{places:,} of {read:,} files"
    line = f"Found {_counted(found)} in {files}.{_not_reached(diagnosis, found)}"
    if summary.fixed:
        left = sum(not _is_gone(finding, diagnosis) for finding in found)
        again = "run" if wording.command(diagnosis) == "run" else "scan"
        written = f"{plural(summary.fixed, 'fix', 'fixes')} written, {plural(left, 'finding')} left"
        return f"{line} {written}; {again} again to see what comes next."
    if fixes := wording.offered(diagnosis.findings):
        if wording.command(diagnosis) == "run":
            from graphdoctor.report.proof import run_would_prove

            if run_would_prove(diagnosis):
                return f"{line} {_proving(diagnosis.findings)}."
        return f"{line} {fixes}: {_ways(diagnosis)}."
    return line


def _proving(findings: Sequence[Finding]) -> str:
    """That a run proves the fixes, of which only the safe ones are proved as they are."""
    fixes = [finding for finding in findings if is_offered(finding)]
    safe = sum(may_be_written(finding, unsafe=False) for finding in fixes)
    proves = "proves it, and writes it if it stands" if len(fixes) == 1 else "proves them and writes those that stand"
    counted = plural(len(fixes), "automatic fix", "automatic fixes")
    return f"{counted}{f' ({safe} safe)' if safe else ''}: --fix {proves}"


def _is_gone(finding: Finding, diagnosis: Diagnosis) -> bool:
    """Whether the fix of ``finding`` was written, or one that changes its code, and nothing broke with the fixes."""
    if finding.fix is not None and finding.fix.written:
        return True
    place, result = finding.location, diagnosis.verification
    if result is None or result.breaks or not result.fullgraph_passes:
        return False
    fixes = (other.fix for other in diagnosis.findings if other.fix is not None and other.fix.written)
    edits = (edit for fix in fixes for edit in fix.edits if edit.path == place.path)
    return any(edit.start <= (place.line, place.column) < edit.end for edit in edits)


def _not_reached(diagnosis: Diagnosis, found: Sequence[Finding]) -> str:
    """That errors do not contradict a run that is ready, where it did not come to them; as a sentence to append."""
    errors = [finding for finding in found if finding.severity == "error"]
    beside = sum(finding.status == "not-reached" for finding in errors)
    if diagnosis.summary.verdict != "ready" or not beside:
        return ""
    which = f"{beside:,} of the errors" if beside < len(errors) else "The error" if beside == 1 else "The errors"
    are = "is" if beside == 1 else "are"
    return f" {which} {are} in code that the run did not reach, and what ran is ready."


def _ways(diagnosis: Diagnosis) -> str:
    """How to get the fixes: by the options of a scan, else by the command for them, and what proves them."""
    command = wording.command(diagnosis)
    # Where all fixes are unsafe, nothing is written without the option.
    unsafe = "" if any(may_be_written(f, unsafe=False) for f in diagnosis.findings) else " --unsafe-fixes"
    if command not in ("run", "trace"):
        return f"--diff{unsafe} shows, --fix{unsafe} applies"
    from graphdoctor.report.proof import files_to_fix, is_untried_run, of_sample, through_sample

    sample = of_sample(diagnosis, bool(unsafe))
    files = [shlex.quote(_from_here(path, diagnosis.root)) for path in files_to_fix(diagnosis)]
    if not files:
        sample = sample or through_sample(diagnosis, bool(unsafe))
    # What was run just now, and left these, would leave them again.
    if sample and sample != diagnosis.command:
        return f"`{sample}` writes"
    proves = "--verify proves, " if is_untried_run(diagnosis) else ""
    return f"{proves}`graphdoctor fix{unsafe} {' '.join(files) or 'FILE'}` writes"


def _from_here(path: str, root: str) -> str:
    """``path``, which is relative to ``root``, from the folder in which the command will be typed."""
    whole = os.path.join(root, path)
    try:
        return Path(os.path.relpath(whole)).as_posix() if root else path
    except ValueError:
        # It lies on another drive.
        return whole


def hidden(diagnosis: Diagnosis) -> Iterator[str]:
    """What the list leaves out."""
    refuted = [finding for finding in diagnosis.findings if finding.status == "refuted"]
    if refuted:
        one, fixed = len(refuted) == 1, sum(map(wording.passes_with_fixes, refuted))
        said = f"the {'line' if one else 'lines'} ran and nothing broke"
        if fixed == len(refuted):
            said = f"with the fixes applied, {said}"
        elif fixed:
            said = f"{said}, {fixed} of them with the fixes applied"
        yield (
            f"{plural(len(refuted), 'suspected break')} of the static analysis {'is' if one else 'are'} not listed: "
            f"{said} (--verbose lists {'it' if one else 'them'})."
        )


def _counted(found: Sequence[Finding]) -> str:
    """``5 errors, 1 warning and 2 notes``; counts of zero are left out."""
    numbers: Counter[str] = Counter(finding.severity for finding in found)
    parts = [plural(numbers[key], noun) for key, noun in wording.SEVERITIES.items() if numbers[key]]
    return wording.enumerated(parts)
