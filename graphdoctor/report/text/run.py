"""What was measured, in the text report: the runs, recompiles, and the run with the fixes applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.breaks.recompiles.guards import comes_of_break
from graphdoctor.model.labels import BREAKS_NEXT
from graphdoctor.report import wording
from graphdoctor.report.proof import against, helps, proof
from graphdoctor.report.text.paint import Paint, item

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis
    from graphdoctor.model.runs import DynamicRun, Recompile
    from graphdoctor.report.text.look import Look


#: Recompile causes that end with one graph break, of which each is told.
_MOST_OF_BREAK = 3


def measured(diagnosis: Diagnosis, look: Look) -> Iterator[str]:
    """The runs, the recompiles, and the run with the fixes applied to a copy."""
    listed = {(f.location.path, f.location.line) for f in diagnosis.findings if f.status != "refuted"}
    yield from _runs(diagnosis.dynamic or (), look, listed)
    for line in wording.inputs(diagnosis.dynamic or ()):
        yield from item(line, 2, look.width)
    yield from _recompiles(diagnosis, look)
    yield from _verification(diagnosis, look)


def _runs(shown: Sequence[DynamicRun], look: Look, listed: Set[tuple[str, int]]) -> Iterator[str]:
    """What each run counted. Runs with the same results share their lines."""
    from graphdoctor.report import optional_checks

    paint = Paint(look.color)
    for same in wording.alike(shown, lambda run: (_counts(run), *_measured(run, listed))):
        run = same[0]
        title = wording.run_title(run, modes=[each.mode for each in same])
        first, *rest = item(f"{title}: {_counts(run)}", 0, look.width)
        # Painted after wrapping, because colours have no width.
        yield first.replace(title, paint(title, "bold"), 1)
        yield from rest
        for line in _measured(run, listed):
            yield from item(line, 2, look.width)
        for each in same if look.verbose or look.tree else ():
            yield from _parts(each, run is shown[0] and each is run, look)
        if look.verbose:
            for line in dict.fromkeys(line for each in same for line in _verbose(each, len(same) > 1)):
                yield from item(line, 2, look.width)
        elif not look.tree:
            # Which parts compile alone follows from the findings.
            brief = replace(
                run,
                readiness=None,
                audit=None,
                export=(),
                blocks=tuple(group for group in run.blocks if group.at_limit),
            )
            for line in optional_checks.lines(brief, first=False):
                yield from item(line, 2, look.width)


def _counts(run: DynamicRun) -> str:
    # Where it raised stands at the top, with the message.
    return wording.OUTCOMES[run.outcome] if run.raised_at is not None else wording.run_counts(run)


def _measured(run: DynamicRun, listed: Set[tuple[str, int]]) -> list[str]:
    """What a run that went well shows beside its counts."""
    from graphdoctor.report import optional_checks, varied

    # Of runs in several modes each has its own.
    requested = [
        *(optional_checks.audit(run.audit) if run.audit is not None else ()),
        *optional_checks.exports(run.export),
    ]
    if run.outcome != "ok":
        return requested
    found = []
    # Where it fails at a finding, the finding and the headline have it.
    at = (run.fullgraph.path or "", run.fullgraph.line or 0)
    if run.fullgraph.passes is not None and at not in listed:
        found.append(f"fullgraph=True {wording.fullgraph(run.fullgraph)}")
    if run.numerics is not None and run.numerics.equal is False:
        found.append(f"compiled outputs against eager: {wording.numerics(run.numerics)}")
    found += filter(None, map(varied.refused, run.sweeps))
    return found + requested


def _verbose(run: DynamicRun, among_others: bool) -> Iterator[str]:
    """What the tool compared and varied to get there; ``among_others`` that other modes share the lines."""
    from graphdoctor.report import varied

    if run.outcome != "ok":
        return
    if run.explain is not None and run.explain.disagrees:
        yield f"explain disagrees: {run.explain.disagrees}"
    if run.fullgraph.passes is False:
        yield f"fullgraph=True {wording.fullgraph(run.fullgraph)}"
    yield f"compiled outputs against eager: {wording.numerics(run.numerics)}"
    for entry in run.sweeps:
        yield f"{run.mode} mode, {varied.sweep(entry)}" if among_others else varied.sweep(entry)


def _parts(run: DynamicRun, first: bool, look: Look) -> Iterator[str]:
    """The tree of the model, and what is known of its parts."""
    from graphdoctor.report import optional_checks
    from graphdoctor.report.text import tree_lines

    tree = tree_lines.lines(run, look.tree) if first or look.tree else []
    if tree:
        yield "  submodules:"
    for line in tree:
        yield f"    {line}"
    for line in optional_checks.lines(replace(run, audit=None, export=()), first):
        yield from item(line, 2, look.width)


def _recompiles(diagnosis: Diagnosis, look: Look) -> Iterator[str]:
    """Each cause once, with what helps: of several with the same advice the first says it, if it alone is at its place.

    Of many that end with one graph break, the others are only counted, with their places.
    """
    paint = Paint(look.color)
    said: dict[str, str] = {}
    causes = wording.recompiles(diagnosis.dynamic or ())
    at_place = Counter(map(wording.recompile_place, causes))
    of_break: dict[str, list[str]] = {}
    for recompile in causes:
        if comes_of_break(recompile.guard, recompile.remedy):
            of_break.setdefault(against(recompile, diagnosis), []).append(wording.recompile_place(recompile))
    counted = {fix for fix, places in of_break.items() if len(places) > _MOST_OF_BREAK and not look.verbose}
    for recompile, met in causes.items():
        if said and against(recompile, diagnosis) in counted & said.keys():
            continue
        place = wording.recompile_place(recompile)
        title = f"{place}: recompiles" if place else "recompiles"
        first, *rest = item(f"{title}: {recompile.cause}", 0, look.width)
        yield first.replace(title, paint(title, "bold"), 1)
        yield from rest
        fix = against(recompile, diagnosis)
        yield from item(_effect(recompile, fix, met, look.verbose, said.get(fix, "")), 2, look.width)
        if fix in counted:
            places = of_break[fix][1:]
            listed = ", ".join(dict.fromkeys(filter(None, places)))
            more = f"{len(places)} more causes that end with this graph break, at {listed}; --verbose lists them"
            yield from item(more, 2, look.width)
        said.setdefault(fix, place if at_place[place] == 1 else "")
        if look.verbose:
            from graphdoctor.report import varied

            for line in varied.tried(recompile):
                yield from item(f"= tried: {line}", 2, look.width)


def _effect(recompile: Recompile, fix: str, met: str, verbose: bool, said: str) -> str:
    measured = bool(fix) and recompile.verified_compilations is not None
    effect = wording.recompile_effect(recompile, fix) if measured else wording.recompile_effect(recompile)
    effect += f"; {met}" if verbose else ""
    return f"{effect}; help: {f'as for {said}' if said else fix}" if fix and not measured else effect


def _verification(diagnosis: Diagnosis, look: Look) -> Iterator[str]:
    """The run with the fixes applied to a copy."""
    result = diagnosis.verification
    if result is None:
        return
    paint = Paint(look.color)
    good = helps(diagnosis)
    # What may change behaviour is not called verified, however well it did.
    shown = proof(diagnosis) if good else None
    verified = shown is not None and not shown.caution
    vain = "Tried, and other breaks come next" if BREAKS_NEXT in result.detail else "Tried, without effect"
    title = "Verified" if verified else "Tried" if good else vain if result.fixes else "Verification"
    first, *rest = item(
        f"{title}: {wording.verification(result, diagnosis.findings, short=not look.verbose)}", 0, look.width
    )
    yield first.replace(title, paint(title, "bold", *(["green"] if good else [])), 1)
    yield from rest
    if look.verbose or result.grade != "general" or not result.fixes:
        yield from item(wording.verification_detail(result), 2, look.width)
