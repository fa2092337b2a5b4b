"""The measured effect of the fixes, and the command that applies them: the top of the report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdoctor.breaks.recompiles.guards import comes_of_break, is_left_by_break
from graphdoctor.diagnosis.roots import follows
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import (
    BREAKS_NEXT,
    NOT_VERIFIED,
    is_offered,
    label,
    may_be_written,
    needs_unsafe,
    not_verified,
    ran_in_part,
    sets_for_process,
)
from graphdoctor.report import wording
from graphdoctor.report.comparison import cause_count
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.labels import Label
    from graphdoctor.model.runs import Recompile

#: Options of ``graphdoctor scan`` about where reports go and how they look: with a value, and without.
_WITH_VALUE = (
    "--html",
    "--report",
    "--output",
    "--output-format",
    "--repro",
    "--fail-on",
    "--max-breaks",
    "--baseline",
)
_ALONE = (
    "--exit-zero",
    "--verbose",
    "-v",
    "--tree",
    "--diff",
    "--statistics",
    "--fix",
    "--unsafe-fixes",
    "--no-source",
)


#: The most files that a command names.
_NAMED = 4
#: Places that an effect is shown with.
_PLACES = 5
#: What ``graphdoctor run --fix`` does.
_PROVES = "A run proves them on the calls of the program, and writes the safe ones and those that are verified then."


@dataclass(frozen=True)
class Effect:
    """The effect of the fixes with one ``label``, the reason why unsafe ones are not verified, and their places."""

    label: Label
    text: str
    places: str


@dataclass(frozen=True)
class Proof:
    """``title`` is a sentence on how far the fixes get; ``after`` has the numbers of the page with the fixes, by label.

    Where they change nothing that counts, ``after`` and ``command`` are empty. ``caution`` says what to know before the
    command is pasted; ``patch`` has what it writes.
    """

    title: str
    after: dict[str, str]
    good: bool
    detail: str
    command: str
    patch: str
    caution: str = ""
    effects: tuple[Effect, ...] = ()
    #: The command that leaves out the unsafe ones, empty where there are none, or no others.
    safer: str = ""
    #: What the safe fixes alone leave to do, as a clause; empty where that is nothing, or no command writes them alone.
    leaves: str = ""
    #: The causes of recompiles that no fix removes, with advice.
    stays: str = ""


def proof(diagnosis: Diagnosis) -> Proof | None:
    """None where no fix was verified, or all were dropped."""
    result = diagnosis.verification
    if result is None or not result.fixes:
        return None
    after = {
        "graph breaks": f"{result.breaks:,}",
        "graphs": f"{result.graphs:,}",
        "fullgraph=True": {True: "passes", False: "fails", None: "not tried"}[result.fullgraph_passes],
    }
    if any(goes_with_breaks(each, diagnosis) for each in wording.recompiles(diagnosis.dynamic or ())):
        after["recompile causes"] = f"{len(_causes_left(diagnosis)):,}"
    equal = result.numerics.equal if result.numerics else None
    after["outputs"] = {True: "equal", False: "differ", None: "not compared"}[equal]
    fixes = f"{wording.fixes(result.fixes, diagnosis.findings)} applied to a copy"
    counts = f"{plural(result.graphs, 'graph')}, {plural(result.breaks, 'graph break')}"
    counts += f", fullgraph=True {after['fullgraph=True']}"
    if not helps(diagnosis):
        title = f"{fixes} {'leaves' if len(result.fixes) == 1 else 'leave'} no fewer graph breaks: {counts}"
        title += "; those that are gone had hidden others" if BREAKS_NEXT in result.detail else ""
        return Proof(title, {}, False, wording.verification_detail(result), "", "")
    chosen = [f for f in diagnosis.findings if f.fingerprint in result.fixes and is_offered(f)]
    unsafe = [finding for finding in chosen if not may_be_written(finding, unsafe=False)]
    safer = command(diagnosis, unsafe=False) if 0 < len(unsafe) < len(chosen) else ""
    return Proof(
        title=f"With {fixes}: {counts}, {_outputs(equal, chosen)}",
        after=after,
        good=result.grade == "general" and equal is not False and not unsafe,
        detail=wording.verification_detail(result),
        command=command(diagnosis),
        patch=diagnosis.patch,
        caution=_caution(unsafe, len(result.fixes)),
        effects=_effects(chosen),
        safer=safer,
        leaves=_left(unsafe) if safer else "",
        stays=_stays(diagnosis),
    )


def _outputs(equal: bool | None, chosen: Iterable[Finding]) -> str:
    """What the comparison of outputs shows about the fixes: nothing about code that did not run, or other inputs."""
    doubted = [finding.fix for finding in chosen if finding.fix is not None and finding.fix.doubts]
    if equal and any(map(ran_in_part, doubted)):
        return "outputs equal, but not all of the changed code ran"
    if equal and doubted:
        return "outputs equal for the sample"
    return {True: "outputs equal", False: "outputs differ", None: "outputs not compared"}[equal]


def _caution(unsafe: Sequence[Finding], fixes: int) -> str:
    """``fixes`` counts all of them."""
    settings = sum(finding.fix is not None and sets_for_process(finding.fix) for finding in unsafe)
    parts = [(settings, ("changes", "change"), "a setting of torch for the whole process")]
    parts += [(len(unsafe) - settings, ("is unsafe and may change", "are unsafe and may change"), "behaviour")]
    clauses = [
        f"{'the fix' if fixes == 1 else f'{count:,} of them' if count < fixes else 'all of them'} "
        f"{verb[count > 1]} {what}"
        for count, verb, what in parts
        if count
    ]
    text = ", and ".join(clauses)
    return f"{text[:1].upper()}{text[1:]}: read the change first." if text else ""


def _left(unsafe: Sequence[Finding]) -> str:
    """What is left to do without the unsafe fixes, as a clause."""
    places = list(dict.fromkeys(wording.place(f.location) for f in unsafe if f.events))
    if not places:
        return "what is left was not measured"
    return f"the graph break at {places[0]} stays" if len(places) == 1 else f"the graph breaks at {_some(places)} stay"


def _stays(diagnosis: Diagnosis) -> str:
    """The causes of recompiles that stay with the fixes, as a sentence."""
    left = _causes_left(diagnosis)
    text = f"{plural(len(left), 'recompile cause')} {'stays' if len(left) == 1 else 'stay'}" if left else ""
    advised = Counter(filter(None, map(wording.remedy, left)))
    if not advised:
        return text
    (advice, count), *_ = advised.most_common(1)
    return f"{text}: {advice}" if count == len(left) else f"{text}; for {count:,} of them: {advice}"


def _effects(chosen: Sequence[Finding]) -> tuple[Effect, ...]:
    places: dict[tuple[Label, str], dict[str, None]] = {}
    for finding in chosen:
        if finding.fix is not None:
            reason = " ".join(filter(None, [finding.fix.reason, not_verified(finding.fix)]))
            places.setdefault((label(finding.fix), reason), {})[wording.place(finding.location)] = None
    # A page shows the first few.
    most = sorted(places.items(), key=lambda entry: len(entry[1]), reverse=True)
    return tuple(Effect(kind, reason, _some(list(found))) for (kind, reason), found in most)


def _some(places: Sequence[str]) -> str:
    more = len(places) - _PLACES
    return ", ".join(places) if more <= 1 else f"{', '.join(places[:_PLACES])} and {more:,} more"


def safe_fixes(diagnosis: Diagnosis) -> Proof | None:
    """How to get the safe fixes where no run verified any; None where there are none, and where every run failed,
    which they do not repair."""
    if diagnosis.verification is not None or diagnosis.summary.verdict == "not-run":
        return None
    fixes = [finding for finding in diagnosis.findings if is_offered(finding)]
    safe = [finding for finding in fixes if may_be_written(finding, unsafe=False)]
    if run_would_prove(diagnosis):
        which = f" ({len(safe):,} safe)" if safe else ""
        title = f"{plural(len(fixes), 'automatic fix', 'automatic fixes')}{which}, not tried yet"
        return Proof(title, {}, False, "", through_sample(diagnosis, unsafe=False), "", _PROVES, _effects(fixes))
    if not safe:
        return None
    one = len(safe) == 1
    which = "All fixes" if safe == fixes else f"{len(safe):,} of the {len(fixes):,} fixes"
    if len(fixes) == 1:
        which = "The fix" if len(diagnosis.findings) == 1 else "The only fix"
    title = f"{which} {'is' if one else 'are'} safe: {'it changes' if one else 'they change'} nothing in eager"
    tried = replace(diagnosis, verification=None, findings=tuple(safe))
    return Proof(title, {}, False, "", command(tried), "", effects=_effects(safe), leaves=_without(safe, diagnosis))


def is_untried_run(diagnosis: Diagnosis) -> bool:
    """Whether this is the report of a program's run that tried no fix."""
    tried = diagnosis.verification is not None or any(note.startswith(NOT_VERIFIED) for note in diagnosis.notes)
    return wording.command(diagnosis) == "run" and not tried


