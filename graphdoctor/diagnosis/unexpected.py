"""Findings for breaks that the static pass did not expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from graphdoctor.breaks.explanations import GOES_WITH, IN_EAGER
from graphdoctor.breaks.locations import without_site
from graphdoctor.diagnosis.sites import called_from, dropped_names
from graphdoctor.model.findings import Finding, Location

if TYPE_CHECKING:
    from graphdoctor.diagnosis.sites import Site
    from graphdoctor.model.findings import Severity
    from graphdoctor.model.runs import Break, Frame

#: What Python up to 3.11 makes of a comprehension.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")


_RAISES = "The exception ends the compiled call: nothing is left to run in eager, and there is no graph."
#: What to do where the inputs are right.
_RIGHT_IN_EAGER = (
    "The same inputs pass in eager: move the line out of the compiled code, or write it with another operator."
)


@dataclass(frozen=True)
class RuleText:
    """What a finding takes over from the rule that owns a graph-break id."""

    code: str
    name: str
    why: str
    suggestion: str


#: The break is the warning itself.
_WARNS = "Change what torch warns about there, as the warning says that the code prints without compiling."


def of(site: Site, rules: Mapping[str, RuleText], *, raises: bool) -> Finding:
    """The finding for a break that the static pass did not expect; ``raises``: it ended a run that passes in eager."""
    brk = site.first
    called = in_torch(brk)
    known = rules.get(called.function) if called is not None else None
    rule = known or rules.get(brk.gb_id or "", RuleText("GD000", "graph-break", "", ""))
    severity: Severity = "error" if brk.owner == "own" else ("warning" if brk.owner == "third-party" else "info")
    column = brk.column if brk.column is not None else 1
    hint = brk.hints[0] if brk.hints and known is None else rule.suggestion
    if called is not None and known is None and brk.reason.startswith("warnings.warn()"):
        hint = _WARNS
    lost = "The graph is split here, and what is left is compiled and launched on its own."
    if site.whole_frame:
        part = "rest of the" if site.rest else "whole"
        lost = f"The {part} function runs uncompiled; what it calls is compiled by itself."
    why = _RAISES if raises or brk.raises else lost
    place = Location(brk.path, brk.line, column, brk.line, column)
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=severity,
        confidence="certain",
        location=place,
        function=brk.function,
        fact=brk.reason + inside(brk),
        why=rule.why or why,
        suggestion=_RIGHT_IN_EAGER if raises and hint == IN_EAGER else hint,
        status="dynamic-only",
        owner=brk.owner,
        gb_ids=(brk.gb_id,) if brk.gb_id else (),
        events=site.events,
        whole_frame=site.whole_frame and not site.rest,
        dropped=() if site.rest else dropped_names([site]),
        called_from=called_from(brk, place),
    )


def inside(brk: Break) -> str:
    """Where in a library it happened, when the line of the finding is only the user's way in."""
    if (called := in_torch(brk)) is not None:
        return f", in `{called.function}` of torch ({without_site(called.path)}:{called.line})"
    inner = brk.stack[-1] if brk.stack else None
    if inner is None or (inner.path, inner.line) == (brk.path, brk.line) or brk.owner == "own":
        return ""
    condition = f", under `if {brk.condition}`" if brk.condition else ""
    return f" (at {without_site(inner.path)}:{inner.line}{condition})"


def in_torch(brk: Break) -> Frame | None:
    """Where torch's own code broke, which the user's line calls. What Dynamo runs in place of a builtin is no such."""
    inner = brk.stack[-1] if brk.stack else None
    if inner is None or brk.owner != "own":
        return None
    path = without_site(inner.path)
    is_torch = path != inner.path and path.startswith("torch/") and not path.startswith("torch/_dynamo/")
    return inner if is_torch else None


def beside(unexplained: Finding, joined: Iterable[Finding]) -> Finding:
    """``unexplained``, a break whose cause no rule knows, with the advice to remove first what may be its cause.

    That is a break on the same line that a rule explains, or one for which Dynamo gave up the function around a
    comprehension: the comprehension is then compiled alone.
    """
    if unexplained.rule != "GD000":
        return unexplained
    place, given_up = unexplained.location, set(unexplained.dropped)
    here = [f for f in joined if f.status == "confirmed" and f.gb_ids and f.location.path == place.path]
    on_line = (f for f in here if _is_on(f.location, place.line))
    around = (f for f in here if any(f"{name}.{kind}" in given_up for name in f.dropped for kind in COMPREHENSIONS))
    other = next(chain(on_line, around), None)
    if other is None:
        return unexplained
    where = "on this line" if _is_on(other.location, place.line) else f"at line {other.location.line}"
    first = f"Remove the break of {other.rule} {where} first: this one may go with it."
    # What the explanation says of a break in general, to remove another one first, is said with its place.
    general, goes_with, rest = unexplained.suggestion.partition(GOES_WITH)
    said = rest.strip() if goes_with else f"Else: {general}" if general else ""
    return replace(unexplained, suggestion=" ".join(filter(None, (first, said))))


def _is_on(place: Location, line: int) -> bool:
    return place.line <= line <= place.end_line
