import pytest
import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.user_code.user_errors import fault_of

PLACES = Places(root="/p", own=(__file__.rpartition("/")[0],), torch=torch.__path__[0])


class BadError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def wrong(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(3, 5)


@pytest.mark.parametrize(
    ("error", "outcome", "detail"),
    [
        (ValueError("first\nsecond"), "raised", "ValueError in eager: first"),
        (ValueError(), "raised", "ValueError in eager: no message"),
        (
            RuntimeError("PendingUnbackedSymbolNotFound: Pending unbacked symbols {u0} not in ..."),
            "raised",
            "RuntimeError in eager: Dynamo loses track of a size that depends on data, which an operator is given "
            "(PendingUnbackedSymbolNotFound)",
        ),
        (BadError(), "raised", "BadError in eager: no message"),
        (SystemExit(2), "exited", "sys.exit(2) in eager"),
        (KeyboardInterrupt(), "raised", "KeyboardInterrupt in eager: no message"),
    ],
)
def test_outcome_and_line(error: BaseException, outcome: str, detail: str) -> None:
    fault = fault_of(error, PLACES, "in eager")
    assert (fault.outcome, fault.detail) == (outcome, detail)


def test_the_place_of_an_error_while_tracing_is_the_traced_line() -> None:
    torch._dynamo.reset()
    with pytest.raises(RuntimeError) as caught:
        torch.compile(wrong, backend="eager")(torch.ones(4))
    fault = fault_of(caught.value, PLACES, "under torch.compile")
    assert fault.raised_at is not None and fault.raised_at.function == "wrong"
    assert fault.detail.endswith(f"test_user_errors.py:{wrong.__code__.co_firstlineno + 1} in wrong)")
    assert "reshape" in fault.detail or "invalid for input" in fault.detail


class StopError(Exception):
    """An exception without a text."""


def wrapped(inner: BaseException, text: str) -> BaseException:
    try:
        try:
            raise inner
        except Exception:
            raise RuntimeError(text)  # noqa: B904
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (wrapped(StopError(), "failed: "), "failed: (raised while StopError was handled)"),
        (wrapped(KeyError("mask"), "failed"), "failed (raised while KeyError was handled: 'mask')"),
        (wrapped(ValueError("bad size"), "failed: bad size"), "failed: bad size"),
        (wrapped(ImportError("no fast kernel"), "failed"), "failed"),
    ],
)
def test_an_exception_that_another_one_hides_is_told(error: BaseException, detail: str) -> None:
    assert (
        fault_of(error, PLACES, "in eager")
        .detail.partition(" (tests")[0]
        .startswith(f"RuntimeError in eager: {detail}")
    )