def run_would_prove(diagnosis: Diagnosis) -> bool:
    """Whether a program's run tried no fix, and offers some that only a run can prove."""
    unsafe = (not may_be_written(f, unsafe=False) for f in diagnosis.findings if is_offered(f))
    return is_untried_run(diagnosis) and any(unsafe)


def _without(safe: Sequence[Finding], diagnosis: Diagnosis) -> str:
    """What a run found and the ``safe`` fixes leave, as a clause; empty where it found nothing."""
    met = (f for f in diagnosis.findings if f.events and f.owner == "own" and f not in safe)
    places = list(dict.fromkeys(wording.place(finding.location) for finding in met))
    causes = cause_count(diagnosis.dynamic or ())
    parts = [f"the graph break{'s' if len(places) > 1 else ''} at {_some(places)}"] if places else []
    parts += [plural(causes, "recompile cause")] if causes else []
    one = len(places) + causes == 1
    return f"{' and '.join(parts)} {'stays' if one else 'stay'}" if parts else ""


def helps(diagnosis: Diagnosis) -> bool:
    """Whether the run with the fixes applied is better than the one without: fewer breaks, a full graph, or a graph
    where nothing was compiled, because a break that is gone hid another one.
    """
    result, summary = diagnosis.verification, diagnosis.summary
    if result is None or not result.fixes:
        return False
    fails = any(run.fullgraph.passes is False for run in diagnosis.dynamic or ())
    passes = fails and result.fullgraph_passes is True
    begins = summary.verdict == "nothing-compiled" and result.graphs > 0
    return result.grade != "none" or result.breaks < (summary.breaks or 0) or passes or begins


