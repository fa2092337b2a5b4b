"""The wording of the fields of a diagnosis, the same in text, Markdown and HTML. What a break costs is worded in
``model.consequence``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from graphdoctor.breaks.locations import without_site
from graphdoctor.breaks.measured_costs import given_up, waits_for
from graphdoctor.diagnosis.recompile_causes import recompile_causes
from graphdoctor.model.consequence import PASSES
from graphdoctor.model.labels import is_offered, label, may_be_written, only_in_eager

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding, Fix, Location, Summary
    from graphdoctor.model.labels import Label
    from graphdoctor.model.runs import Break, DynamicRun, FullGraph, Numerics, Recompile, Verification

OUTCOMES = {
    "ok": "ran to the end",
    "raised": "the code raised an exception",
    "exited": "the code ended the process",
    "crashed": "the process crashed",
    "timeout": "stopped at the time limit",
    "memory": "stopped at the memory limit",
    "no-target": "nothing to run",
}
STATUSES = {
    "confirmed": "predicted, and seen in the run",
    "dynamic-only": "seen in the run, not predicted",
    "refuted": "predicted, but the line ran and nothing broke",
    "not-reached": "predicted; compiled code did not come to the line",
    "static-only": "predicted, not checked by a run",
}
STATUS_LABELS = {
    "confirmed": "predicted and seen",
    "dynamic-only": "seen in the run",
    "refuted": "did not break",
    "not-reached": "not reached",
    "static-only": "predicted",
}
_PASSES = "predicted, but with the fixes applied the line ran and nothing broke"
_FULLGRAPH = "predicted, and seen in the run: fullgraph=True gets here and fails; by default nothing breaks here"
#: What reports call the severities; the JSON, options and settings say "info".
SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}
OWNERS = {"own": "your code", "third-party": "libraries", "torch": "torch, a library"}
LABELS: dict[Label, str] = {
    "safe": "safe",
    "verified": "verified",
    "unsafe": "unsafe: may change behaviour",
    "refused": "dropped, not offered",
    "manual": "by hand, no edit is offered",
}
#: Of one fix; ``_WITH_ALL_FIXES`` is of all together.
GRADES = {
    "general": "its line compiles with the default settings",
    "setup-required": "its line compiles, but not with the default settings",
    "none": "its line does not compile",
    "no-effect": "tried in a run, which shows no effect",
    "not-verified": "not verified",
}
_WITH_ALL_FIXES = {
    "general": "Everything compiles with the default settings.",
    "setup-required": "Everything compiles, with a setting of torch that is no default.",
    "none": "The code is still not ready.",
    "no-effect": "The run shows no effect.",
    "not-verified": "Nothing was verified.",
}
_SETTING = "torch._dynamo.config."
_SITE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"


def plural(number: int, noun: str, many: str = "") -> str:
    """``1 graph``, ``2 graphs``, ``1,000 files``; ``many`` is the plural where it does not end in a plain s."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def enumerated(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; empty where there is none."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def quoted(text: str) -> list[tuple[str, bool]]:
    """``text`` cut at its backticks; True marks the parts between two of them, which are code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return [(part, number % 2 == 1) for number, part in enumerate(parts) if part]


def command(diagnosis: Diagnosis) -> str:
    """The command that made the report: ``scan``, ``run``, ``trace``; empty where a program called for it."""
    return "".join(diagnosis.command.split()[1:2])


def title(summary: Summary) -> str:
    """The headline, of a difference between ranks only what it is: the first action has all of it."""
    brief = re.sub(r" \([^()]*\)", "", summary.uneven).partition("; ")[0].partition(", and ")[0]
    return summary.headline.replace(summary.uneven, brief) if summary.uneven else summary.headline


def sentences(text: str) -> list[str]:
    """``text`` cut after each sentence; a capital letter begins the next one."""
    parts: list[str] = re.split(r"(?<=[.;]) (?=[A-Z])", text)
    return parts


def named(finding: Finding) -> str:
    """The code that ``finding`` is about, between backticks: the longest in its message that its source lines have.

    Empty where there is none.
    """
    source = "".join("".join(finding.snippet).split())
    parts = [part for part, is_code in quoted(finding.message) if is_code]
    here = [part for part in parts if "".join(part.removesuffix("...").split()) in source]
    return max((f"`{part}`" for part in here), key=len, default="")


def gb_link(gb_id: str) -> str:
    """The page of a graph break id on PyTorch's graph-break site; ids look like ``GB0059``."""
    return f"{_SITE}{gb_id.lower()}.html"


