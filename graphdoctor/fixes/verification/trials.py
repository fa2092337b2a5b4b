"""Sets of fixes, tried on a copy of the code: what ran, what broke, and whether it is still the same program."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphdoctor.breaks.measured_costs import site_of
from graphdoctor.fixes.core.apply import fixed_texts
from graphdoctor.fixes.verification.coverage import Seen, lines_of, outcomes
from graphdoctor.model.findings import Edit, Finding, Known
from graphdoctor.model.runs import Break, DynamicRun, Numerics, Varied


class Copies(Protocol):
    """Runs copies of the code in which some files have other texts (by shown path). Nothing on disk changes."""

    def run(
        self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
    ) -> Sequence[DynamicRun]:
        """By default, with fullgraph=True, and compared with the eager results of the original; in one mode or all.

        Where differences are ``known``, compared with the eager results of the same code.
        """

    def fullgraph(self, texts: Mapping[str, str], mode: str | None = None) -> bool | None:
        """Whether fullgraph=True passes in one mode or all; None when that could not be tried."""

    def record(
        self, lines: Mapping[str, Sequence[int]], modes: Sequence[str], known: Sequence[Known] = ()
    ) -> Sequence[Varied]:
        """Run the original in eager on varied inputs, for ``vary``, and see the outcomes of the tests in ``lines``.

        ``known`` are the differences that any of the fixes announces.
        """

    def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
        """Run in eager on varied inputs, one ``Varied`` for each mode that finished."""

    def repeat(self) -> Sequence[Varied]:
        """Run the original once more: what differs from its first run is not compared from now on."""


@dataclass(frozen=True)
class Trial:
    """A set of fixes and what the runs with them showed.

    ``problem`` says what is wrong, ``changes`` what is done in another way than in the original: clauses, or empty.
    """

    applied: tuple[Finding, ...]
    runs: tuple[DynamicRun, ...]
    problem: str
    changes: str = ""

    @property
    def breaks(self) -> set[tuple[object, ...]]:
        """The places that broke."""
        return break_places(self.runs)

    @property
    def fullgraph(self) -> bool | None:
        """False when it fails in one run, True when it passes in all, else None."""
        every = [run.fullgraph.passes for run in self.runs]
        if False in every:
            return False
        return True if every and None not in every else None

    @property
    def numerics(self) -> Numerics | None:
        """The worst of the comparisons; None when a run made none."""
        every = [run.numerics for run in self.runs]
        known = [n for n in every if n is not None]
        if not known or len(known) < len(every):
            return None
        return min(known, key=lambda n: (n.equal is not False, n.equal is not None, -(n.max_abs_diff or 0.0)))

    @property
    def equal(self) -> bool:
        """The results were compared in every run, and are those of the original."""
        return self.numerics is not None and self.numerics.equal is True


class Trials:
    """Tries sets of fixes on ``copies``, for at most ``seconds`` (see ``has_time``).

    Fixes may share a change, so sets that make the same text are run once. With ``each``, single fixes are tried too,
    not only all together.
    """

    def __init__(self, texts: Mapping[str, str], copies: Copies, each: bool, seconds: float) -> None:
        self.texts = texts
        self.each = each
        self._copies = copies
        self._until = time.monotonic() + seconds
        self._runs: dict[tuple[object, ...], tuple[DynamicRun, ...]] = {}
        self._varied: dict[tuple[object, ...], tuple[str, str]] = {}
        self._fullgraph: dict[tuple[object, ...], bool] = {}
        self._before: Sequence[DynamicRun] = ()
        self.seen: Seen = {}
        #: The original on varied inputs, one for each mode.
        self.recorded: Sequence[Varied] = ()
        #: What differs between two runs of the original; None until it is needed.
        self.noise: tuple[str, ...] | None = None

    def has_time(self) -> bool:
        """Whether more may be tried that only adds detail."""
        return time.monotonic() < self._until

    def record(self, findings: Sequence[Finding], before: Sequence[DynamicRun]) -> None:
        """Run the original on varied inputs, in the modes of ``before``, and see the outcomes of the tested lines."""
        lines: dict[str, set[int]] = {}
        for finding in findings:
            lines.setdefault(finding.location.path, set()).update(lines_of(finding))
        modes = tuple(run.mode for run in before)
        sorted_lines = {path: sorted(numbers) for path, numbers in lines.items()}
        self.recorded = self._copies.record(sorted_lines, modes, known(findings))
        self.seen = outcomes(self.recorded)
        self._before = before

    def attempt(self, applied: Sequence[Finding], mode: str | None = None) -> Trial:
        """What the runs show with these fixes; the varied inputs only where the sample shows nothing wrong.

        With ``mode`` only that one is run, and on no varied inputs: for fixes that are known to be right together.
        """
        runs = self._run(applied, mode)
        problem, changes = _problem(runs, self._failing()), ""
        if mode is None and not problem:
            problem, changes = self.varied(applied)
        return Trial(tuple(applied), runs, problem, changes or _lost(runs))

    def _run(self, applied: Sequence[Finding], mode: str | None) -> tuple[DynamicRun, ...]:
        of_all = self._runs.get(self._key(applied, None), ())
        if mode is not None and (of_mode := tuple(run for run in of_all if run.mode == mode)):
            return of_mode
        key = self._key(applied, mode)
        if key not in self._runs:
            self._runs[key] = tuple(self._copies.run(fixed_texts(self.texts, applied), mode, known(applied)))
        return self._runs[key]

    def _key(self, applied: Sequence[Finding], mode: str | None) -> tuple[object, ...]:
        return (mode, known(applied), *sorted(fixed_texts(self.texts, applied).items()))

    def _failing(self) -> set[str]:
        """The modes in which the original itself raises under torch.compile."""
        return {run.mode for run in self._before if run.fails_compiled}

    def was_tried(self, applied: Sequence[Finding]) -> bool:
        """Whether ``attempt`` with these fixes costs nothing more."""
        return self._key(applied, None) in self._runs

    def same_problem(self, applied: Sequence[Finding], failed: Trial) -> str:
        """What is wrong with these fixes in the check that ``failed``, as a clause: one of all those of ``attempt``."""
        failing = self._failing()
        mode = next((run.mode for run in failed.runs if _problem([run], failing)), None)
        return self.varied(applied)[0] if mode is None else self.attempt(applied, mode).problem

    def same_changes(self, applied: Sequence[Finding], whole: Trial) -> str:
        """What these fixes do in another way than the original, as a clause: of the kinds that ``whole`` does."""
        changes = self.varied(applied)[1] if self.varied(whole.applied)[1] else ""
        mode = next((run.mode for run in whole.runs if run.unwritten), None)
        return changes or (self.attempt(applied, mode).changes if mode is not None else "")

    def varied_in_all_modes(self) -> bool:
        """Whether the original ran on varied inputs in each mode, so that a comparison means something."""
        return {v.mode for v in self.recorded if v.calls} >= {run.mode for run in self._before}

    def varied(self, applied: Sequence[Finding]) -> tuple[str, str]:
        """What is wrong with these fixes on varied inputs, and what is done in another way: clauses, or empty.

        Only what is not a mere setting of Dynamo runs: eager code never asks for it.
        """
        code = [f for f in applied if not _only_sets(f)]
        key = self._key(code, None)
        if key not in self._varied:
            self._varied[key] = self._vary(code) if code else ("", "")
        return self._varied[key]

    def _vary(self, applied: Sequence[Finding]) -> tuple[str, str]:
        texts, expected = fixed_texts(self.texts, applied), known(applied)
        if expected and not self.varied_in_all_modes():
            return "the original was not run on varied inputs in each mode, so nothing shows what else differs", ""
        found = self._copies.vary(texts, expected)
        if any(v.differs or v.changes for v in found) and self.noise is None:
            # Not before: most rewrites are right, and this is one more run of everything.
            self.noise = tuple(dict.fromkeys(name for v in self._copies.repeat() for name in v.noise))
            found = self._copies.vary(texts, expected) if self.noise else found
        missing = [v.mode for v in self.recorded if v.mode not in {v.mode for v in found}]
        ended = f"the fixed code did not come to its end on varied inputs ({missing[0]} mode)" if missing else ""
        problem = next((f"{v.differs} ({v.mode} mode)" for v in found if v.differs), ended)
        return problem, next((v.changes for v in found if v.changes), "")

    def fullgraph(self, applied: Sequence[Finding], mode: str | None = None) -> bool:
        """Whether these fixes suffice for fullgraph=True, in one mode or all."""
        key = self._key(applied, mode)
        if key not in self._fullgraph:
            self._fullgraph[key] = self._copies.fullgraph(fixed_texts(self.texts, applied), mode) is True
        return self._fullgraph[key]


def known(applied: Iterable[Finding]) -> tuple[Known, ...]:
    """The differences that these fixes announce, but for those that the values of eager runs do not show."""
    every = {kind for f in applied if f.fix is not None for kind in f.fix.known}
    return tuple(sorted(every - {"compile", "costly", "eager", "once", "precision", "rows", "setting"}))


def _only_sets(finding: Finding) -> bool:
    """Whether the fix makes a setting of Dynamo and nothing else: one that was composed with others may do more."""
    fix = finding.fix
    return fix is not None and "setting" in fix.known and all(map(_is_setting, fix.edits))


def _is_setting(edit: Edit) -> bool:
    return edit.start == edit.end and "torch._dynamo.config." in edit.text


def break_places(runs: Iterable[DynamicRun]) -> set[tuple[object, ...]]:
    """The places that broke in ``runs``, each once."""
    return {site_of(b) for run in runs for b in run.breaks}


def innermost(brk: Break) -> tuple[str, int]:
    """The file and line where the traced code broke: inside a package, where ``brk`` counts for the user's line."""
    return (brk.stack[-1].path, brk.stack[-1].line) if brk.stack else (brk.path, brk.line)


def _lost(runs: Sequence[DynamicRun]) -> str:
    """What only the original does under compile, as a clause."""
    names = next((run.unwritten for run in runs if run.unwritten), ())
    return f"under compile {', '.join(names[:3])} is no longer written" if names else ""


def _problem(runs: Sequence[DynamicRun], failing: Collection[str]) -> str:
    """What is wrong with the fixed code, as a clause. Compiled code may raise in the modes that are ``failing``."""
    for run in runs:
        if run.outcome != "ok" and not (run.fails_compiled and run.mode in failing):
            return f"the {run.mode} run failed ({run.outcome}{': ' + run.detail if run.detail else ''})"
        if run.numerics is not None and run.numerics.equal is False:
            where = f": {run.numerics.detail}" if run.numerics.detail else ""
            return f"the results in {run.mode} mode differ from the original ones{where}"
    return "" if runs else "nothing ran"
