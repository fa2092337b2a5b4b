from dataclasses import replace

from graphdoctor.breaks.grouping import RawEvent, RawFrame, distinct, numbered, user_stack
from graphdoctor.breaks.locations import Places
from graphdoctor.model.runs import Frame

PLACES = Places(root="/p", own=("/p",), torch="/env/site-packages/torch", library=("/lib",), tool="/tool")
SOURCE = """\
class Net:
    def forward(self, x):
        y = self.helper(x)
        return y
    def helper(self, x):
        print(x)
"""
MESSAGE = "Failed to trace builtin operator\n  Explanation: builtin operator `print`\n\n  Developer debug context: "

FORWARD = RawFrame("/p/model.py", 3, 13, "forward")
HELPER = RawFrame("/p/model.py", 6, 9, "helper")
LINEAR = RawFrame("/env/site-packages/torch/nn/modules/linear.py", 10, 5, "forward")
COPY = RawFrame("/lib/copy.py", 20, 5, "deepcopy")
LIBRARY = RawFrame("/env/site-packages/transformers/gpt2.py", 700, 9, "forward")


def event(*traced: RawFrame, above: tuple[RawFrame, ...] = (), kind: str = "resume") -> RawEvent:
    return RawEvent(MESSAGE, kind, above, traced, gb_id="GB0059")  # type: ignore[arg-type]


def source(path: str) -> str:
    return SOURCE if path == "/p/model.py" else ""


def test_one_line_is_one_break_however_often_it_occurs() -> None:
    resumed = RawFrame("/p/model.py", 6, 9, "torch_dynamo_resume_in_helper_at_6")
    (found,) = distinct([event(FORWARD, HELPER), event(HELPER, above=(FORWARD,)), event(resumed)], PLACES, source)
    assert (found.path, found.line, found.column, found.function, found.events) == ("model.py", 6, 9, "Net.helper", 3)
    assert (found.gb_id, found.owner, found.whole_frame) == ("GB0059", "own", False)
    assert found.stack == (Frame("model.py", 3, "Net.forward"), Frame("model.py", 6, "Net.helper"))


def test_two_columns_of_a_line_are_two_breaks() -> None:
    other = RawFrame("/p/model.py", 6, 20, "helper")
    assert len(distinct([event(HELPER), event(other)], PLACES, source)) == 2


def test_what_cannot_be_made_again_behind_a_break_is_no_break_of_its_own() -> None:
    message = "Reconstruction failure\n  Explanation: no\n\n  Developer debug context: "
    failure = replace(event(HELPER, kind="skip"), message=message, gb_id="GB0092")
    (found,) = distinct([event(FORWARD, HELPER), failure], PLACES, source)
    assert (found.gb_id, found.events, found.whole_frame) == ("GB0059", 2, True)
    elsewhere = replace(failure, traced=(FORWARD,))
    assert [b.gb_id for b in distinct([event(HELPER), elsewhere], PLACES, source)] == ["GB0059", "GB0092"]


def test_a_loop_over_what_the_call_that_breaks_gives_is_no_break_of_its_own() -> None:
    message = "Attempted to inline function marked as skipped\n  Explanation: no\n\n  Developer debug context: "
    loop = RawFrame("/p/model.py", 6, 5, "torch_dynamo_resume_in_helper_at_6")
    given_up = replace(event(loop, kind="skip"), message=message, gb_id="GB0008")
    (found,) = distinct([event(FORWARD, HELPER), given_up], PLACES, source)
    assert (found.gb_id, found.column, found.events, found.whole_frame) == ("GB0059", 9, 2, True)
    # On another line it is another break, and so is what breaks before the function is split.
    later = replace(given_up, traced=(replace(loop, line=4),))
    assert len(distinct([event(FORWARD, HELPER), later], PLACES, source)) == 2
    other = replace(given_up, traced=(replace(loop, name="helper"),))
    assert len(distinct([event(FORWARD, HELPER), other], PLACES, source)) == 2


def test_an_unknown_column_is_no_break_of_its_own() -> None:
    unknown = RawFrame("/p/model.py", 6, None, "helper")
    for events in ([event(HELPER), event(unknown)], [event(unknown), event(HELPER)]):
        (found,) = distinct(events, PLACES, source)
        assert (found.column, found.events) == (9, 2)


