"""When fixes that were written are worth another scan."""

from dataclasses import replace

from graphdoctor.model.findings import Diagnosis, Summary
from graphdoctor.model.runs import Verification
from graphdoctor.scan.steps.again import is_worth_another


def diagnosis(fixed: int, breaks: int, fullgraph: bool) -> Diagnosis:
    counted = Summary("not-ready", "", 1, 0, 1, 1, 2, 1, 1, 0, fixed)
    shown = Verification(("a",), 1, breaks, fullgraph, None, "general", "")
    return Diagnosis("1", {}, "", counted, (), (), None, shown)


def test_another_round_follows_what_was_written_and_left_breaks() -> None:
    assert is_worth_another(diagnosis(1, 1, True)) and is_worth_another(diagnosis(1, 0, False))
    assert not is_worth_another(diagnosis(1, 0, True))
    assert not is_worth_another(diagnosis(0, 1, False))
    assert not is_worth_another(replace(diagnosis(1, 1, False), verification=None))
