"""The static pass over files: parse, interpret, let the rules look at the events, and turn their hits into findings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.suggest import suggest
from graphdoctor.model import Confidence, Finding, ScannedFile, Severity
from graphdoctor.source import syntax
from graphdoctor.source.module import SourceError, SourceModule
from graphdoctor.source.suppress import suppressions
from graphdoctor.source.walk import walk
from graphdoctor.static.catalog import rules
from graphdoctor.static.events import Build, Compile, CompiledCall, Event
from graphdoctor.static.index import ModuleInfo, Project, Scope, package_of
from graphdoctor.static.machine import Budget, Machine
from graphdoctor.static.regions import interpret
from graphdoctor.static.rule import Hit, Rule
from graphdoctor.static.script import usage_events
from graphdoctor.static.usage import USAGE

CONFIDENCES = get_args(Confidence)
SEVERITIES = get_args(Severity)

_TOO_LARGE = "too large to analyse completely; what was found so far is reported"

#: The path to show for a file, or None where its findings are not wanted.
PathOf = Callable[[Path], str | None]

#: Lines shown around a finding.
CONTEXT = 3

#: Python frames that the static pass may nest.
RECURSION = 10_000


@dataclass(frozen=True)
class StaticResult:
    """What the static pass says of some files."""

    files: tuple[ScannedFile, ...]
    findings: tuple[Finding, ...]
    #: Files beside the scanned ones that have findings: where they are on disk, by shown path.
    helpers: Mapping[str, Path] = field(default_factory=dict)
    #: Lines that begin a statement which the rules saw, by shown path; only of scanned files that were analysed
    #: completely and have comments which silence findings.
    judged: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """All hits of one rule at one node."""

    rule: Rule
    hits: tuple[Hit, ...]


def analyse(
    files: Sequence[tuple[Path, str]],
    wanted: Iterable[Rule] | None = None,
    helper: PathOf = lambda file: None,
    target: str | None = None,
    unsaved: Mapping[Path, str] | None = None,
    followed: Mapping[str, Path] | None = None,
) -> StaticResult:
    """Analyse ``files``, pairs of file on disk and path to show. A file that fails costs only its own findings.

    ``helper`` says how to show a file that is not scanned but called from one that is; None keeps its findings out.
    ``target`` names what the files declare and the user compiles, in place of the regions that the files show.
    ``unsaved`` holds texts, by resolved path, that stand for what is on disk. ``followed`` are the installed packages
    that calls are followed into, with the folders that hold them.
    """
    active = tuple(wanted) if wanted is not None else rules()
    shown = {file.resolve(): path for file, path in files}
    project = Project(unsaved, followed, complete=lambda file: file in shown or helper(file) is not None)
    helpers: dict[str, Path] = {}

    def path_of(file: Path) -> str | None:
        path = shown.get(file)
        if path is None:
            path = helper(file)
            if path is not None:
                helpers[path] = file
        return path

    scanned: list[ScannedFile] = []
    judged: dict[str, frozenset[int]] = {}
    findings: dict[tuple[str, str, int, int], Finding] = {}
    for file, path in files:
        result, found = analyse_file(project, file, path, active, path_of, target, judged)
        scanned.append(result)
        for finding in found:
            place = finding.location
            key = (finding.rule, place.path, place.line, place.column)
            if key not in findings or _surer(finding, findings[key]):
                findings[key] = finding
    ordered = sorted(findings.values(), key=lambda f: (f.location, f.rule))
    return StaticResult(tuple(scanned), tuple(ordered), helpers, judged)


def _surer(one: Finding, other: Finding) -> bool:
    return CONFIDENCES.index(one.confidence) < CONFIDENCES.index(other.confidence)


def analyse_file(
    project: Project,
    file: Path,
    path: str,
    active: tuple[Rule, ...],
    path_of: PathOf,
    target: str | None,
    judged: dict[str, frozenset[int]],
) -> tuple[ScannedFile, list[Finding]]:
    """Analyse one file: what became of it, and its findings. The lines that the rules saw are added to ``judged``."""
    try:
        text, encoding = project.read(file)
        lines = text.count("\n") + bool(text and not text.endswith("\n"))
        syntax.check(text)
        if "torch" not in text and "lightning" not in text and "transformers" not in text:
            return ScannedFile(path, lines, "scanned"), []
        source = SourceModule(path, file, text, encoding)
    except SourceError as error:
        return ScannedFile(path, 0, "failed", str(error)), []
    project.add(source)
    trouble: list[str] = []
    editors: dict[SourceModule, Editor | None] = {}
    found = []
    with _deep_recursion():
        places, statements = _hits(project, source, active, target, trouble)
        complete = not trouble
        for place in places:
            with _contained(trouble):
                finding = _finding(place, path_of, editors, trouble)
                if finding is not None:
                    found.append(finding)
    if complete and suppressions(text):
        judged[path] = frozenset(source.location(node).line for node in walk(source.tree) if id(node) in statements)
    return ScannedFile(path, lines, "scanned", "; ".join(dict.fromkeys(trouble)) or None), found


def _hits(
    project: Project, source: SourceModule, active: tuple[Rule, ...], target: str | None, trouble: list[str]
) -> tuple[list[_Place], set[int]]:
    """What the rules say of one file, and the statements that they saw, by id."""
    places: dict[tuple[str, int], list[Hit]] = {}
    by_code = {rule.code: rule for rule in active}
    checks: dict[str, list[tuple[Rule, object]]] = {}
    for rule in active:
        for event, check in rule.checks.items():
            checks.setdefault(event, []).append((rule, check))
    broken: set[str] = set()
    compiles: list[Event] = []

    def sink(event: Event) -> None:
        if isinstance(event, Compile):
            compiles.append(event)
        if not event.site.compiled and not isinstance(event, (Compile, Build, CompiledCall, *USAGE)):
            return
        for rule, check in checks.get(type(event).__name__.lower(), ()):
            if rule.code in broken:
                continue
            try:
                hit = _checked(check(event))  # type: ignore[operator]
            # A project's own rule may even end the process.
            except (Exception, SystemExit) as error:
                broken.add(rule.code)
                trouble.append(f"rule {rule.code} failed here ({_one_line(error)}); its findings are missing")
                continue
            if hit is not None:
                if event.site.untaken:
                    hit = replace(hit, confidence="possible")
                places.setdefault((rule.code, id(hit.place)), []).append(hit)

    name, _ = package_of(source.file.resolve())
    package = name if source.file.name == "__init__.py" else name.rpartition(".")[0]
    machine = Machine(project, sink)
    with _contained(trouble):
        interpret(machine, ModuleInfo(source, name, package, Scope("module")), compiles, target)
    with _contained(trouble):
        for use in usage_events(source):
            sink(use)
    if machine.steps > machine.MAX_STEPS:
        # A call that ran out of steps ends as one of which nothing is known.
        trouble.append(_TOO_LARGE)
    return [_Place(by_code[code], tuple(hits)) for (code, _), hits in places.items()], machine.judged


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Allow what ``syntax.check`` lets through: calls that nest inside deep expressions.

    10,000 Python frames fit a stack of 8 MB in Python 3.10, where each takes C stack too.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@contextmanager
def _contained(trouble: list[str]) -> Iterator[None]:
    """Note what goes wrong inside, a defect of graphdoctor too: it costs neither other files nor what was found."""
    try:
        yield
    except Budget:
        trouble.append(_TOO_LARGE)
    except RecursionError:
        trouble.append("too deeply nested to analyse completely; what was found so far is reported")
    except Exception as error:
        trouble.append(f"internal error ({_one_line(error)}); what was found so far is reported")


def _checked(hit: object) -> Hit | None:
    """What a rule returned. Raises TypeError or ValueError where it is not what a rule may return."""
    if hit is None:
        return None
    if not isinstance(hit, Hit):
        raise TypeError(f"a check returns a Hit or None, not {type(hit).__name__}")
    if hit.confidence not in CONFIDENCES or hit.severity not in (None, *SEVERITIES):
        raise ValueError(f"no confidence {hit.confidence!r} or no severity {hit.severity!r}")
    return hit


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _finding(
    place: _Place, path_of: PathOf, editors: dict[SourceModule, Editor | None], trouble: list[str]
) -> Finding | None:
    """The finding for a place, or None where the file is not part of the scan. ``editors`` has those made so far."""
    first = min(place.hits, key=lambda h: CONFIDENCES.index(h.confidence))
    module = first.event.site.module
    if module not in editors:
        path = path_of(module.file.resolve())
        editors[module] = None if path is None else Editor(module, path)
    editor = editors[module]
    if editor is None:
        return None
    location = replace(module.location(first.place), path=editor.path)
    rule = place.rule
    severity = first.severity or rule.severity
    if first.confidence == "possible" and severity == "error":
        severity = "warning"
    fix = None
    try:
        fix = suggest(rule, first, editor)
    except Exception as error:
        trouble.append(f"the fix of rule {rule.code} failed here ({_one_line(error)})")
    start = max(location.line - CONTEXT, 1)
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=severity,
        confidence=first.confidence,
        location=location,
        function=first.event.site.function,
        message=first.message,
        why=rule.why,
        suggestion=first.suggestion,
        gb_ids=first.gb_ids or rule.gb_ids,
        whole_frame=any(bool(h.event.site.whole_frame) for h in place.hits),
        fix=fix,
        snippet=module.lines[start - 1 : location.end_line + CONTEXT],
        snippet_start=start,
    )
