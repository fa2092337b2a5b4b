"""Graph breaks in the installed packages that the compiled code of one file calls, without ``--follow``.

The file is interpreted once more for that, with its packages followed as far as a budget allows, so the findings of the
file itself do not depend on them. Only breaks that every trace reaches are reported, since the source of a library does
not show with which settings it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from graphdoctor.lint.audience import Audience, Checks, contained
from graphdoctor.lint.engine import OUTSIDE, module_of
from graphdoctor.lint.findings import finding_at
from graphdoctor.lint.result import FileResult, PathOf
from graphdoctor.model.findings import Finding, ScannedFile
from graphdoctor.source.errors import SourceError
from graphdoctor.static.domain.events import Event
from graphdoctor.static.domain.project import Project, looked_at
from graphdoctor.static.domain.torch_tables import HOST_PACKAGES, TRACKERS
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.regions import interpret
from graphdoctor.static.rule import Hit, Rule
from graphdoctor.syntax import parse_check
from graphdoctor.syntax.garbage_collection import collector_paused
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.recursion_limit import deep_recursion

#: Packages whose functions the rules know by name, and others that no graph depends on. Reading them would only use up
#: the budget.
NOT_READ = frozenset(
    {*HOST_PACKAGES, *TRACKERS, "typing_extensions", "packaging", "tqdm", "colorama", "huggingface_hub"}
)
#: Steps of the interpreter, and bytes of source: together less than a second.
MOST_STEPS = 60_000
MOST_TEXT = 1_200_000


@deep_recursion
def called_libraries(
    file: Path, path: str, rules: tuple[Rule, ...], packages: Mapping[str, Path], path_of: PathOf
) -> FileResult:
    """What surely breaks in ``packages``, by name the folders that hold them, when ``file`` runs what it compiles.

    Nothing where the file does not say what is compiled. ``path_of`` says how files of packages are shown.
    """
    project = _LimitedProject(packages)
    scanned = ScannedFile(path, 0, "scanned")
    with collector_paused():
        try:
            text, encoding = project.read(file)
            source = SourceModule(path, file, text, encoding, parse_check.check(text))
        except SourceError:
            return FileResult(scanned)
        project.add(source)
        module = module_of(source)
        audience = _CallingLines(Checks(rules))
        interpreter = Interpreter(project, audience, OUTSIDE)
        interpreter.step_limit = MOST_STEPS
        audience.interpreter = interpreter
        with contained([]):
            interpret(interpreter, module, audience.compiles)
        found = () if interpreter.region_facts.assumed else tuple(_findings(audience, packages, path_of))
        helpers = {finding.location.path: finding_file for finding, finding_file in found}
        paths = looked_at(project, module)
        module.break_reference_cycles()
        project.close()
    return FileResult(scanned, tuple(finding for finding, _ in found), helpers=helpers, looked_at=paths)


class _LimitedProject(Project):
    """Reads files until the budget is used up. Values from other files are unknown."""

    def __init__(self, packages: Mapping[str, Path]) -> None:
        super().__init__(followed=packages)
        self._left = MOST_TEXT

    def read(self, file: Path) -> tuple[str, str]:
        if self._left < 0:
            raise SourceError("is not read")
        text, encoding = super().read(file)
        self._left -= len(text)
        return text, encoding


class _CallingLines(Audience):
    """Notes, for each hit that is always reached, the line of the file that calls the code around it."""

    interpreter: Interpreter

    def __init__(self, checks: Checks) -> None:
        super().__init__(checks, [])
        self.lines: dict[int, str] = {}

    def receive(self, event: Event) -> bool:
        known = len(self.hits)
        ends = super().receive(event)
        if not any(frame.may_be_left for frame in self.interpreter.frames):
            for _, hit in self.hits[known:]:
                line = self._line()
                if line is not None:
                    self.lines.setdefault(id(hit.place), line)
        return ends

    def _line(self) -> str | None:
        main = self.interpreter.main
        for frame in reversed(self.interpreter.frames):
            if frame.module is main and main is not None:
                return f"line {main.source.location(frame.statement).line} of {main.source.resolved.name}"
        return None


def _findings(audience: _CallingLines, packages: Mapping[str, Path], path_of: PathOf) -> list[tuple[Finding, Path]]:
    found = []
    for place in audience.places():
        hit = next(filter(_always, place.hits), place.hits[0])
        module, line = hit.event.site.module, audience.lines.get(id(hit.place))
        file = module.resolved
        sure = any(map(_always, place.hits))
        shown = path_of(file) if sure and line is not None and place.rule.severity == "error" else None
        inside = any(file.is_relative_to((folder / name).resolve()) for name, folder in packages.items())
        if shown is None or not inside or not place.rule.gb_ids:
            continue
        worded = replace(hit, message=f"in a library, called from {line}: {hit.message}")
        finding = finding_at(place, worded, replace(module.location(hit.place), path=shown), module, path_of)
        found.append((replace(finding, owner="third-party", severity="warning"), file))
    return found


def _always(hit: Hit) -> bool:
    """Whether every trace reaches ``hit``, as far as the source shows."""
    return hit.confidence != "possible" and not hit.severity and not hit.event.site.conditional
