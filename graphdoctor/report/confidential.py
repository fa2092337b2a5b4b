"""A diagnosis without the source code it is about, for reports on confidential code."""

from __future__ import annotations

import re
from dataclasses import replace

from graphdoctor.model.findings import Diagnosis, Finding

NOTE = (
    "--no-source: source lines, fixes as text and quoted code are left out; names, paths and what Dynamo says are not"
)

#: A name, with or without its module: what a report may show of code.
_NAME = re.compile(r"[\w.]+(\(\))?")


def without_source(diagnosis: Diagnosis) -> Diagnosis:
    """A copy of ``diagnosis`` with no source line, no diff, no edit and no quoted code in it, whatever renders it.

    Paths, names of functions and classes, guards and the messages of Dynamo and of exceptions stay.
    """
    comparison = diagnosis.comparison
    return replace(
        diagnosis,
        findings=tuple(map(_blank, diagnosis.findings)),
        comparison=comparison and replace(comparison, fixed=tuple(map(_blank, comparison.fixed))),
        notes=(*diagnosis.notes, NOTE),
        texts={},
        patch="",
    )


def _blank(finding: Finding) -> Finding:
    fix = finding.fix and replace(finding.fix, edits=(), diff="", reason=_unquoted(finding.fix.reason))
    # A suggestion mostly quotes what to write, which is the same for all code, and seldom the code itself.
    source = "".join("".join(finding.snippet).split())
    suggestion = _unquoted(finding.suggestion, source)
    fact = re.sub("`.*`", "`…`", finding.fact) if "`" in source else _unquoted(finding.fact)
    return replace(finding, fact=fact, suggestion=suggestion, snippet=(), snippet_start=0, fix=fix)


def _unquoted(text: str, source: str | None = None) -> str:
    """``text`` with the code between backticks as "…", but for plain names such as `torch.where`.

    Where ``source`` is given, which has no whitespace, only code that stands in it.
    """

    def shown(match: re.Match[str]) -> str:
        hidden = source is None or "".join(match[1].split()) in source
        return match[0] if _NAME.fullmatch(match[1]) or not hidden else "`…`"

    return re.sub("`([^`]*)`", shown, text)
