"""The static pass over files: parse, interpret, let the rules look at the events, and turn their hits into findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import libcst as cst

from graphdoctor.breaks.measured_costs import where_recorded, with_fullgraph
from graphdoctor.breaks.run_facts import RunFacts
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.suggest import suggest
from graphdoctor.fixes.python.capture import set_in
from graphdoctor.lint.audience import TOO_LARGE, Audience, Checks, Place, contained, one_line, severity_of
from graphdoctor.lint.catalog import rules
from graphdoctor.lint.entry_files import look
from graphdoctor.lint.result import FileResult, PathOf, StaticResult, merged, rank
from graphdoctor.model.findings import Finding, Fix, Location, ScannedFile
from graphdoctor.source import language
from graphdoctor.source.errors import SourceError
from graphdoctor.source.module_files import is_script, package_of
from graphdoctor.source.suppressions import may_silence
from graphdoctor.static.domain.events import Build, Compile, CompiledCall
from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.domain.project import Project, looked_at
from graphdoctor.static.domain.recorded_values import Recorder
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.memo.replay import CallCache
from graphdoctor.static.regions.regions import interpret
from graphdoctor.static.regions.superseded import superseded
from graphdoctor.static.rule import Hit, Rule
from graphdoctor.static.usage.events import USAGE
from graphdoctor.static.usage.modules import Modules
from graphdoctor.static.usage.relevance import Answers
from graphdoctor.static.usage.script import usage_events
from graphdoctor.syntax import parse_check
from graphdoctor.syntax.garbage_collection import collector_paused
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.recursion_limit import deep_recursion
from graphdoctor.target_torch.specifiers import allows

#: Events about code outside compiled regions.
OUTSIDE = frozenset((Compile, Build, CompiledCall, *USAGE))

#: Lines shown around a finding.
CONTEXT = 3


def analyse(
    files: Sequence[tuple[Path, str]],
    wanted: Iterable[Rule] | None = None,
    helper: PathOf = lambda _file: None,
    target: str | None = None,
    unsaved: Mapping[Path, str] | None = None,
    followed: Mapping[str, Path] | None = None,
) -> StaticResult:
    """Analyse ``files``, see ``Analysis``; by default with all rules."""
    active = tuple(wanted) if wanted is not None else rules()
    analysis = Analysis(files, active, helper, target, unsaved, followed)
    return merged(analysis.file(file, path) for file, path in files)


class Analysis:
    """Analyses files, one by one. What several of them import is read once. A file that fails costs only its findings.

    ``files`` are all that are scanned, pairs of file on disk and path to show. ``helper`` says how to show a file that
    is not scanned but called from one that is; None keeps its findings out. ``target`` names what the files declare and
    the user compiles, in place of the regions that the files show. ``unsaved`` holds texts, by resolved path, that
    stand for what is on disk. ``followed`` are the installed packages that calls are followed into, with the folders
    that hold them. ``facts`` are what a run has shown, by file. Without ``possible`` what is only possible gets no fix,
    since nobody is shown it.
    """

    def __init__(
        self,
        files: Sequence[tuple[Path, str]],
        active: tuple[Rule, ...],
        helper: PathOf = lambda _file: None,
        target: str | None = None,
        unsaved: Mapping[Path, str] | None = None,
        followed: Mapping[str, Path] | None = None,
        facts: Mapping[Path, RunFacts] | None = None,
        possible: bool = True,
    ) -> None:
        self._facts = facts or {}
        self._possible = possible
        self._shown = {file.resolve(): path for file, path in files}
        self._checks = Checks(active)
        self._call_cache = CallCache()
        self._answers: Answers = {}
        self._helper = helper
        self._target = target
        self._project = Project(unsaved, followed)

    @deep_recursion
    def file(self, file: Path, path: str) -> FileResult:
        """Analyse one of the files."""
        # The collector is paused until the trees are freed, since it would go through all of them.
        with collector_paused():
            return self._file(file, path)

    def close(self) -> None:
        """Free the modules that files import; nothing is analysed after that."""
        self._project.close()

    def _file(self, file: Path, path: str) -> FileResult:
        try:
            source = self._source(file, path)
        except SourceError as error:
            return FileResult(ScannedFile(path, 0, "failed", str(error)))
        return source if isinstance(source, FileResult) else self._findings(source)

    def _source(self, file: Path, path: str) -> SourceModule | FileResult:
        """The file as nodes, or its result where nothing in it is worth interpreting. Raises SourceError."""
        text, encoding = self._project.read(file)
        language.check(str(file), text)
        tree = parse_check.check(text)
        seen = look(file, text, self._project) if self._target is None else None
        if seen is not None and not seen.is_worth_it:
            looked_for = seen.looked_for | {str(file.resolve())}
            return FileResult(ScannedFile(path, _number_of_lines(text), "scanned"), looked_at=looked_for)
        return SourceModule(path, file, text, encoding, tree)

    def _findings(self, source: SourceModule) -> FileResult:
        """The result of interpreting ``source``."""
        project, trouble = self._project, list[str]()
        project.add(source)
        module = module_of(source)
        recorder = Recorder(module)
        places, statements, compiles = self._hits(module, recorder, trouble)
        complete = not trouble
        shown = _ShownFiles(module, self._shown, self._helper)
        editors = _Editors(source, recorder, lambda: self._record(source), shown)
        found = []
        for place in places:
            with contained(trouble):
                finding = _finding(place, editors, self._possible, trouble)
                if finding is not None:
                    found.append(finding)
        judged = None
        if complete and statements is not None:
            judged = frozenset(source.location(node).line for node in statements)
        editors.forget_written()
        project.forget(source)
        problems = "; ".join(dict.fromkeys(trouble)) or None
        scanned = ScannedFile(source.path, _number_of_lines(source.text), "scanned", problems)
        paths = looked_at(project, module)
        module.break_reference_cycles()
        return FileResult(scanned, tuple(found), judged, shown.helpers, paths, compiles)

    def _hits(
        self, module: ModuleInfo, recorder: Recorder, trouble: list[str]
    ) -> tuple[list[Place], set[cst.CSTNode] | None, bool]:
        """The hits in one file, the statements that the rules saw, and whether anything in it is compiled.

        The statements are None where the file has no suppression.

        ``recorder`` gets the values of its expressions.
        """
        audience = Audience(self._checks, trouble)
        interpreter = Interpreter(self._project, audience, OUTSIDE, self._call_cache, recorder, self._facts)
        interpreter.seen_statements = set() if may_silence(module.source.text) else None
        with contained(trouble):
            interpret(interpreter, module, audience.compiles, self._target)
        with contained(trouble):
            for use in usage_events(module.source, Modules(interpreter, module), self._answers):
                audience.receive(use)
        if interpreter.steps > interpreter.MAX_STEPS:
            # The result of a call that ran out of steps is unknown.
            trouble.append(TOO_LARGE)
        # A script may compile a model of another package, which is not a region of this file.
        compiles = bool(interpreter.reached.functions) or "compile" in module.source.text
        return audience.places(), interpreter.seen_statements, compiles

    def _record(self, source: SourceModule) -> Recorder:
        """The values of expressions in the other files that a file calls: it is interpreted once more to get them.

        Calls into other files may have been replayed, which evaluates nothing.
        """
        audience, module, recorder = Audience(self._checks, []), module_of(source), Recorder()
        interpreter = Interpreter(self._project, audience, OUTSIDE, recorder=recorder, run_facts=self._facts)
        with contained([]):
            interpret(interpreter, module, audience.compiles, self._target)
        module.break_reference_cycles()
        return recorder


def module_of(source: SourceModule) -> ModuleInfo:
    name, _ = package_of(source.resolved)
    if is_script(source.text, source.resolved):
        name = source.resolved.stem
    package = name if source.file.name == "__init__.py" else name.rpartition(".")[0]
    return ModuleInfo(source, name, package, Scope("module"))


def _number_of_lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))


class _ShownFiles:
    """The paths under which reports show the file of ``module``, the other scanned files, and files that they call."""

    def __init__(self, module: ModuleInfo, scanned: Mapping[Path, str], helper: PathOf) -> None:
        self._module = module
        self._scanned = scanned
        self._helper = helper
        #: By their path in reports: the files that are not scanned and have findings.
        self.helpers: dict[str, Path] = {}

    def path_of(self, file: Path) -> str | None:
        """The path of ``file``, a resolved one; None where its findings are left out."""
        known = self._scanned.get(file)
        shown = self._helper(file) if known is None else known
        # Findings in other files are left out where users of the package do not get the class that leads there.
        if shown is None or (file != self._module.source.resolved and self._is_superseded):
            return None
        if known is None:
            self.helpers[shown] = file
        return shown

    @cached_property
    def _is_superseded(self) -> bool:
        return superseded(self._module)


class _Editors:
    """The editors for the files that the findings of ``source`` are in, each made once.

    ``recorder`` has the values of the expressions of ``source``; ``elsewhere`` computes those of other files.
    """

    def __init__(
        self, source: SourceModule, recorder: Recorder, elsewhere: Callable[[], Recorder], shown: _ShownFiles
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

    def forget_written(self) -> None:
        """Free what the editors parsed for rewrites."""
        for module in self._made:
            module.forget_written()


def _finding(place: Place, editors: _Editors, possible: bool, trouble: list[str]) -> Finding | None:
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
    return finding_at(place, replace(first, severity=severity), location, module, fix)


def _settings(module: SourceModule, rule: Rule, fullgraph: bool) -> frozenset[str]:
    """The capture settings of Dynamo. Since torch 2.10 `fullgraph=True` switches on those for numbers and sizes."""
    recorded = fullgraph and (not rule.target or allows(">=2.10", rule.target))
    return set_in(module.text) | (_WITH_FULLGRAPH if recorded else frozenset())


_WITH_FULLGRAPH = frozenset({"capture_scalar_outputs", "capture_dynamic_output_shape_ops"})


def finding_at(place: Place, hit: Hit, location: Location, module: SourceModule, fix: Fix | None = None) -> Finding:
    """The finding for ``hit``, the surest of ``place``, which reports show at ``location``."""
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
    )
