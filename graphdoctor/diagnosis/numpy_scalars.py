"""Breaks that come of arguments that are numpy scalars: what to do is for the caller, and the finding says so. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.diagnosis.sites import Site
    from graphdoctor.model.findings import Finding


def with_cause(finding: Finding, seen: Sequence[Site]) -> Finding:
    """``finding``, which the breaks ``seen`` confirm, with this cause where all of them have it.

    It has no fix then: the code that takes the argument is right.
    """
    calls = tuple(dict.fromkeys(call for site in seen for call in site.first.as_numbers))
    if not calls or not all(site.first.as_numbers for site in seen):
        return finding
    fact, names = finding.fact, [call.partition("(")[2].removesuffix(")") for call in calls]
    for name in names:
        fact = fact.replace(f"tensor data `{name}`", f"the numpy scalar `{name}`")
    instead = "the numpy scalar" if len(calls) == 1 else "the numpy scalars"
    return replace(
        finding,
        fact=fact,
        why="Dynamo makes a tensor of a numpy scalar, so the value of "
        f"{_listed(names)} is not known while the graph is recorded.",
        suggestion=f"pass {_listed(calls)} in place of {instead}: then nothing breaks here (measured)",
        fix=None,
    )


def _listed(codes: Sequence[str]) -> str:
    """The codes between backticks: one; one and another; one, another and a third."""
    *others, last = (f"`{code}`" for code in codes)
    return " and ".join(filter(None, (", ".join(others), last)))
