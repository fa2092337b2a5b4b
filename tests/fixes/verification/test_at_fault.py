"""What is asked of subsets of fixes where all of them together fail a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphdoctor.fixes.verification.verify import verify
from graphdoctor.model.findings import Finding, Known
from graphdoctor.model.runs import DynamicRun, Varied
from tests.fixes.verification.test_verify import BEFORE, TEXT, Copies, details, finding, grades, labels_of

TWO_MODES = tuple(replace(BEFORE[0], mode=mode) for mode in ("eval", "train"))


class Counted(Copies):
    """In two modes. Raises in train mode alone, where a letter of ``training`` is; what was run is kept."""

    training = ""

    def run(
        self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
    ) -> Sequence[DynamicRun]:
        self.ran: list[tuple[str, str]] = [*getattr(self, "ran", ()), (mode or "both", texts["m.py"])]
        (run,) = super().run(texts, mode, known)
        fails = set(texts["m.py"]) & set(self.training)
        trained = replace(run, mode="train", outcome="raised" if fails else run.outcome)
        return tuple(one for one in (run, trained) if mode in (None, one.mode))

    def record(
        self, lines: Mapping[str, Sequence[int]], modes: Sequence[str], known: Sequence[Known] = ()
    ) -> Sequence[Varied]:
        (varied,) = super().record(lines, modes, known)
        return tuple(replace(varied, mode=mode) for mode in modes)

    def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
        self.varied: list[str] = [*getattr(self, "varied", ()), texts["m.py"]]
        (varied,) = super().vary(texts, known)
        return tuple(replace(varied, mode=mode) for mode in ("eval", "train"))


def four() -> list[Finding]:
    return [finding(line, letter, "unsafe") for line, letter in enumerate("ABCD", 1)]


def test_what_fails_in_one_mode_is_sought_in_that_mode_alone_and_the_rest_is_checked_whole() -> None:
    copies = Counted()
    copies.training = "C"
    result = verify(four(), {"m.py": TEXT}, TWO_MODES, copies, each=False)
    assert result is not None and grades(result.findings)[2] == "none"
    assert "run failed (raised" in details(result.findings)[2]
    assert {mode for mode, _ in copies.ran} == {"both", "train"}
    # All fixes, and those that are left.
    assert [text for mode, text in copies.ran if mode == "both"] == ["A\nB\nC\nD\n", "A\nB\nc\nD\n"]
    assert copies.varied == ["A\nB\nc\nD\n"]


def test_what_is_wrong_on_varied_inputs_is_sought_without_compiling() -> None:
    copies = Counted(varying="B")
    result = verify(four(), {"m.py": TEXT}, TWO_MODES, copies, each=False)
    assert result is not None and grades(result.findings)[1] == "none"
    assert copies.ran == [("both", "A\nB\nC\nD\n"), ("both", "A\nb\nC\nD\n")]
    assert labels_of(result.findings)[0] == "verified"


def test_fixes_that_fail_different_checks_are_all_found() -> None:
    copies = Counted(varying="B")
    copies.training = "D"
    result = verify(four(), {"m.py": TEXT}, TWO_MODES, copies, each=False)
    assert result is not None and result.verification.fixes == ("A", "C")
    assert [d.reason[:20] for d in result.verification.dropped] == ["with inputs of zeros", "the train run failed"]


def test_a_check_that_passes_when_it_is_asked_again_does_not_keep_what_failed_it() -> None:
    class Fickle(Counted):
        def run(
            self, texts: Mapping[str, str], mode: str | None = None, known: Sequence[Known] = ()
        ) -> Sequence[DynamicRun]:
            runs = super().run(texts, mode, known)
            both = {"A", "B"} <= set(texts["m.py"])
            return [replace(run, outcome="raised") if both and mode is None else run for run in runs]

    copies = Fickle()
    result = verify(four(), {"m.py": TEXT}, TWO_MODES, copies, each=False)
    assert result is not None and result.verification.fixes == ("A", "C", "D")


def test_fixes_that_share_a_change_are_run_once() -> None:
    shared = [replace(finding(1, "A", "unsafe"), fingerprint=name) for name in ("one", "two", "three")]
    copies = Counted()
    result = verify([*shared, finding(2, "B", "unsafe")], {"m.py": TEXT}, TWO_MODES, copies, each=True)
    assert result is not None and len(copies.ran) == len(set(copies.ran))
    assert copies.ran == [("both", "A\nB\nc\nd\n"), ("train", "A\nb\nc\nd\n"), ("train", "a\nB\nc\nd\n")]


def test_which_of_many_fixes_changes_something_is_not_asked_one_by_one() -> None:
    text = "\n".join("abcdefghijklmnop") + "\n"
    every = [finding(line, letter.upper(), "unsafe") for line, letter in enumerate(text.split(), 1)]
    copies = Counted(other="E", text=text)
    result = verify(every, {"m.py": text}, TWO_MODES, copies, each=False)
    assert result is not None
    assert [f.fingerprint for f in result.findings if "it raises E" in details([f])[0]] == ["E"]
    # Two for each halving, and twice what is verified: with the others and alone.
    assert len(copies.varied) <= 2 * 4 + 3
