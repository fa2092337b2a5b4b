"""Proving fixes, with runs whose results depend on the fixes that are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.fixes.verification.verify import verify
from graphdoctor.model.findings import Edit, Finding, Fix, Known, Location
from graphdoctor.model.labels import explanation, label
from graphdoctor.model.runs import Break, DynamicRun, FullGraph, Numerics, Varied

#: Two statements on lines of their own, and two tests.
TEXT = "a\nb\nc\nd\n"
BEFORE = (DynamicRun("f", "eval", "cpu", "ok", graphs=4, breaks=tuple(
    Break("m.py", line, 1, "f", "GB0059", "x", "y") for line in (1, 2, 3))),)  # fmt: skip


def finding(line: int, letter: str, safety: Any = "safe", status: Any = "confirmed") -> Finding:
    fix = Fix(safety, "reason", (Edit("m.py", (line, 1), (line, 2), letter),))
    place = Location("m.py", line, 1, line, 2)
    return Finding(
        "GD101", "n", "error", "certain", place, "f", "m", "w", "s", status=status, fix=fix, fingerprint=letter
    )


class Copies:
    """Stands for the worker: breaks where a small letter is left, raises or differs where a bad letter is."""

    def __init__(
        self,
        raising: str = "",
        differing: str = "",
        breaking: str = "",
        varying: str = "",
        other: str = "",
        clash: str = "?",
        compared: bool = True,
        free: str = "",
        seen: Mapping[int, set[bool]] | None = None,
        text: str = TEXT,
    ) -> None:
        self.raising, self.differing, self.breaking, self.compared = raising, differing, breaking, compared
        self.varying, self.other, self.clash, self.free = varying, other, clash, free
        self.seen, self.text = seen or {}, text
        self.texts: list[str] = []

    def run(
        self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
    ) -> Sequence[DynamicRun]:
        text = texts.get("m.py", self.text)
        self.texts.append(text)
        if set(text) & set(self.raising) or set(self.clash) <= set(text):
            return (DynamicRun("f", "eval", "cpu", "raised", "TypeError: no"),)
        lines = text.split("\n")[:3]
        breaks = tuple(
            Break("m.py", number, 1, "f", "GB0059", "x", "y")
            for number, line in enumerate(lines, 1)
            if line.islower() or set(line) & set(self.breaking)
        )
        equal = not set(text) & set(self.differing)
        numerics = Numerics(equal, 0.0 if equal else 1.0, "1e-5") if self.compared else None
        run = DynamicRun("f", "eval", "cpu", "ok", graphs=len(breaks) + 1, breaks=breaks, numerics=numerics)
        return (replace(run, fullgraph=FullGraph(self.fullgraph(texts))),)

    def fullgraph(self, texts: Mapping[str, str], mode: str | None = None) -> bool:
        return not any(line.islower() and line not in self.free for line in texts.get("m.py", TEXT).split("\n")[:3])

    def record(
        self, lines: Mapping[str, Sequence[int]], modes: Sequence[str], known: Sequence[Known] = ()
    ) -> Sequence[Varied]:
        seen = tuple(("m.py", line, 5, truth) for line in sorted(self.seen) for truth in sorted(self.seen[line]))
        return (Varied("eval", 1, seen=seen, dtypes=("float32",), backward=True, refused=("an empty batch",)),)

    def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
        letters = set(texts["m.py"])
        differs = "with inputs of zeros output: shapes" if letters & set(self.varying) else ""
        changes = "with inputs of zeros it raises E, and the original F" if letters & set(self.other) else ""
        return (Varied("eval", 1, differs, changes),)

    def repeat(self) -> Sequence[Varied]:
        return (Varied("eval"),)


def grades(findings: Sequence[Finding]) -> list[str]:
    return [f.fix.grade if f.fix is not None else "" for f in findings]


def labels_of(findings: Sequence[Finding]) -> list[str]:
    return [label(f.fix) if f.fix is not None else "" for f in findings]


def details(findings: Sequence[Finding]) -> list[str]:
    """What is said of each fix, without its reason."""
    return [explanation(replace(f.fix, reason="")) if f.fix is not None else "" for f in findings]


def test_all_fixes_work() -> None:
    findings = [finding(1, "A"), finding(2, "B", "unsafe"), finding(3, "C"), finding(4, "D", status="not-reached")]
    copies = Copies()
    result = verify(findings, {"m.py": TEXT}, BEFORE, copies)
    assert result is not None and copies.texts == ["A\nB\nC\nD\n", "A\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nC\nd\n",
                                                   "a\nb\nc\nD\n"]  # fmt: skip
    verification = result.verification
    assert (verification.grade, verification.breaks, verification.graphs) == ("general", 0, 1)
    assert verification.fullgraph_passes is True and verification.fixes == ("A", "B", "C", "D")
    assert verification.minimal == ("A", "B", "C") and verification.dropped == ()
    assert verification.detail == (
        "Before: 3 graph breaks. Verified for inputs of float32; nothing to "
        "compare where the original raises: an empty batch. For fullgraph=True 3 fixes suffice: GD101 at "
        "m.py:1, GD101 at m.py:2, GD101 at m.py:3."
    )
    assert labels_of(result.findings) == ["safe", "verified", "safe", "safe"]
    assert grades(result.findings) == ["general", "general", "general", "not-verified"]
    assert details(result.findings) == ["Alone: 2 graph breaks, 3 before."] * 3 + [""]


def test_a_fix_that_leaves_its_break_is_kept_only_where_fullgraph_needs_it() -> None:
    findings = [finding(1, "A"), finding(2, "B"), finding(3, "X")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(breaking="X"))
    assert result is not None and grades(result.findings) == ["general", "general", "setup-required"]
    assert (result.verification.grade, result.verification.breaks) == ("setup-required", 1)
    result = verify([finding(1, "A"), finding(2, "x")], {"m.py": TEXT}, BEFORE, Copies())
    assert result is not None and grades(result.findings) == ["general", "none"]
    assert [(d.fix, d.reason) for d in result.verification.dropped] == [
        ("x", "it does not lower the number of graph breaks")
    ]
    assert "Dropped: GD101 at m.py:2: it does not lower the number" in result.verification.detail
    assert result.verification.grade == "none" and result.verification.minimal is None


def test_fixes_that_fullgraph_does_not_need_are_not_in_the_minimal_set() -> None:
    findings = [finding(1, "A"), finding(2, "B"), finding(3, "C")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(free="b"))
    assert result is not None and result.verification.minimal == ("A", "C")
    assert ["does not need it" in detail for detail in details(result.findings)] == [False, True, False]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(free="abc"))
    assert result is not None and result.verification.minimal == ()
    assert (result.verification.detail or "").endswith("fullgraph=True passes without a fix.")


def test_the_fix_that_raises_is_found_and_named() -> None:
    findings = [finding(1, "A"), finding(2, "R", "unsafe"), finding(3, "C", "unsafe")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(raising="R"))
    assert result is not None and result.verification.fixes == ("A", "C")
    assert grades(result.findings) == ["general", "none", "general"]
    reason = "the eval run failed (raised: TypeError: no)"
    assert result.verification.dropped[0].reason == reason
    assert details(result.findings)[1] == f"Dropped: {reason}."


def test_fixes_that_change_results_are_found_whatever_their_safety() -> None:
    findings = [finding(1, "R"), finding(2, "B"), finding(3, "R", "unsafe")]
    result = verify([*findings[:2]], {"m.py": TEXT}, BEFORE, Copies(differing="R"))
    assert result is not None and grades(result.findings) == ["none", "general"]
    assert "the results in eval mode differ" in result.verification.detail


def test_a_fix_that_is_wrong_on_varied_inputs_alone_is_dropped() -> None:
    findings = [finding(1, "A"), finding(2, "V"), finding(3, "C")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(varying="V"))
    assert result is not None and grades(result.findings) == ["general", "none", "general"]
    assert result.verification.dropped[0].reason == "with inputs of zeros output: shapes (eval mode)"


def test_of_two_fixes_that_do_not_go_together_the_unsafe_one_is_dropped() -> None:
    findings = [finding(1, "A", "unsafe"), finding(2, "B"), finding(3, "C")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(clash="AB"))
    assert result is not None and result.verification.fixes == ("B", "C")
    assert result.verification.dropped[0].reason == "it does not go together with the other fixes"


def test_another_exception_leaves_a_fix_unsafe_and_ends_a_safe_one() -> None:
    findings = [finding(1, "A", "unsafe"), finding(2, "E", "unsafe")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(other="E", free="c"))
    assert result is not None and labels_of(result.findings) == ["verified", "unsafe"]
    assert "Not verified: with inputs of zeros it raises E, and the original F." in details(result.findings)[1]
    result = verify([finding(1, "A"), finding(2, "E")], {"m.py": TEXT}, BEFORE, Copies(other="E", free="c"))
    assert result is not None and labels_of(result.findings) == ["safe", "refused"]
    assert result.verification.dropped[0].reason == "with inputs of zeros it raises E, and the original F"


def test_no_more_is_claimed_than_was_seen() -> None:
    text = "a if p else q\nb if p else q\nc if p else q\nd\n"
    findings = [finding(1, "A", "unsafe"), finding(2, "B", "unsafe"), finding(3, "C", "unsafe")]
    result = verify(findings, {"m.py": text}, BEFORE, Copies(seen={1: {True, False}, 2: {False}}, text=text))
    assert result is not None and labels_of(result.findings) == ["verified", "unsafe", "unsafe"]
    both, one, none = details(result.findings)
    assert "both outcomes of the test occurred" in both and "outcomes" not in one + none
    assert "Not verified: the test in line 2 was always false." in one
    assert "Not verified: line 3 did not run." in none
    assert "2 of the fixes are unsafe." in result.verification.detail


@pytest.mark.parametrize("status", ["not-reached", "static-only"])
def test_a_line_that_did_not_run_is_not_verified(status: str) -> None:
    findings = [finding(1, "A", "unsafe"), finding(2, "B"), finding(3, "C"), finding(4, "D", "unsafe", status)]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies())
    assert result is not None and labels_of(result.findings) == ["verified", "safe", "safe", "unsafe"]
    assert "Not verified: its line did not run." in details(result.findings)[3]


def test_a_line_behind_a_break_is_verified_where_it_ran() -> None:
    findings = [finding(1, "A"), finding(2, "B"), finding(3, "C"), finding(4, "D", "unsafe", "static-only")]
    before = (replace(BEFORE[0], executed={"m.py": frozenset({1, 2, 3, 4})}),)
    result = verify(findings, {"m.py": TEXT}, before, Copies())
    assert (
        result is not None and labels_of(result.findings)[3] == "verified" and grades(result.findings)[3] == "general"
    )


def test_what_leaves_its_break_by_default_is_not_verified() -> None:
    findings = [finding(1, "A", "unsafe"), finding(2, "B", "unsafe"), finding(3, "X", "unsafe")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(breaking="X"))
    assert result is not None and labels_of(result.findings) == ["verified", "verified", "unsafe"]
    assert "Not verified: it compiles with fullgraph=True only" in details(result.findings)[2]


def test_what_was_not_run_on_varied_inputs_is_not_verified() -> None:
    class NotVaried(Copies):
        def record(
            self, lines: Mapping[str, Sequence[int]], modes: Sequence[str], known: Sequence[Known] = ()
        ) -> Sequence[Varied]:
            return ()

    result = verify(
        [finding(n, letter, "unsafe") for n, letter in enumerate("ABC", 1)], {"m.py": TEXT}, BEFORE, NotVaried()
    )
    assert result is not None and set(labels_of(result.findings)) == {"unsafe"}
    assert "not run on varied inputs" in details(result.findings)[0]


def test_a_variation_that_the_fixed_code_does_not_survive_ends_the_fix() -> None:
    class Dying(Copies):
        def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
            return ()

    result = verify([finding(1, "A")], {"m.py": TEXT}, BEFORE, Dying())
    assert result is not None and labels_of(result.findings) == ["refused"]
    assert "did not come to its end on varied inputs (eval mode)" in result.verification.detail


def test_safe_fixes_are_not_run_one_by_one_for_what_an_unsafe_one_does() -> None:
    runs: list[str] = []

    class Counted(Copies):
        def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
            runs.append(texts["m.py"])
            return super().vary(texts, known)

    findings = [finding(1, "A"), finding(2, "B"), finding(3, "C"), finding(4, "D", "unsafe")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Counted(other="D"), each=False, seconds=0)
    assert result is not None and labels_of(result.findings) == ["safe", "safe", "safe", "unsafe"]
    # All fixes together, once more without what differs between two runs of the original, and the safe ones.
    assert len(runs) <= 3


def test_what_is_verified_must_hold_without_the_unsafe_fixes() -> None:
    """The first is right only together with the second, whose line ran one way."""
    text = "a\nb if p else q\nc\nd\n"

    class Together(Copies):
        def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
            fixed = texts["m.py"]
            wrong = "with inputs of zeros output: shapes" if "A" in fixed and "B" not in fixed else ""
            return (Varied("eval", 1, wrong),)

    findings = [finding(1, "A", "unsafe"), finding(2, "B", "unsafe"), finding(3, "C", "unsafe")]
    result = verify(findings, {"m.py": text}, BEFORE, Together(seen={2: {True}}, text=text), each=False)
    assert result is not None and labels_of(result.findings) == ["unsafe", "unsafe", "unsafe"]
    assert (
        "Not verified: with the fixes that are written by default, with inputs of zeros output: shapes"
        in details(result.findings)[0]
    )


def test_what_only_the_fixes_together_change_leaves_them_unsafe() -> None:
    class Both(Copies):
        def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
            both = {"A", "B"} <= set(texts["m.py"])
            return (Varied("eval", 1, changes="with float64 output: dtypes" if both else ""),)

    findings = [finding(1, "A", "unsafe"), finding(2, "B", "unsafe"), finding(3, "C", "unsafe")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Both(), each=False)
    assert result is not None and set(labels_of(result.findings)) == {"unsafe"}


def test_what_differs_between_two_runs_of_the_original_is_not_held_against_a_fix() -> None:
    class Noisy(Copies):
        repeated = 0

        def repeat(self) -> Sequence[Varied]:
            self.repeated += 1
            return (Varied("eval", noise=("standard output",)),)

        def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
            return (Varied("eval", 1, "" if self.repeated else "with inputs of zeros standard output: 1 and 2"),)

    copies = Noisy()
    result = verify([finding(n, letter, "unsafe") for n, letter in enumerate("ABC", 1)], {"m.py": TEXT}, BEFORE, copies)
    assert result is not None and set(labels_of(result.findings)) == {"verified"} and copies.repeated == 1
    assert "two runs of the original differ there: standard output" in result.verification.detail


def test_when_every_fix_is_wrong_nothing_is_shown_as_verified() -> None:
    findings = [replace(finding(line, "R"), fingerprint=str(line)) for line in (1, 2, 3)]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies(differing="R"))
    assert result is not None and result.verification.grade == "none" and result.verification.fixes == ()
    assert grades(result.findings) == ["none", "none", "none"] and len(result.verification.dropped) == 3
    numbers = result.verification.graphs, result.verification.breaks, result.verification.fullgraph_passes
    assert numbers == (BEFORE[0].graphs, 3, None)
    told = "No fix is offered: 3 fixes were tried and dropped. Dropped: GD101 at m.py:1, GD101 at m.py:2, GD101 at m.py:3: "
    assert result.verification.detail.startswith(told) and result.verification.detail.count("Dropped: ") == 1


def test_without_time_left_fixes_that_are_not_known_to_be_right_are_left_out() -> None:
    findings = [finding(1, "A"), finding(2, "R")]
    copies = Copies(raising="R")
    result = verify(findings, {"m.py": TEXT}, BEFORE, copies, seconds=0.0)
    assert result is not None and len(copies.texts) == 1
    assert grades(result.findings) == ["none", "none"] and "for lack of time" in result.verification.detail


def test_a_fix_of_which_the_run_shows_nothing_is_called_so() -> None:
    findings = [finding(1, "A"), finding(4, "D", status="static-only")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Copies())
    assert result is not None and result.verification.breaks == 2
    assert grades(result.findings) == ["general", "no-effect"] and labels_of(result.findings) == ["safe", "safe"]


def test_outputs_that_were_not_compared_prove_nothing() -> None:
    result = verify([finding(1, "A")], {"m.py": TEXT}, BEFORE, Copies(compared=False))
    assert result is not None and result.verification.numerics is None
    assert grades(result.findings) == ["not-verified"] and result.verification.grade == "none"


def test_nothing_to_verify() -> None:
    refuted = finding(1, "A", status="refuted")
    manual = replace(finding(2, "B"), fix=Fix("manual", "no"))
    assert verify([refuted, manual], {"m.py": TEXT}, BEFORE, Copies()) is None


def test_overlapping_fixes_are_named() -> None:
    result = verify([finding(1, "A"), finding(1, "B")], {"m.py": TEXT}, BEFORE, Copies())
    assert result is not None and "overlap other fixes: GD101 at m.py:1" in result.verification.detail
    assert grades(result.findings) == ["general", "not-verified"]


class Failing(Copies):
    """The compiled code raises until no small letter is left."""

    def run(
        self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
    ) -> Sequence[DynamicRun]:
        (run,) = super().run(texts, mode, known)
        return (failing(run) if run.breaks else run,)


def failing(run: DynamicRun) -> DynamicRun:
    not_compared = Numerics(None, None, "1e-5", "the compiled model raised")
    return replace(run, outcome="raised", detail="TypeError under torch.compile: no", numerics=not_compared)


def test_fixes_are_tried_where_only_the_compiled_original_raises() -> None:
    before = tuple(map(failing, BEFORE))
    every = [finding(1, "A", "unsafe"), finding(2, "B", "unsafe"), finding(3, "C", "unsafe")]
    result = verify(every, {"m.py": TEXT}, before, Failing())
    assert result is not None and labels_of(result.findings) == ["verified"] * 3
    result = verify(every[:2], {"m.py": TEXT}, before, Failing(varying="B"), each=False)
    assert result is not None and labels_of(result.findings) == ["unsafe", "refused"]
    assert details(result.findings)[0] == (
        "Not verified: the compiled code still raises, as the original does: TypeError under torch.compile: no."
    )
