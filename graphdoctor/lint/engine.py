"""The static pass over files: parse, interpret, let the rules look at the events, and turn their hits into findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from graphdoctor.lint.audience import TOO_LARGE, Audience, Checks, Place, contained
from graphdoctor.lint.catalog import rules
from graphdoctor.lint.entry_files import look
from graphdoctor.lint.findings import Editors, ShownFiles, finding_of
from graphdoctor.lint.regions import regions_of
from graphdoctor.lint.result import FileResult, PathOf, StaticResult, merged
from graphdoctor.lint.work import Work
from graphdoctor.model.findings import ScannedFile
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
from graphdoctor.static.rule import Rule
from graphdoctor.static.usage.events import USAGE
from graphdoctor.static.usage.modules import Modules
from graphdoctor.static.usage.relevance import Answers
from graphdoctor.static.usage.script import usage_events
from graphdoctor.syntax import parse_check
from graphdoctor.syntax.garbage_collection import collector_paused
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.recursion_limit import deep_recursion

#: Events about code outside compiled regions.
OUTSIDE = frozenset((Compile, Build, CompiledCall, *USAGE))


def analyse(
    files: Sequence[tuple[Path, str]],
    wanted: Iterable[Rule] | None = None,
    helper: PathOf = lambda _file: None,
    target: str | None = None,
    unsaved: Mapping[Path, str] | None = None,
    followed: Mapping[str, Path] | None = None,
) -> StaticResult:
    """Analyse ``files``, see ``Work``; by default with all rules."""
    active = tuple(wanted) if wanted is not None else rules()
    analysis = Analysis(Work(files, helper, target, unsaved or {}, followed or {}), active)
    return merged(analysis.file(file, path) for file, path in files)


class Analysis:
    """Analyses the files of ``work``, one by one, with the rules ``active``.

    What several of them import is read once. A file that fails costs only its findings.
    """

    def __init__(self, work: Work, active: tuple[Rule, ...]) -> None:
        self._work = work
        self._shown = {file.resolve(): path for file, path in work.files}
        self._checks = Checks(active)
        self._call_cache = CallCache()
        self._answers: Answers = {}
        self._project = Project(work.unsaved, work.followed)

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
        seen = look(file, text, self._project) if self._work.target is None else None
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
        interpreter, places = self._hits(module, recorder, trouble)
        complete = not trouble
        shown = ShownFiles(module, self._shown, self._work.helper)
        editors = Editors(source, recorder, lambda: self._record(source), shown)
        found = []
        for place in places:
            with contained(trouble):
                finding = finding_of(place, editors, self._work.possible, trouble)
                if finding is not None:
                    found.append(finding)
        judged = None
        statements = interpreter.seen_statements
        if complete and statements is not None:
            judged = frozenset(source.location(node).line for node in statements)
        editors.forget_written()
        regions = regions_of(interpreter, places, found, shown.name_of) if complete else ()
        # A script may compile a model of another package, which is not a region of this file.
        compiles = bool(interpreter.reached.functions) or "compile" in source.text
        project.forget(source)
        problems = "; ".join(dict.fromkeys(trouble)) or None
        scanned = ScannedFile(source.path, _number_of_lines(source.text), "scanned", problems)
        paths = looked_at(project, module)
        module.break_reference_cycles()
        return FileResult(scanned, tuple(found), judged, shown.helpers, paths, compiles, regions)

    def _hits(self, module: ModuleInfo, recorder: Recorder, trouble: list[str]) -> tuple[Interpreter, list[Place]]:
        """What interpreted one file, and the hits in it.

        ``recorder`` gets the values of its expressions.
        """
        audience = Audience(self._checks, trouble)
        interpreter = Interpreter(self._project, audience, OUTSIDE, self._call_cache, recorder, self._work.facts)
        interpreter.seen_statements = set() if may_silence(module.source.text) else None
        with contained(trouble):
            interpret(interpreter, module, audience.compiles, self._work.target)
        with contained(trouble):
            for use in usage_events(module.source, Modules(interpreter, module), self._answers):
                audience.receive(use)
        if interpreter.steps > interpreter.MAX_STEPS:
            # The result of a call that ran out of steps is unknown.
            trouble.append(TOO_LARGE)
        return interpreter, audience.places()

    def _record(self, source: SourceModule) -> Recorder:
        """The values of expressions in the other files that a file calls: it is interpreted once more to get them.

        Calls into other files may have been replayed, which evaluates nothing.
        """
        audience, module, recorder = Audience(self._checks, []), module_of(source), Recorder()
        interpreter = Interpreter(self._project, audience, OUTSIDE, recorder=recorder, run_facts=self._work.facts)
        with contained([]):
            interpret(interpreter, module, audience.compiles, self._work.target)
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
