"""The finding for what the rules see in one place: the file that it is shown in, its severity and its fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

from graphdoctor.breaks.measured_costs import where_recorded, with_fullgraph
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.suggest import suggest
from graphdoctor.fixes.python.capture import set_in
from graphdoctor.lint.audience import Place, one_line, severity_of
from graphdoctor.lint.result import PathOf, rank
from graphdoctor.model.findings import Caller, Finding, Fix, Guarded, Location
from graphdoctor.static.domain import events as static_events
from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.recorded_values import Recorder
from graphdoctor.static.regions.superseded import superseded
from graphdoctor.static.rule import Hit, Rule
from graphdoctor.syntax.module import SourceModule
from graphdoctor.target_torch.specifiers import allows

#: Lines shown around a finding.
CONTEXT = 3


class ShownFiles:
    """The paths under which reports show the file of ``module``, the other scanned files, and files that they call."""

    def __init__(self, module: ModuleInfo, scanned: Mapping[Path, str], helper: PathOf) -> None:
        self._module = module
        self._scanned = scanned
        self._helper = helper
        #: By their path in reports: the files that are not scanned and have findings.
        self.helpers: dict[str, Path] = {}

    def name_of(self, file: Path) -> str | None:
        """The path under which reports name ``file``, a resolved one; None where they do not."""
        known = self._scanned.get(file)
        return self._helper(file) if known is None else known

    def path_of(self, file: Path) -> str | None:
        """The path of ``file``, a resolved one; None where its findings are left out."""
        known, shown = self._scanned.get(file), self.name_of(file)
        # Findings in other files are left out where users of the package do not get the class that leads there.
        if shown is None or (file != self._module.source.resolved and self._is_superseded):
            return None
        if known is None:
            self.helpers[shown] = file
        return shown

    @cached_property
    def _is_superseded(self) -> bool:
        return superseded(self._module)


class Editors:
    """The editors for the files that the findings of ``source`` are in, each made once.

    ``recorder`` has the values of the expressions of ``source``; ``elsewhere`` computes those of other files.
    """

    def __init__(
        self, source: SourceModule, recorder: Recorder, elsewhere: Callable[[], Recorder], shown: ShownFiles
    ) -> None:
        self._source = source
        # An editor must not lead back to this object: such a cycle is not freed while the collector is paused.
        self._here = lambda: recorder
        self._elsewhere = cache(elsewhere)
        self._shown = shown
        self._made: dict[SourceModule, Editor | None] = {}

    def of(self, module: SourceModule) -> Editor | None:
        """The editor for ``module``; None where the findings of the file are left out."""
        if module not in self._made:
            path = self._shown.path_of(module.resolved)
            recorded = self._here if module is self._source else self._elsewhere
            self._made[module] = None if path is None else Editor(module, path, recorded)
        return self._made[module]

    def name_of(self, file: Path) -> str | None:
        """The path under which reports name ``file``, a resolved one; None where they do not."""
        return self._shown.name_of(file)

    def forget_written(self) -> None:
        """Free what the editors parsed for rewrites."""
        for module in self._made:
            module.forget_written()


def finding_of(place: Place, editors: Editors, possible: bool, trouble: list[str]) -> Finding | None:
    """The finding for a place; None where its file is not part of the scan.

    None also where the settings of Dynamo let it record the value. Without ``possible``, a finding that is only
    possible gets no fix.
    """
    first = min(place.hits, key=lambda h: rank(h.confidence, severity_of(place.rule, h)))
    module = first.event.site.module
    editor = editors.of(module)
    if editor is None:
        return None
    location = replace(module.location(first.place), path=editor.path)
    rule = place.rule
    fullgraph = place.fullgraph
    settings = _settings(module, rule, fullgraph)
    if settings and rule.recorded_by is not None and rule.recorded_by(first, editor) in settings:
        return None
    if settings & _WITH_FULLGRAPH:
        cost = where_recorded(first.consequence, fullgraph)
        first = first if cost == first.consequence else replace(first, consequence=cost, severity="error")
    if fullgraph:
        first = replace(first, consequence=with_fullgraph(first.consequence))
    severity = severity_of(rule, first)
    if first.confidence == "possible" and severity == "error":
        severity = "warning"
    fix = None
    if possible or first.confidence != "possible":
        try:
            others = [hit for hit in place.hits if hit is not first]
            fix = suggest(rule, first, editor, others)
        except Exception as error:
            trouble.append(f"the fix of rule {rule.code} failed here ({one_line(error)})")
    return finding_at(place, replace(first, severity=severity), location, module, editors.name_of, fix)


def _settings(module: SourceModule, rule: Rule, fullgraph: bool) -> frozenset[str]:
    """The capture settings of Dynamo. Since torch 2.10 `fullgraph=True` switches on those for numbers and sizes."""
    recorded = fullgraph and (not rule.target or allows(">=2.10", rule.target))
    return set_in(module.text) | (_WITH_FULLGRAPH if recorded else frozenset())


_WITH_FULLGRAPH = frozenset({"capture_scalar_outputs", "capture_dynamic_output_shape_ops"})


def finding_at(
    place: Place, hit: Hit, location: Location, module: SourceModule, name_of: PathOf, fix: Fix | None = None
) -> Finding:
    """The finding for ``hit``, the surest of ``place``, which reports show at ``location``.

    ``name_of`` says how reports name the files that lead there.
    """
    rule, start = place.rule, max(location.line - CONTEXT, 1)
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=severity_of(rule, hit),
        confidence=hit.confidence,
        location=location,
        function=hit.event.site.function,
        fact=hit.message,
        consequence=hit.consequence,
        why=rule.why,
        suggestion=hit.suggestion,
        gb_ids=hit.gb_ids or rule.gb_ids,
        whole_frame=any(bool(h.event.site.whole_frame) for h in place.hits),
        fix=fix,
        snippet=module.lines[start - 1 : location.end_line + CONTEXT],
        snippet_start=start,
        called_from=tuple(_callers(hit.event.site.callers, name_of)),
        guarded=_guarded(hit, name_of),
    )


def _guarded(hit: Hit, name_of: PathOf) -> Guarded | None:
    """What changes, unless reports do not name its file."""
    path = name_of(hit.guarded[0].source.resolved) if hit.guarded is not None else None
    return Guarded(path, hit.guarded[1]) if hit.guarded is not None and path is not None else None


def _callers(calls: tuple[static_events.Caller, ...], name_of: PathOf) -> Iterator[Caller]:
    """``calls`` as reports show them, but for those in files that they do not name."""
    for call in calls:
        path = name_of(call.module.resolved)
        if path is not None:
            yield Caller(path, call.module.location(call.statement).line, call.function)