def fails_fullgraph(finding: Finding) -> bool:
    """Whether the run confirmed the finding by ``fullgraph=True`` alone: by default nothing broke there."""
    return finding.status == "confirmed" and bool(finding.gb_ids) and not finding.events


def passes_with_fixes(finding: Finding) -> bool:
    """Whether it was the run with the fixes applied that came to the finding, where nothing broke."""
    return finding.status == "refuted" and finding.consequence == PASSES


def status_label(finding: Finding) -> str:
    """The status in two or three words."""
    return "fullgraph fails here" if fails_fullgraph(finding) else STATUS_LABELS[finding.status]


def status(finding: Finding) -> str:
    """``predicted, and seen in the run (GB0059)``, and where the code is not the user's, whose it is."""
    text = _FULLGRAPH if fails_fullgraph(finding) else STATUSES[finding.status]
    text = _PASSES if passes_with_fixes(finding) else text
    if finding.events:
        text += f" ({', '.join(finding.gb_ids)})" if finding.gb_ids else ""
    if finding.whole_frame and finding.events:
        text += f"; {in_eager(finding)} as a whole"
    if finding.owner != "own":
        text += f"; in {OWNERS[finding.owner]}"
    return text


def in_eager(finding: Finding) -> str:
    """``Net.forward and Block.forward run in eager``: the functions that Dynamo gave up because of the break."""
    if not finding.dropped:
        return "the function runs in eager"
    return f"{dropped(finding)} {'runs' if len(finding.dropped) == 1 else 'run'} in eager"


def dropped(finding: Finding) -> str:
    """The names of the functions that are not compiled at all because of the break."""
    return " and ".join(finding.dropped) or given_up(finding) or "the function"


def settings(findings: Iterable[Finding]) -> list[str]:
    """The lines that make the settings of Dynamo which are suggested for breaks in libraries, each once."""
    parts = (part for f in findings if f.owner != "own" for part in quoted(f.suggestion))
    lines = (line for text, is_code in parts if is_code and _SETTING in text for line in text.split("; "))
    found = dict.fromkeys(lines)
    return ["import torch", *found] if found else []


def place(at: Location | Break) -> str:
    """``model.py:12``; of a library without the folder of packages."""
    return f"{without_site(at.path)}:{at.line}"


def advice(finding: Finding) -> str:
    """What to do: the change of the fix that is offered, else the suggestion of the rule."""
    if finding.fix is not None and is_offered(finding, owner=None):
        return f"apply the {label(finding.fix)} fix: {_lowered(finding.fix.reason.removesuffix('.'))}"
    return finding.suggestion


def whose(finding: Finding, authors: str = "the authors of the library") -> str:
    """Who can follow the suggestion of the rule: the user, or the authors of the library with the finding.

    A setting of torch holds for the whole process, so the user can make it too.
    """
    if finding.owner == "own":
        return ""
    authors = "the authors of torch" if finding.owner == "torch" else authors
    return authors + (" (you can make the setting)" if sets_dynamo(finding) else "")


def sets_dynamo(finding: Finding) -> bool:
    """Whether what the rule suggests is a setting of Dynamo."""
    return _SETTING in finding.suggestion


