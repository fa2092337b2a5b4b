"""Static findings and runs -> the findings to show, each with its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.scan.filtering import Selection, kept, unused_comments
from graphdoctor.scan.source_texts import Sources, lines_of, read_texts
from graphdoctor.scan.steps.libraries import seen

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.scan.plan import StaticPlan
    from graphdoctor.scan.steps.analyse import Analysed
    from graphdoctor.scan.steps.run import Ran


@dataclass(frozen=True)
class Joined:
    """``sources`` are those of the analysed files, and of installed ones that have fixes."""

    findings: tuple[Finding, ...]
    sources: Sources
    #: The rules whose breaks only come once a size has varied.
    varying: frozenset[str] = frozenset()


def join(plan: StaticPlan, selection: Selection, analysed: Analysed, ran: Ran) -> Joined:
    """Match the static findings with the breaks of the runs, line by line, and leave out what is not shown."""
    findings, sources = analysed.findings, analysed.sources
    varying: frozenset[str] = frozenset()
    if plan.followed.fixes:
        from graphdoctor.scan.installed_fixes import at_breaks

        installed = at_breaks(ran.runs or (), plan.rules.loaded.active, selection.root, findings)
        findings = (*findings, *installed.findings)
        files = [(file, path) for path, file in installed.files.items()]
        sources = sources.extended(read_texts(files, plan.work.unsaved))
    if ran.runs:
        from graphdoctor.diagnosis import join as by_line
        from graphdoctor.diagnosis.own_calls import with_own_calls
        from graphdoctor.lint import catalog

        runs = with_own_calls(ran.runs, findings, sources.texts)
        texts = by_line.rule_texts(catalog.rules())
        rules = plan.rules.loaded.rules
        varying = by_line.of_varying(rules)
        findings = by_line.join(findings, runs, texts, by_line.of_fullgraph(rules), varying, sources.texts)
        findings = seen(findings, analysed.called)
    if plan.followed.fixes:
        from graphdoctor.scan.installed_fixes import confirmed

        findings = confirmed(findings, ran.runs or ())
    unused = unused_comments(findings, plan.rules, selection, analysed.static, sources.texts, ran.runs)
    findings = kept((*findings, *unused), selection, sources.texts)
    return Joined(with_fingerprints(findings, lines_of(findings, sources)), sources, varying)