def test_a_break_inside_torch_or_the_library_is_placed_at_the_call() -> None:
    for inner in (LINEAR, COPY):
        (found,) = distinct([event(FORWARD, inner)], PLACES, source)
        assert (found.line, found.owner) == (3, "own")


def test_a_break_in_a_package_is_third_party_but_placed_at_the_own_call() -> None:
    (found,) = distinct([event(FORWARD, LIBRARY)], PLACES, source)
    assert (found.path, found.line, found.owner) == ("model.py", 3, "third-party")
    (alone,) = distinct([event(LIBRARY, LINEAR)], PLACES, source)
    assert (alone.path, alone.line, alone.owner) == (LIBRARY.path, 700, "third-party")


def test_two_lines_of_a_package_under_one_call_are_two_breaks() -> None:
    other = RawFrame(LIBRARY.path, 800, 9, "forward")
    assert len(distinct([event(FORWARD, LIBRARY), event(FORWARD, other)], PLACES, source)) == 2
    # Each event is known to be of its own break.
    events = [event(FORWARD, LIBRARY), event(FORWARD, other), event(), event(FORWARD, other), event(FORWARD, LIBRARY)]
    breaks, numbers = numbered(events, PLACES, source)
    assert [found.stack[-1].line for found in breaks] == [LIBRARY.line, 800]
    assert numbers == {0: 0, 1: 1, 3: 1, 4: 0}


def test_the_break_in_torch_optimizers_is_torchs() -> None:
    inner = RawFrame("/env/site-packages/torch/optim/optimizer.py", 79, 9, "_use_grad")
    (found,) = distinct([event(FORWARD, inner)], PLACES, source)
    assert found.owner == "torch"


def test_the_break_of_an_update_that_is_compiled_alone_is_torchs() -> None:
    text = "def update():\n    opt.step()\n    sched.step()\ndef train(x):\n    opt.step()\n    return x\nrun()\n"
    context = "module: torch.optim.adam, qualname: Adam.step, skip reason: forced"
    message = (
        f"Attempted to call function marked as skipped\n  Explanation: It is.\n\n  Developer debug context: {context}"
    )
    wrapper = RawFrame("/env/site-packages/torch/_dynamo/external_utils.py", 67, 5, "wrap_inline")
    for line, name, compiled, owner in (
        (2, "update", (), "torch"),
        (5, "train", (), "own"),
        (7, "<module>", (wrapper,), "torch"),
    ):
        frame = RawFrame("/p/train.py", line, 5, name)
        above, traced = ((frame,), compiled) if compiled else ((), (frame,))
        skipped = RawEvent(message, "resume", above, traced, gb_id="GB0007")
        (found,) = distinct([skipped], PLACES, lambda _: text)
        assert (found.owner, found.line) == (owner, line)
        assert found.reason == "torch keeps `Adam.step` out of graphs on purpose"
        assert bool(found.hints) is (owner == "own")


def test_a_comprehension_is_given_up_alone() -> None:
    inside = RawFrame("/p/model.py", 6, 9, "<listcomp>")
    (found,) = distinct([event(HELPER, inside), event(inside, kind="skip")], PLACES, source)
    assert (found.whole_frame, found.function) == (True, "Net.helper")
    assert found.dropped == (Frame("model.py", 6, "Net.helper.<listcomp>"),)


def test_a_skip_drops_the_whole_frame() -> None:
    (found,) = distinct([event(HELPER), event(HELPER, kind="skip")], PLACES, source)
    assert found.whole_frame


def test_what_is_left_of_a_function_behind_a_break_is_not_the_function() -> None:
    rest = event(RawFrame("/p/model.py", 6, 9, "torch_dynamo_resume_in_helper_at_5"), kind="skip")
    (found,) = distinct([event(HELPER), rest], PLACES, source)
    assert found.whole_frame and found.rest
    (found,) = distinct([rest, event(HELPER, kind="skip")], PLACES, source)
    assert found.whole_frame and not found.rest


def test_a_resume_frame_replaces_its_caller_and_nothing_else() -> None:
    resumed = RawFrame("/p/model.py", 4, 9, "torch_dynamo_resume_in_forward_at_3")
    assert [f.line for f in user_stack(event(resumed, above=(FORWARD,)), PLACES)] == [4]
    nested = RawFrame("/p/block.py", 8, 9, "forward")
    assert [f.line for f in user_stack(event(nested, above=(FORWARD,)), PLACES)] == [3, 8]