def _lowered(sentence: str) -> str:
    """``sentence`` as a clause: a first word that is a name keeps its capital."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() or sentence[1:2] == " " else sentence


def not_judged(finding: Finding, ran: bool) -> str:
    """Why no run shows whether the graph breaks here, in brackets; empty where it does, or where nothing ran."""
    if finding.status == "not-reached":
        return " (compiled code did not come here)"
    # Usage and recompiles are not what a run judges by breaks.
    untraced = ran and finding.status == "static-only" and bool(finding.gb_ids)
    return " (not checked by a run)" if untraced else ""


def fix_kind(fix: Fix) -> str:
    """``safe; not verified``, ``verified; compiles with the default settings``."""
    kind = label(fix)
    return LABELS[kind] if kind in ("manual", "refused") else f"{LABELS[kind]}; {GRADES[fix.grade]}"


def fix_label(finding: Finding) -> str:
    """``safe fix``; with what it leaves to eager code, and where it was tried in vain, why."""
    if finding.fix is None:
        return ""
    text = f"{label(finding.fix)} fix"
    if not is_idle(finding):
        return text + (", skips it under compile" if only_in_eager(finding.fix) else "")
    line = waits_for(finding)
    return f"{text}, waits for line {line}" if line else f"{text}, no effect seen"


def is_idle(finding: Finding) -> bool:
    """Whether the fix of ``finding`` does nothing yet: a run showed no effect, or compiling ends before its line."""
    if finding.fix is None or finding.fix.grade in ("general", "setup-required"):
        return False
    return finding.fix.grade == "no-effect" or waits_for(finding) > 0


def share(value: float | None) -> str:
    """A fraction from 0 to 1 as a percentage; only all of it is 100 %, only nothing is 0 %."""
    if value is None:
        return "unknown"
    percent = round(100 * value)
    if 0 < value < 1:
        percent = min(max(percent, 1), 99)
    return f"{percent} %"


def run_title(run: DynamicRun, modes: Sequence[str] = ()) -> str:
    """``Net, eval mode, on cpu``; with the ``modes`` of several runs that are one to the reader, these."""
    known = [mode for mode in modes or (run.mode,) if mode == "train" or (mode == "eval" and run.of_module)]
    return ", ".join([run.target, *([f"{' and '.join(known)} mode"] if known else []), f"on {run.device}"])


def alike(runs: Iterable[DynamicRun], facts: Callable[[DynamicRun], object]) -> list[list[DynamicRun]]:
    """``runs`` in groups: those of one target on one device with the same ``facts``, mostly both modes."""
    groups: dict[object, list[DynamicRun]] = {}
    for run in runs:
        groups.setdefault((run.target, run.device, facts(run)), []).append(run)
    return list(groups.values())


def run_titles(runs: Iterable[DynamicRun]) -> str:
    """The titles of several runs, each target once."""
    groups = alike(runs, lambda _run: None)
    return "; ".join(run_title(same[0], [run.mode for run in same]) for same in groups)


def inputs(runs: Iterable[DynamicRun]) -> list[str]:
    """``Input: x float32[8, 16], from graphdoctor_target()``; one line for each way in which the code was called."""
    texts = list(dict.fromkeys(run.inputs for run in runs if run.inputs))
    return [f"Input: {text}" for text in texts]


def compile_time(runs: Iterable[DynamicRun]) -> str:
    """What the first compiled call of the slowest run took; empty where it was not measured."""
    slowest = max((run.cost[1] for run in runs), default=0.0)
    return f"The first compiled call took {slowest:.1f} s, without Inductor." if slowest else ""


def run_counts(run: DynamicRun) -> str:
    """``4 graphs, 3 graph breaks (2 in your code), 83 % compiled``, or what stopped the run.

    The detail of a run that went well is what stopped the variants after it.
    """
    if run.outcome != "ok":
        return ": ".join(filter(None, [OUTCOMES[run.outcome], run.detail]))
    own = sum(entry.owner == "own" for entry in run.breaks)
    later = sum(entry.call > 1 for entry in run.breaks)
    where = [f"{own} in your code"] if own < len(run.breaks) else []
    where += [f"{later} in later calls only"] if later else []
    where += [f"{len(run.varied_breaks)} more with other inputs"] if run.varied_breaks else []
    # A run in eval mode has gradients, which inference usually has not.
    graded = sum(entry.with_gradients for entry in run.breaks)
    no_gradients = "none" if graded == len(run.breaks) else f"{len(run.breaks) - graded}"
    where += [f"{no_gradients} under torch.no_grad()"] if graded else []
    counts = f"{plural(run.graphs, 'graph')}, {plural(len(run.breaks), 'graph break')}"
    counts += f" ({', '.join(where)})" if where else ""
    if run.compiled_share is not None:
        counts += f", {share(run.compiled_share)} of the operators compiled"
    return counts + (f"; recompiles not counted: {run.detail}" if run.detail else "")


def meaning(summary: Summary, runs: Iterable[DynamicRun]) -> str:
    """What the verdict means for a program that calls torch.compile; empty where the headline says all."""
    if summary.verdict != "not-ready" or not summary.breaks:
        return ""
    ran = [run for run in runs if run.outcome == "ok"]
    # What a program did in many calls has the graphs of recompiles, too.
    measured = any(run.fullgraph.passes is not None for run in ran)
    graphs = plural(summary.graphs or 0, "graph") if measured else "several graphs"
    shares = [run.compiled_share for run in ran if run.compiled_share is not None]
    most = f", {share(min(shares))} of its operators compiled" if shares and len(shares) == len(ran) else ""
    equal = all(run.numerics is not None and run.numerics.equal for run in ran)
    around = "it" if measured and summary.graphs == 1 else "them"
    pieces = f"torch.compile runs this in {graphs} with eager code around {around}{most}"
    pieces += ", and the outputs are those of eager" if ran and equal else ""
    failed = next((run.fullgraph for run in ran if run.fullgraph.passes is False), None)
    return f"{pieces}. {_raises(failed, ran)}" if failed else f"{pieces}."


def _raises(failed: FullGraph, runs: Iterable[DynamicRun]) -> str:
    """Where ``fullgraph=True`` raises, and why that may be another line than the one that breaks by default."""
    if not failed.path:
        return "fullgraph=True raises an error."
    breaks = {(entry.path, entry.line) for run in runs for entry in run.breaks}
    further = "" if (failed.path, failed.line) in breaks else " gets further, for it records more than the default, and"
    return f"fullgraph=True{further} raises an error at {without_site(failed.path)}:{failed.line}."


def fullgraph(verdict: FullGraph) -> str:
    """``passes``, ``fails at model.py:4: reason`` or ``not tried``."""
    if verdict.passes is None:
        return f"not tried: {verdict.error}" if verdict.error else "not tried"
    if verdict.passes:
        return "passes"
    where = f" at {verdict.path}:{verdict.line}" if verdict.path else ""
    return f"fails{where}" + (f": {verdict.error}" if verdict.error else "")


def numerics(result: Numerics | None) -> str:
    """Whether the compiled outputs equal the eager ones, and by how much they differ."""
    if result is None or result.equal is None:
        detail = result.detail if result else ""
        return f"not compared: {detail}" if detail else "not compared"
    facts = [] if result.max_abs_diff is None else [f"largest difference {result.max_abs_diff:.3g}"]
    facts += [part for part in (result.tolerance and f"tolerance {result.tolerance}", result.detail) if part]
    return ("equal" if result.equal else "differ") + (f" ({', '.join(facts)})" if facts else "")


def recompile_place(recompile: Recompile) -> str:
    """``model.py:12``, or nothing where Dynamo names no line."""
    return f"{without_site(recompile.path)}:{recompile.line}" if recompile.path else ""


def recompile_effect(recompile: Recompile, with_: str = "the suggested fix") -> str:
    """``5 compilations of at most 8, 2 with the suggested fix``; the last part only when it was measured.

    At the recompile limit Dynamo gives the function up, so the report says from the third compilation on how far it is.
    """
    text = plural(recompile.compilations, "compilation")
    if recompile.caused and recompile.caused < recompile.compilations - 1:
        # The others came from other causes, which are listed beside this one.
        text += f", {recompile.caused} for this cause"
    if recompile.at_limit:
        text += ", the recompile limit (what differs again runs uncompiled, and raises with fullgraph=True)"
    elif recompile.limit is not None and recompile.compilations > 2:
        text += f" of at most {recompile.limit} (the recompile limit)"
    if recompile.verified_compilations is not None:
        text += f", {recompile.verified_compilations} with {with_} (measured)"
    return text


def remedy(recompile: Recompile) -> str:
    """What to try against a recompile; nothing when it was measured and saves no compilation."""
    tried = recompile.verified_compilations
    helps = tried is None or tried < recompile.compilations
    return recompile.remedy or "" if helps else ""


def recompiles(runs: Iterable[DynamicRun]) -> dict[Recompile, str]:
    """Each cause of recompiles once, with the runs that met it."""
    return {each: run_titles(met) for each, met in recompile_causes(runs).items()}


def break_title(entry: Break) -> str:
    """``GB0170 Data-dependent branching``."""
    return " ".join(part for part in (entry.gb_id, entry.gb_type) if part) or entry.reason


def fixes(marks: Collection[str], findings: Iterable[Finding]) -> str:
    """``2 fixes``, or where findings share what is changed, ``2 fixes in 1 change``; ``marks`` are fingerprints."""
    changes = {f.fix.edits for f in findings if f.fix is not None and f.fix.edits and f.fingerprint in marks}
    counted = plural(len(marks), "fix", "fixes")
    return f"{counted} in {plural(len(changes), 'change')}" if 0 < len(changes) < len(marks) else counted


def verification(result: Verification, findings: Iterable[Finding], short: bool = False) -> str:
    """``with 5 fixes applied to a copy: 1 graph, 0 graph breaks, fullgraph=True passes, outputs ...: equal``.

    ``short``: how near the outputs are is left out where they are equal.
    """
    passes = {True: "passes", False: "fails", None: "was not tried"}[result.fullgraph_passes]
    counts = f"{plural(result.graphs, 'graph')}, {plural(result.breaks, 'graph break')}, fullgraph=True {passes}"
    if not result.fixes and not result.dropped:
        # Somebody else's change.
        return f"with the change: {counts}, outputs against the original's eager ones: {numerics(result.numerics)}"
    if not result.fixes:
        return f"no fix is left, all were dropped; the code as it is: {counts}"
    lead = f"with {fixes(result.fixes, findings)} applied to a copy: {counts}, "
    if short and result.numerics is not None and result.numerics.equal:
        return f"{lead}outputs equal to the original's"
    return f"{lead}outputs against the original's eager ones: {numerics(result.numerics)}"


def verification_detail(result: Verification) -> str:
    """The grade of the fixes that are left, and what was dropped and why."""
    reached = _WITH_ALL_FIXES[result.grade] if result.fixes else ""
    if result.fixes and result.grade == "setup-required" and result.breaks:
        # fullgraph=True switches on what the default leaves off.
        left = f"{plural(result.breaks, 'graph break')} {'is' if result.breaks == 1 else 'are'} left"
        reached = f"Everything compiles with fullgraph=True; without it {left}."
    return " ".join(filter(None, [reached, result.detail]))


def offered(findings: Iterable[Finding]) -> str:
    """``4 automatic fixes (1 only with --unsafe-fixes)``; empty where none is offered."""
    automatic = [finding for finding in findings if is_offered(finding)]
    unsafe = sum(not may_be_written(finding, unsafe=False) for finding in automatic)
    only = f" ({unsafe} only with --unsafe-fixes)" if unsafe else ""
    return f"{plural(len(automatic), 'automatic fix', 'automatic fixes')}{only}" if automatic else ""
