from dataclasses import replace

from graphdoctor.breaks.backend_failures import failed_backends, is_backend_failure
from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.breaks.locations import Places
from graphdoctor.model.runs import Ladder, Stage

PLACES = Places(root="/p", own=("/p",), torch="/env/site-packages/torch", library=("/lib",), tool="/tool")
FORWARD = RawFrame("/p/model.py", 3, None, "forward")
OF_INDUCTOR = RawEvent(
    "compiling fails with InductorError: LoweringException: no sine", "raise", (), (FORWARD,), error="InductorError"
)


def test_the_stage_says_which_backend_fails_on_which_graph() -> None:
    detail = "LoweringException: no sine, on the graph at model.py:3"
    assert failed_backends([OF_INDUCTOR, OF_INDUCTOR], PLACES) == Ladder(
        (Stage("inductor", "failed", "Inductor", detail),)
    )
    compiler = replace(OF_INDUCTOR, message="InductorError: CppCompileError: C++ compile error")
    assert [stage.layer for stage in failed_backends([compiler], PLACES).stages] == ["Inductor (C++ compiler)"]  # type: ignore[union-attr]


def test_a_backend_of_the_user_is_no_layer_of_torch() -> None:
    message = "compiling fails with BackendCompilerFailed: backend='mine' raised: ValueError: no"
    event = RawEvent(message, "raise", (), (), error="BackendCompilerFailed")
    assert failed_backends([event], PLACES) == Ladder((Stage("mine", "failed", None, "ValueError: no"),))
    assert Stage("mine", "failed").failure == "backend mine fails"
    for name, quoted in (
        ("<lambda>", "'<lambda>'"),
        ("partial(<function f>, to='x')", '''"partial(<function f at 0x7f6d>, to='x')"'''),
    ):
        unnamed = replace(event, message=message.replace("'mine'", quoted))
        assert failed_backends([unnamed], PLACES) == Ladder((Stage(name, "failed", None, "ValueError: no"),))


def test_other_exceptions_are_none_of_a_backend() -> None:
    assert not is_backend_failure(replace(OF_INDUCTOR, error="TorchRuntimeError"))
    assert not is_backend_failure(replace(OF_INDUCTOR, kind="skip"))
    assert failed_backends([replace(OF_INDUCTOR, error="UserError")], PLACES) is None