def test_frames_of_the_tool_are_no_user_frames() -> None:
    worker = RawFrame("/tool/experiment.py", 1, 1, "run")
    assert user_stack(event(HELPER, above=(worker,)), PLACES) == [HELPER]
    assert distinct([event(worker)], PLACES, source) == ()


def test_what_ddp_breaks_on_is_torchs_own_though_it_calls_pythons_library() -> None:
    ddp = RawFrame("/env/site-packages/torch/nn/parallel/distributed.py", 1714, 9, "_run_ddp_forward")
    manager = RawFrame("/lib/contextlib.py", 301, 9, "helper")
    polyfill = RawFrame("/env/site-packages/torch/_dynamo/polyfills/__init__.py", 513, 5, "instantiate")
    for inner in ((ddp,), (ddp, manager), (ddp, manager, polyfill, manager)):
        (found,) = distinct([event(FORWARD, *inner)], PLACES, source)
        assert (found.line, found.owner) == (3, "torch")
        # There is nothing that a user, or its authors, should do.
        assert found.reason.endswith(", which torch intends") and found.hints == ()
    (users,) = distinct([event(FORWARD, ddp, HELPER, manager)], PLACES, source)
    assert users.owner == "own"


def test_what_fsdp_breaks_on_is_not_of_the_line_that_calls_the_module() -> None:
    hook = RawFrame("/env/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_common.py", 30, 5, "wrapper")
    (found,) = distinct([event(FORWARD, LINEAR, hook, kind="skip")], PLACES, source)
    assert (found.owner, found.path, found.line, found.hints) == ("third-party", "model.py", 3, ())
    assert found.reason == "the hooks that FSDP runs around a module are not traced"
    assert [frame.function for frame in found.dropped] == ["Net.forward"]
    (inside,) = distinct([event(FORWARD, hook, HELPER)], PLACES, source)
    assert (inside.owner, inside.line) == ("own", 6)


def test_the_condition_is_that_of_the_line_which_is_named() -> None:
    texts = {LIBRARY.path: "\n" * 698 + "if n:\n    call(n)\n", LINEAR.path: "\n" * 8 + "if fast:\n    go()\n"}
    called = replace(LINEAR, path=LINEAR.path.replace("torch/nn", "other/nn"))
    for frames, condition in (((LIBRARY,), "n"), ((LIBRARY, LINEAR), "fast"), ((LIBRARY, called), "")):
        (found,) = distinct([event(FORWARD, *frames)], PLACES, lambda path: texts.get(path, ""))
        assert found.condition == condition
    (users,) = distinct([event(HELPER)], PLACES, lambda path: "\n" * 4 + "if n:\n    print(n)\n")
    assert users.condition == ""


def test_an_event_may_stand_for_several_records() -> None:
    (found,) = distinct([replace(event(HELPER), times=3), replace(event(FORWARD, HELPER), times=2)], PLACES, source)
    assert found.events == 5


def test_the_frame_that_dynamo_gave_up_is_the_caller_with_the_loop() -> None:
    resumed = replace(FORWARD, name="torch_dynamo_resume_in_forward_at_2")
    (found,) = distinct([event(resumed, HELPER, kind="skip"), event(HELPER)], PLACES, source)
    assert (found.function, found.dropped) == ("Net.helper", (Frame("model.py", 3, "Net.forward"),))
    (both,) = distinct([event(FORWARD, HELPER, kind="skip"), event(HELPER, kind="skip")], PLACES, source)
    assert [frame.function for frame in both.dropped] == ["Net.forward", "Net.helper"]


def test_a_wrapper_of_torch_that_is_given_up_stands_for_the_users_function_that_it_calls() -> None:
    wrapper = RawFrame("/env/site-packages/torch/nn/modules/module.py", 1784, 9, "_call_impl")
    (found,) = distinct([event(wrapper, FORWARD, HELPER, kind="skip")], PLACES, source)
    assert found.dropped == (Frame("model.py", 3, "Net.forward"),)
    (alone,) = distinct([event(wrapper, kind="skip")], PLACES, source)
    assert [frame.function for frame in alone.dropped] == ["_call_impl"]
