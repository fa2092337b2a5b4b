"""The source as coverage tools show it: which lines are compiled, in part or not at all, which were not reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import is_offered
from graphdoctor.model.runs import Break, DynamicRun
from graphdoctor.report.html.source_changes import Change, changes

#: Files, lines of one, and lines around those that have a state or a finding.
_FILES, _LINES, _CONTEXT = 10, 600, 2

#: The prefix of functions that graphdoctor calls itself.
_HOOKS = "graphdoctor_"

State = Literal["compiled", "partly", "eager", "missed", ""]


@dataclass(frozen=True)
class Line:
    """A line of source; ``number`` is 0 where lines are left out. ``findings`` begin here, ``changes`` come below."""

    number: int
    text: str
    state: State
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    #: Whether a change that is shown removes the line.
    replaced: bool = False


@dataclass(frozen=True)
class File:
    """A file, and how many of its lines are in which state."""

    path: str
    lines: tuple[Line, ...]
    counts: Mapping[State, int]


def files(diagnosis: Diagnosis) -> tuple[File, ...]:
    """The files with findings for which a run has the lines that it reached."""
    runs = [run for run in diagnosis.dynamic or () if run.outcome == "ok"]
    shown = [finding for finding in diagnosis.findings if finding.status != "refuted"]
    tried = diagnosis.verification.fixes if diagnosis.verification is not None else ()
    # A fix that overlaps those that were tried together is not written with them.
    fixed = [f for f in shown if is_offered(f, owner=None) and (not tried or f.fingerprint in tried)]
    found = (_file(path, text, runs, shown, changes(fixed, path)) for path, text in diagnosis.texts.items())
    return tuple(file for file in found if file is not None)[:_FILES]


def _file(
    path: str, text: str, runs: list[DynamicRun], findings: list[Finding], changed: Sequence[Change]
) -> File | None:
    reached = frozenset[int]().union(*(run.executed.get(path, frozenset()) for run in runs))
    here = [finding for finding in findings if finding.location.path == path]
    if not reached or not here:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    states = _states(tree, path, reached, runs)
    by_line: dict[int, list[Finding]] = {}
    for finding in here:
        by_line.setdefault(finding.location.line, []).append(finding)
    gone = {line for change in changed for line in change.removed}
    below: dict[int, list[Change]] = {}
    for change in changed:
        # What comes before the first line is shown below it.
        below.setdefault(max(change.after, 1), []).append(change)
    lines = [
        Line(
            number,
            line,
            states.get(number, ""),
            tuple(by_line.get(number, ())),
            tuple(below.get(number, ())),
            number in gone,
        )
        for number, line in enumerate(text.splitlines(), 1)
    ]
    counts: dict[State, int] = {}
    for state in states.values():
        counts[state] = counts.get(state, 0) + 1
    return File(path, tuple(_near(lines))[:_LINES], counts)


def _states(tree: ast.Module, path: str, reached: frozenset[int], runs: list[DynamicRun]) -> dict[int, State]:
    """The state of each statement's first line, in functions that were entered."""
    breaks = [entry for run in runs for entry in run.breaks]
    broken = {entry.line for entry in breaks if entry.path == path and not _is_inside_call(entry)}
    # The called function is cut there; the calling one goes on after the call.
    calls = {frame.line for entry in breaks for frame in entry.stack if frame.path == path}
    given_up = (frame for entry in breaks for frame in entry.dropped if frame.path == path)
    dropped = {frame.line for frame in given_up if not frame.is_comprehension}
    nothing = all(run.graphs == 0 for run in runs)
    states: dict[int, State] = {}
    for function in ast.walk(tree):
        # The functions that offer a sample run outside the compiled call.
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name.startswith(_HOOKS):
            continue
        own = [node.lineno for node in _statements(function)]
        if reached.isdisjoint(own):
            continue
        eager = nothing or not dropped.isdisjoint(range(function.lineno, (function.end_lineno or function.lineno) + 1))
        for line in own:
            if line not in reached:
                states[line] = "missed"
            else:
                states[line] = "eager" if eager or line in broken else "partly" if line in calls else "compiled"
    return states


def _is_inside_call(entry: Break) -> bool:
    """Whether the place of ``entry`` is the call of a library that breaks, of which most may be compiled."""
    return entry.owner != "own" and bool(entry.stack) and entry.stack[-1].path != entry.path


def _statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.stmt]:
    """The statements of a function without those of functions and classes in it, and without its docstring."""
    waiting: list[ast.stmt] = list(function.body)
    if ast.get_docstring(function, clean=False) is not None:
        waiting = waiting[1:]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                waiting.append(child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                waiting.extend(child.body)


def _near(lines: list[Line]) -> Iterator[Line]:
    """The lines with a state, a finding or a change and those around them; one with the number 0 for each gap."""
    marked = [place for place, line in enumerate(lines) if line.state or line.findings or line.changes]
    shown = {near for place in marked for near in range(place - _CONTEXT, place + _CONTEXT + 1)}
    shown -= {place for place in shown if _is_edge(place, lines, shown)}
    gap = False
    for place, line in enumerate(lines):
        if place in shown:
            gap = False
            yield line
        elif not gap:
            gap = True
            yield Line(0, "", "")


def _is_edge(place: int, lines: list[Line], shown: set[int]) -> bool:
    """Whether ``place`` is outside of the file, or an empty line at the beginning or the end of what is shown."""
    if not 0 <= place < len(lines):
        return True
    before = next((n for n in range(place, -1, -1) if n not in shown or lines[n].text.strip()), -1)
    after = next((n for n in range(place, len(lines)) if n not in shown or lines[n].text.strip()), len(lines))
    return not lines[place].text.strip() and not {before, after} <= shown
