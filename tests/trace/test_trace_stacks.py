from __future__ import annotations

from graphdoctor.breaks.grouping import RawFrame
from graphdoctor.trace.stacks import compiled_frame, traced_break, with_frames

MESSAGE = """\
Data-dependent branching
  Explanation: Detected data-dependent branching.

  Developer debug context: attempted to jump with TensorVariable()

 For more details about this graph break, please visit: https://meta-pytorch.github.io/site/gb/gb0170.html"""

STACK = """\
  File "/job/train.py", line 7, in <module>
    model(x)
  File "/job/net.py", line 12, in forward
    y = self.head(x) if x.sum() > 0 else x
                        ^^^^^^^^^^^
"""

BREAK = f"""\
Graph break in user code at /job/net.py:12
Graph Break Reason: Encountered graph break when attempting to trace CALL:

{MESSAGE}

User code traceback:
{STACK}
Traceback (most recent call last):
  File "/env/torch/_dynamo/symbolic_convert.py", line 1, in wrapper
    return inner_fn(self, inst)
torch._dynamo.exc.Unsupported: {MESSAGE}
"""

SKIPPED = f"""\
Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.
torch.compile will skip tracing the frame forward (/job/net.py line 10) and fall back to eager.
The graph break occurred in the following user code:
{STACK}
Traceback (most recent call last):
  File "/env/torch/_dynamo/convert_frame.py", line 1, in _compile
    raise
torch._dynamo.exc.Unsupported: {MESSAGE}
"""


def test_the_stack_is_that_of_the_user_with_columns_in_the_stripped_line() -> None:
    found = traced_break(BREAK, {})
    assert found is not None
    assert found.event.traced == (
        RawFrame("/job/train.py", 7, 1, "<module>"),
        RawFrame("/job/net.py", 12, 21, "forward"),
    )
    assert found.code == {("/job/train.py", 7): "model(x)", ("/job/net.py", 12): STACK.splitlines()[3].strip()}


def test_without_marks_there_are_no_columns() -> None:
    """torch before 2.13 writes stacks without positions."""
    found = traced_break(BREAK.replace(STACK.splitlines()[4] + "\n", ""), {})
    assert found is not None
    assert [frame.column for frame in found.event.traced] == [None, None]


def test_the_reason_is_the_message_of_the_break() -> None:
    failing = BREAK.replace("exc.Unsupported", "exc.TorchRuntimeError")
    for payload, kind in ((BREAK, "resume"), (SKIPPED, "skip"), (failing, "raise")):
        found = traced_break(payload, {})
        assert found is not None
        assert found.event.kind == kind
        assert "gb0170" in found.event.message
        assert "Traceback" not in found.event.message


def test_a_break_that_drops_the_frame_is_a_skip() -> None:
    found = traced_break(
        BREAK.replace("Encountered graph break when", "Failed to handle graph break gracefully. Skipping"), {}
    )
    assert found is not None
    assert found.event.kind == "skip"


def test_the_id_comes_from_the_type_where_there_is_no_link() -> None:
    found = traced_break(
        BREAK.replace("https://", "").replace("/gb/gb0170.html", ""), {"Data-dependent branching": "GB0170"}
    )
    assert found is not None
    assert found.event.gb_id == "GB0170"


def test_a_text_of_torch_2_6_has_its_reason_on_one_line() -> None:
    payload = f"Graph break in user code at /job/net.py:12\nReason: Unsupported: print\nUser code traceback:\n{STACK}"
    found = traced_break(payload, {})
    assert found is not None
    assert found.event.message == "Unsupported: print"
    assert len(found.event.traced) == 2


def test_what_comes_a_second_time_is_left_out() -> None:
    assert traced_break("WON'T CONVERT forward /job/net.py line 3 \ndue to:\n...", {}) is None


def test_a_frame_that_the_text_leaves_out_is_put_in_its_place() -> None:
    found = traced_break(BREAK, {})
    assert found is not None
    script, net = found.event.traced
    model = RawFrame("/job/model.py", 30, 9, "forward")
    whole = with_frames(found, [model, RawFrame(net.path, net.line, None, net.name)])
    assert whole.event.traced == (script, model, net)
    assert with_frames(found, ()) == found


def test_of_several_functions_of_one_name_the_compiled_one_begins_before_its_line() -> None:
    """The ``forward`` of a model that calls that of another class in its file, with the method that broke."""
    stack = [
        RawFrame("/job/net.py", line, None, name) for line, name in ((155, "forward"), (112, "forward"), (30, "rng"))
    ]
    assert compiled_frame(stack, 0, RawFrame("/job/net.py", 109, None, "forward")) == 1
    assert compiled_frame(stack, 0, RawFrame("/job/net.py", 150, None, "forward")) == 0
    assert compiled_frame(stack, 0, RawFrame("/job/net.py", 153, None, "torch_dynamo_resume_in_forward_at_153")) == 0
    assert compiled_frame(stack, 1, RawFrame("/job/net.py", 150, None, "forward")) == 1
    assert compiled_frame(stack, 0, RawFrame("/job/net.py", 9, None, "loss")) is None