def mends(diagnosis: Diagnosis) -> frozenset[str]:
    """The fingerprints of the findings that the verified fixes remove.

    Where no graph break is left, findings of breaks that follow from another break are included.
    """
    result = diagnosis.verification
    if result is None or not helps(diagnosis):
        return frozenset()
    good = {f.fingerprint for f in diagnosis.findings if f.fix is not None and f.fix.grade != "none"}
    gone = {f.fingerprint for f in diagnosis.findings if not result.breaks and follows(f)}
    return frozenset(good.intersection(result.fixes)) | gone


def goes_with_breaks(recompile: Recompile, diagnosis: Diagnosis) -> bool:
    """Whether a recompile is caused by a graph break, and the fixes remove all graph breaks."""
    result = diagnosis.verification
    ends = comes_of_break(recompile.guard, recompile.remedy)
    return bool(mends(diagnosis)) and result is not None and not result.breaks and ends


def against(recompile: Recompile, diagnosis: Diagnosis) -> str:
    """The advice against a recompile, or that the fixes remove it."""
    if goes_with_breaks(recompile, diagnosis):
        return "none needed: it goes with the graph breaks that the fixes remove"
    broken = {wording.place(finding.location) for finding in diagnosis.findings if finding.events}
    where = wording.recompile_place(recompile)
    if is_left_by_break(recompile.guard) and where in broken and recompile.verified_compilations is None:
        return f"it goes with the graph break at {where}"
    return wording.remedy(recompile)


def _causes_left(diagnosis: Diagnosis) -> list[Recompile]:
    """The causes of recompiles that do not go with the graph breaks."""
    every = wording.recompiles(diagnosis.dynamic or ())
    return [each for each in every if not goes_with_breaks(each, diagnosis)]


