"""The few numbers at the top of a report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from graphdoctor.diagnosis.recompile_causes import recompile_causes
from graphdoctor.model.findings import Diagnosis, Summary
from graphdoctor.model.labels import is_offered
from graphdoctor.model.runs import DynamicRun
from graphdoctor.report.unchecked import saw_other_inputs, untried_modes, was_watched
from graphdoctor.report.wording import SEVERITIES, is_idle, plural, share

Tone = Literal["good", "bad", "neutral"]


@dataclass(frozen=True)
class Number:
    """``value`` under its ``label``; ``detail`` names what is counted; ``tone`` whether it is good or bad."""

    label: str
    value: str
    detail: str
    tone: Tone = "neutral"


def numbers(diagnosis: Diagnosis) -> tuple[Number, ...]:
    """What the run measured, or, where nothing ran, what the source showed."""
    runs = [run for run in diagnosis.dynamic or () if run.outcome == "ok"]
    counted = _measured(diagnosis.summary, runs) if runs else ()
    return (*counted, *_read(diagnosis))


def _measured(summary: Summary, runs: list[DynamicRun]) -> tuple[Number, ...]:
    found = (_breaks(summary), _graphs(summary, runs), _fullgraph(runs), _recompiles(runs), _outputs(runs))
    # Checks that were not made are listed with everything else that was not checked.
    return tuple(number for number in found if number is not None)


def _breaks(summary: Summary) -> Number:
    breaks, own = summary.breaks or 0, summary.breaks_own or 0
    detail = f"{own} in your code, {breaks - own} in libraries"
    return Number("graph breaks", f"{breaks:,}", detail, "bad" if breaks else "good")


def _graphs(summary: Summary, runs: list[DynamicRun]) -> Number:
    figures = {(run.graphs, share(run.compiled_share)) for run in runs}
    least = share(min(run.compiled_share or 0.0 for run in runs))
    if any(run.compiled_share is None for run in runs):
        several = "the most of" if len({run.graphs for run in runs}) > 1 else "in"
        detail = f"{several} {plural(len(runs), 'run')}"
    elif len(figures) == 1:
        detail = f"{least} of the operators compiled"
    elif len({run.mode for run in runs}) == len(runs):
        detail = "; ".join(f"{run.mode}: {run.graphs}, {share(run.compiled_share)} compiled" for run in runs)
    else:
        detail = f"the most of {plural(len(runs), 'run')}; at least {least} of the operators compiled"
    if any(was_watched(run) and run.recompiles for run in runs):
        detail += "; a function that is compiled again counts again"
    return Number("graphs", f"{summary.graphs or 0:,}", detail, "neutral" if summary.graphs else "bad")


def _fullgraph(runs: list[DynamicRun]) -> Number | None:
    verdicts = [run.fullgraph.passes for run in runs if run.fullgraph.passes is not None]
    if not verdicts:
        return None
    passes = all(verdicts)
    modes = {run.mode: run.fullgraph.passes for run in runs}
    detail = f"in {verdicts.count(passes)} of {plural(len(verdicts), 'run')}"
    if len(verdicts) == len(runs) == len(modes) and "unknown" not in modes:
        detail = f"in {' and '.join(mode for mode, verdict in modes.items() if verdict is passes)}"
    return Number("fullgraph=True", "passes" if passes else "fails", detail, "good" if passes else "bad")


def _recompiles(runs: list[DynamicRun]) -> Number | None:
    stopped = "; ".join(dict.fromkeys(run.not_counted for run in runs if run.not_counted))
    if not stopped and not any(map(saw_other_inputs, runs)):
        return None
    causes = recompile_causes(runs)
    counts = [recompile.compilations for run in runs for recompile in run.recompiles]
    counts += [sweep.compilations for run in runs for sweep in run.sweeps]
    most = max(counts, default=0)
    again = any(entry.compilations > 1 for run in runs for entry in run.sweeps)
    detail = "only for sizes that the scan tried" if again else "nothing was compiled again"
    detail = f"up to {plural(most, 'compilation')} of one function" if causes else detail
    missing = untried_modes(runs)
    if missing:
        tried = sorted({run.mode for run in runs} - set(missing))
        detail = f"in {' and '.join(tried)} mode, {detail}; {' and '.join(missing)} mode not tried"
    if stopped:
        # Where the calls did not all run, finding no cause shows nothing.
        cut = f"other inputs were not all tried: {stopped}"
        known = f"at least {len(causes)}" if causes else "not known"
        return Number("recompile causes", known, f"{detail}; {cut}" if causes else cut, "bad" if causes else "neutral")
    return Number("recompile causes", f"{len(causes)}", detail, "bad" if causes else "neutral" if missing else "good")


def _outputs(runs: list[DynamicRun]) -> Number | None:
    # Where nothing was compiled, there is nothing to differ.
    judged = [run for run in runs if run.graphs]
    compared = [run.numerics for run in judged if run.numerics is not None and run.numerics.equal is not None]
    if not compared:
        return None
    equal = all(result.equal for result in compared)
    exact = all(result.max_abs_diff == 0 for result in compared)
    within = "; no difference" if exact else "; within the tolerance" if equal else ""
    what = ", and their gradients" if any(run.mode == "train" for run in judged) else ""
    what += f" in {judged[0].mode} mode" if len({run.mode for run in judged}) < len({run.mode for run in runs}) else ""
    detail = f"of compiled and eager code{what}{within}"
    return Number("outputs", "equal" if equal else "differ", detail, "good" if equal else "bad")


def _read(diagnosis: Diagnosis) -> tuple[Number, ...]:
    summary = diagnosis.summary
    counts: Counter[str] = Counter(finding.severity for finding in diagnosis.findings)
    parts = [plural(counts[severity], noun) for severity, noun in SEVERITIES.items() if counts[severity]]
    if summary.fixable:
        idle = sum(is_offered(finding) and is_idle(finding) for finding in diagnosis.findings)
        later = ", without effect yet" if idle == summary.fixable else f", {idle:,} without effect yet"
        parts.append(f"{summary.fixable:,} with a fix{later if idle else ''}")
    tone: Tone = "bad" if counts["error"] else "neutral" if diagnosis.findings else "good"
    # Where the code raises, its exception is the error, and the findings are what the source shows.
    predicted = "predicted: " if parts and summary.verdict == "not-run" else ""
    found = Number("findings", f"{len(diagnosis.findings):,}", predicted + ", ".join(parts), tone)
    if summary.breaks is not None:
        return (found,)
    unread = f"{summary.failed:,} could not be read" if summary.failed else "all could be read"
    return found, Number("files", f"{summary.files:,}", unread, "bad" if summary.failed else "neutral")
