"""Settings for the whole process are offered only where nothing else does as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphdoctor.fixes.verification.verify import verify
from graphdoctor.model.findings import Edit, Fix, Known
from graphdoctor.model.runs import Break, DynamicRun, FullGraph, Varied
from tests.fixes.verification.test_verify import BEFORE, TEXT, Copies, finding, grades, labels_of

WHOLE_PROCESS = "the setting would hold for the whole process"


class Moving(Copies):
    """A line breaks, whatever is fixed: the first, or the one after it."""

    def run(self, texts: Mapping[str, str], *_: Any, **__: Any) -> Sequence[DynamicRun]:
        brk = Break("m.py", 1 if texts["m.py"].startswith("a") else 2, 1, "f", "GB0059", "x", "y")
        return [replace(run, breaks=(brk,), fullgraph=FullGraph(False)) for run in super().run(texts)]


def test_a_setting_for_the_whole_process_that_only_moves_a_break_is_dropped() -> None:
    setting, text = finding(1, "torch._dynamo.config.capture = True", "unsafe"), {"m.py": "a\n"}
    result = verify([setting], text, Moving().run(text), Moving())
    assert result is not None
    assert result.verification.dropped[0].reason == f"it removes no graph break, and {WHOLE_PROCESS}"


def test_a_setting_that_gains_is_kept_beside_one_that_moves_a_break_to_more_lines() -> None:
    class Spreading(Copies):
        """The first line breaks without `one`; the second breaks, with `two` in two places."""

        def run(self, texts: Mapping[str, str], *_: Any, **__: Any) -> Sequence[DynamicRun]:
            lines = ([] if "one" in texts["m.py"] else [1]) + ([8, 9] if "two" in texts["m.py"] else [2])
            breaks = tuple(Break("m.py", line, 1, "f", "GB0059", "x", "y") for line in lines)
            return [replace(run, breaks=breaks, fullgraph=FullGraph(False)) for run in super().run(texts)]

    one, two = (
        replace(finding(line, name, "unsafe"), fix=Fix("unsafe", name, (edit,), known=("setting",)))
        for line, name in ((1, "one"), (2, "two"))
        for edit in [Edit("m.py", (line, 1), (line, 1), f"torch._dynamo.config.{name} = True\n")]
    )
    text = {"m.py": "a\nb\n"}
    result = verify([one, two], text, Spreading().run(text), Spreading())
    assert result is not None
    assert result.verification.fixes == (one.fingerprint,)
    assert [entry.fix for entry in result.verification.dropped] == [two.fingerprint]


def test_a_setting_for_the_whole_process_is_offered_only_where_it_is_needed_and_never_called_general() -> None:
    setting = finding(4, "torch._dynamo.config.capture = True  # D", "unsafe")
    result = verify([finding(1, "A"), finding(2, "B"), finding(3, "C"), setting], {"m.py": TEXT}, BEFORE, Copies())
    assert result is not None and result.verification.grade == "general"
    assert result.verification.dropped[0].reason == f"the other fixes suffice without it, and {WHOLE_PROCESS}"
    needed = finding(1, "torch._dynamo.config.capture = True", "unsafe")
    result = verify([needed, finding(2, "B"), finding(3, "C")], {"m.py": TEXT}, BEFORE, Copies())
    assert result is not None and result.verification.grade == "setup-required"
    assert grades(result.findings) == ["setup-required", "general", "general"]
    assert labels_of(result.findings) == ["unsafe", "safe", "safe"]


def test_a_setting_that_nothing_needs_is_not_said_to_be_replaced_by_other_fixes() -> None:
    class Ready(Copies):
        def run(self, texts: Mapping[str, str], *_: Any, **__: Any) -> Sequence[DynamicRun]:
            return [replace(run, breaks=(), fullgraph=FullGraph(True)) for run in super().run(texts)]

    setting, text = finding(1, "torch._dynamo.config.capture = True", "unsafe"), {"m.py": "a\n"}
    result = verify([setting], text, Ready().run(text), Ready())
    assert result is not None
    assert result.verification.dropped[0].reason == f"fullgraph=True passes without it, and {WHOLE_PROCESS}"


def test_a_mere_setting_is_not_run_on_varied_inputs_since_eager_code_does_not_ask_for_it() -> None:
    class Varying(Copies):
        varied: tuple[str, ...] = ()

        def vary(self, texts: Mapping[str, str], known: Sequence[Known] = ()) -> Sequence[Varied]:
            self.varied = (*self.varied, texts["m.py"])
            return [
                replace(one, changes="it is set" if "config" in texts["m.py"] else "") for one in super().vary(texts)
            ]

    line = Edit("m.py", (1, 1), (1, 1), "torch._dynamo.config.capture = True\n")
    setting = finding(1, "A", "unsafe")
    setting = replace(setting, fix=Fix("unsafe", "reason", (line,), known=("setting",)))
    others = [finding(2, "B", "unsafe"), finding(3, "C", "unsafe")]
    copies = Varying()
    result = verify([setting, *others], {"m.py": TEXT}, BEFORE, copies, each=False)
    assert result is not None and copies.varied == ("a\nB\nC\nd\n",)
    assert labels_of(result.findings)[1:] == ["verified", "verified"]
    # What does more than that is run with it.
    more = Edit("m.py", (1, 1), (1, 2), "A")
    composed = replace(setting, fix=Fix("unsafe", "reason", (line, more), known=("setting",)))
    copies = Varying()
    result = verify([composed, *others], {"m.py": TEXT}, BEFORE, copies, each=False)
    assert result is not None and "config" in copies.varied[0] and labels_of(result.findings)[0] == "unsafe"