def idle(diagnosis: Diagnosis) -> frozenset[str]:
    """The fingerprints of the findings whose fixes were tried and improve nothing."""
    result = diagnosis.verification
    return frozenset(result.fixes) if result is not None and not helps(diagnosis) else frozenset()


def command(diagnosis: Diagnosis, unsafe: bool = True) -> str:
    """The command that writes the fixes which were tried, or all where none was: the scan's own, with ``--fix``.

    ``unsafe``: also those that may change behaviour, where there are some.
    """
    result = diagnosis.verification
    tried = set(result.fixes) if result is not None else {finding.fingerprint for finding in diagnosis.findings}
    chosen = [f for f in diagnosis.findings if f.fingerprint in tried and is_offered(f)]
    with_unsafe = unsafe and needs_unsafe(diagnosis.findings, tried)
    more = ["--fix", *(["--unsafe-fixes"] if with_unsafe else [])]
    words = _words(diagnosis)
    if sample := of_sample(diagnosis, with_unsafe):
        return sample
    if words[:2] != ["graphdoctor", "scan"]:
        files = files_to_fix(diagnosis)
        if not files and (sample := through_sample(diagnosis, with_unsafe)):
            return sample
        return shlex.join(["graphdoctor", "scan", *(files or sorted({f.location.path for f in chosen})), *more])
    return shlex.join([*_without_outputs(words), *more])


def files_to_fix(diagnosis: Diagnosis) -> list[str]:
    """The files to give to a command that writes the fixes of a program; none where these are too many to name.

    What is wrong in a helper is found where the code that calls it is read, too. A trace has files of its own.
    """
    fixed = {f.location.path for f in diagnosis.findings if f.fix is not None and is_offered(f)}
    of_program = _words(diagnosis)[:2] == ["graphdoctor", "run"]
    read = {file.path for file in diagnosis.files if file.status == "scanned"} if of_program else set()
    files = sorted(fixed | read)
    return files if len(files) <= (_NAMED if of_program else 1) else []


def of_sample(diagnosis: Diagnosis, unsafe: bool) -> str:
    """What writes the fixes that a program's run tried: the source alone shows neither which are verified nor which are
    wrong.

    Empty for other reports, and where all fixes are safe.
    """
    fixes = [f.fix for f in diagnosis.findings if f.fix is not None and is_offered(f)]
    proved = all(label(fix) == "safe" for fix in fixes)
    return "" if proved or diagnosis.verification is None else through_sample(diagnosis, unsafe)


def through_sample(diagnosis: Diagnosis, unsafe: bool) -> str:
    """What writes the fixes that the first calls of a program reach, wherever they are; empty for other reports.

    Calls that were saved are enough for that; without them the program is run once more.
    """
    words = _words(diagnosis)
    if words[:2] != ["graphdoctor", "run"]:
        return ""
    saved = words[words.index("--save-sample") + 1] if "--save-sample" in words[:-1] else ""
    more = ["--unsafe-fixes"] if unsafe else []
    if saved:
        return "; ".join(shlex.join(["graphdoctor", "fix", *more, sample]) for sample in diagnosis.samples or [saved])
    # What follows the script or the module is the program's, so the first one is meant.
    rest = words[2:]
    script = next((number for number, word in enumerate(rest) if word == "-m" or word.endswith(".py")), 0)
    options = [word for word in _without_outputs(rest[:script]) if word != "--verify"]
    return shlex.join(["graphdoctor", "run", "--fix", *more, *options, *rest[script:]])


def again(diagnosis: Diagnosis) -> str:
    """The command that makes the same scan once more."""
    return shlex.join(_without_outputs(_words(diagnosis)))


def _words(diagnosis: Diagnosis) -> list[str]:
    try:
        return shlex.split(diagnosis.command)
    except ValueError:
        return []


def _without_outputs(words: list[str]) -> list[str]:
    """The words of a command without its options about reports and fixes."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif word not in _ALONE and not word.startswith(tuple(f"{option}=" for option in _WITH_VALUE)):
            kept.append(word)
    return kept
