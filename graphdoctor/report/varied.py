"""What the calls with varied inputs showed, and what was tried against recompiles: one wording for every report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphdoctor.breaks.locations import without_site
from graphdoctor.report.unchecked import untried_modes
from graphdoctor.report.wording import plural, run_title

if TYPE_CHECKING:
    from graphdoctor.model.runs import DynamicRun, Recompile, Sweep, TriedRemedy


def sweep(entry: Sweep) -> str:
    """``batch 4, 5, 6, 1: 3 compilations in 4 calls; expected: ...``."""
    counts = f"{plural(entry.compilations, 'compilation')} in {plural(entry.calls, 'call')}"
    if entry.compilations > 1 and entry.steps and not any(step.compilations for step in entry.steps[1:]):
        counts += ", all in the first"
    if entry.verified_compilations is not None:
        counts += f", {entry.verified_compilations} with all suggested fixes together (measured)"
    places = dict.fromkeys(f"{without_site(brk.path)}:{brk.line}" for brk in entry.breaks)
    broken = f"breaks the graph at {', '.join(places)}" if places else ""
    parts = [f"{'repeated with: ' if entry.automatic else 'varied: '}{entry.varied}", counts, broken, entry.detail]
    return "; ".join(part for part in parts if part)


def refused(entry: Sweep) -> str:
    """The sizes that were asked for and that eager code does not take; empty where it takes all."""
    sizes = [part for part in entry.detail.split("; ") if part.endswith(" in eager")]
    return "" if entry.automatic or not sizes else f"varied: {entry.varied}; {', '.join(sizes)}"


def sweeps(runs: Iterable[DynamicRun]) -> list[str]:
    """The sweeps of all runs, each with its run."""
    return [f"{run_title(run)}: {sweep(entry)}" for run in runs for entry in run.sweeps]


def outcome(runs: Iterable[DynamicRun]) -> str:
    """The outcome of the calls with other inputs. Where not all of them ran, it says so."""
    ran = [run for run in runs if run.outcome == "ok"]
    stopped = "; ".join(dict.fromkeys(run.not_counted for run in ran if run.not_counted))
    sizes = any(sweep.compilations > 1 for run in ran for sweep in run.sweeps)
    if any(run.recompiles for run in ran):
        text = "Each row is a reason for which a function was compiled again."
        given = any(not sweep.automatic for run in ran for sweep in run.sweeps)
        text += " A size that you give counts as one; a size that the scan only tries may cost one compilation."
        text = text if given else text.partition(" A size")[0]
    elif stopped:
        called = any(run.sweeps for run in ran)
        text = "Not known: in the calls that were made, no function was compiled again without need."
        text = text if called else "Not known."
    elif sizes:
        text = "Functions were compiled again for new sizes only, as with any model."
    else:
        text = "No function was compiled again."
    if modes := untried_modes(ran):
        text += f" {' and '.join(modes).capitalize()} mode was not tried."
    return f"{text} Other inputs were not all tried: {stopped}; a longer `--timeout` tries more." if stopped else text


def tried(recompile: Recompile) -> list[str]:
    """The remedies that were run beside the one that is offered, and what came of them."""
    return [f"{other.text}: {_outcome(other)}" for other in recompile.tried if other.text != recompile.remedy]


def _outcome(trial: TriedRemedy) -> str:
    counted = "" if trial.compilations is None else plural(trial.compilations, "compilation")
    return "; ".join(part for part in (counted, trial.detail) if part)
