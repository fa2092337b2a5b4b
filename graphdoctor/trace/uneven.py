"""The first line of a report on ranks that do not compile the same: which rank, where, and what helps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphdoctor.model.findings import Summary
from graphdoctor.model.runs import Recompile
from graphdoctor.report.wording import plural
from graphdoctor.trace.ranks import (
    Ran,
    deciding_value,
    kind_of_cause,
    ranked,
    site,
    together,
    uneven_breaks,
    uneven_recompiles,
)

#: Seconds, and share of its own compile time, that a rank must compile longer to be mentioned.
_LONGER = 5.0
_SHARE = 0.5
_WAIT = "the other ranks wait for it at the next collective"


def with_rank_difference(summary: Summary, every: Sequence[Ran]) -> Summary:
    """``summary`` with what is not the same on all ranks in front; such a job is never ready."""
    sentence = difference(every)
    if not sentence:
        return summary
    _, colon, rest = summary.headline.partition(": ")
    verdict = "not-ready" if summary.verdict == "ready" else summary.verdict
    start = "Not ready" if verdict == "not-ready" else summary.headline.partition(": ")[0]
    headline = f"{start}: {sentence}; {rest}" if colon else f"{start}: {sentence}"
    return replace(summary, verdict=verdict, headline=headline, uneven=sentence)


def difference(every: Sequence[Ran]) -> str:
    """The worst difference between ranks as a clause; empty where they do the same, or where there is one only."""
    ranks = ranked(every)
    if len({entry.process.rank for entry in ranks}) < 2:
        return ""
    limited, again = _recompiles(ranks, at_limit=True), _recompiles(ranks, at_limit=False)
    return limited or _breaks(ranks) or again or _graphs(ranks) or _seconds(ranks)


def _recompiles(ranks: Sequence[Ran], at_limit: bool) -> str:
    found: list[tuple[Recompile, tuple[str, ...]]] = []
    for key, names in uneven_recompiles(ranks).items():
        met = [r for e in ranks if e.label in names for r in e.run.recompiles if kind_of_cause(r) == key]
        # At the limit the function stays uncompiled there, which is worse than any number of compilations.
        found += [(recompile, names) for recompile in met if recompile.at_limit == at_limit]
    if not found:
        return ""
    worst, names = max(found, key=lambda entry: entry[0].compilations)
    how = "up to the recompile limit" if worst.at_limit else f"{plural(worst.compilations, 'compilation')}"
    what = f"{worst.path}:{worst.line} again because {worst.cause}"
    text = f"{together(names)} alone compiles {what} ({how}), and {_WAIT}"
    return f"{text}; what helps on every rank: {worst.remedy}" if worst.remedy else text


def _breaks(ranks: Sequence[Ran]) -> str:
    uneven = uneven_breaks(ranks)
    if not uneven:
        return ""
    place, names = next(iter(uneven.items()))
    path, line, _, cause = place
    more = f" (and {plural(len(uneven) - 1, 'other place')})" if len(uneven) > 1 else ""
    met = next(brk for entry in ranks for brk in entry.run.breaks if site(brk) == place)
    value = deciding_value(ranks, met, names)
    why = f", where {value}" if value else ""
    return (
        f"{path}:{line} breaks the graph ({cause}) on {together(names)} only{why}{more}; "
        "take the same path on every rank"
    )


def _graphs(ranks: Sequence[Ran]) -> str:
    counts = {entry.run.graphs for entry in ranks}
    if len(counts) < 2:
        return ""
    shown = (
        f"{plural(count, 'graph')} on {together([e.label for e in ranks if e.run.graphs == count])}"
        for count in sorted(counts)
    )
    return f"ranks compile differently: {', '.join(shown)}; give every rank the same model and the same shapes"


def _seconds(ranks: Sequence[Ran]) -> str:
    slow = max(ranks, key=lambda entry: entry.process.seconds)
    fast = min(ranks, key=lambda entry: entry.process.seconds)
    longer = slow.process.seconds - fast.process.seconds
    if longer < max(_LONGER, _SHARE * slow.process.seconds):
        return ""
    return (
        f"{slow.label} compiled {longer:.0f} s longer than {fast.label}, and {_WAIT}; warm the cache before the job, "
        "or share TORCHINDUCTOR_CACHE_DIR"
    )
