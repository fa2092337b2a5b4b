from __future__ import annotations

from collections import Counter

from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.trace.left_out import Unplaced, is_left_out

LAYER = RawFrame("/env/torch/nn/modules/loss.py", 2321, None, "forward")


def event(path: str, line: int, message: str = "Dynamic shape operator") -> RawEvent:
    return RawEvent(message, "resume", (), (RawFrame(path, line, None, "forward"), LAYER))


def test_only_a_function_of_the_same_name_in_another_file_is_left_out() -> None:
    assert is_left_out("/job/net.py", "forward", LAYER)
    assert is_left_out("/job/net.py", "torch_dynamo_resume_in_forward_at_12", LAYER)
    assert not is_left_out("/job/net.py", "step", LAYER)
    assert not is_left_out(LAYER.path, "forward", LAYER)


def test_the_line_is_where_the_function_goes_on() -> None:
    waits = event("/job/net.py", 3)
    breaks = Counter({waits: 2})
    unplaced = Unplaced(breaks)
    unplaced.wait(waits)
    unplaced.place("/job/net.py", "forward", 3)
    unplaced.place("/job/other.py", "torch_dynamo_resume_in_forward_at_8", 8)
    assert breaks == {waits: 2}
    unplaced.place("/job/net.py", "torch_dynamo_resume_in_forward_at_7", 7)
    assert breaks == {event("/job/net.py", 7): 2}


def test_what_the_caller_met_is_the_same_break() -> None:
    caller, other, inner = event("/job/net.py", 3), event("/job/net.py", 3, "another"), event("/job/block.py", 3)
    breaks = Counter([other, caller, inner])
    unplaced = Unplaced(breaks)
    for waits in (other, caller, inner):
        unplaced.wait(waits)
    assert breaks == {other: 1, inner: 1}
    unplaced.place("/job/block.py", "torch_dynamo_resume_in_forward_at_9", 9)
    unplaced.place("/job/net.py", "torch_dynamo_resume_in_forward_at_20", 20)
    assert breaks == {event("/job/net.py", 20, "another"): 1, event("/job/block.py", 9): 1}
