"""What two calls leave behind, compared."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from graphdoctor.dynamic.numerics import observed
from graphdoctor.dynamic.user_code.target import Sample, seed


def left(body: Callable[..., Any]) -> observed.Snapshot:
    seed()
    sample = Sample(body, (torch.ones(3), torch.zeros(3, requires_grad=True)))

    def call(sample: Sample) -> tuple[Any, torch.Tensor | None]:
        outputs = sample.function(*sample.args)
        loss = outputs.sum() if isinstance(outputs, torch.Tensor) and outputs.requires_grad else None
        if loss is not None:
            loss.backward()
        return outputs, loss

    return observed.observe(sample, call, [])


def said(before: Callable[..., Any], after: Callable[..., Any]) -> list[str]:
    return [clause for _, clause in observed.differences(left(before), left(after))]


def test_the_same_call_leaves_the_same() -> None:
    assert said(lambda x, w: x * w, lambda x, w: w * x) == []


@pytest.mark.parametrize(
    ("before", "after", "clause"),
    [
        (lambda x, w: x * w, lambda x, w: x * w + 1, "output: values differ by up to 1"),
        (lambda x, w: x + 1, lambda x, w: x.double() + 1, "output: dtypes torch.float32 and torch.float64"),
        (lambda x, w: x + 0, lambda x, w: x, "the memory of output is its own in the original and that of input[0] itself"),
        (lambda x, w: x[1:], lambda x, w: x[1:] + 0, "the memory of output is shared with input[0] in the original"),
        (lambda x, w: (x + 1,) * 2, lambda x, w: (x + 1, x + 1), "the memory of output[1] is that of output[0] itself"),
        (lambda x, w: x + 1, lambda x, w: x.add_(1) + 0, "input[0]: values differ by up to 1"),
        (lambda x, w: x * w, lambda x, w: x * w.detach() + 0 * w, "gradient of input[1]: values differ by up to 1"),
        (lambda x, w: x + 1, lambda x, w: x + 1 + 0 * w, "gradient of input[1] is None in the original and zero in"),
        (lambda x, w: x + 1, lambda x, w: x.requires_grad_() + 1, "requires_grad of input[0] is False in the original"),
        (lambda x, w: print("a"), lambda x, w: print("b"), "standard output: 'a\\n' and 'b\\n'"),
        (lambda x, w: x + 1, lambda x, w: x + torch.rand(3) * 0 + 1, "the state of torch's random numbers differs"),
    ],
)  # fmt: skip
def test_each_difference_is_said(before: Callable[..., Any], after: Callable[..., Any], clause: str) -> None:
    assert any(text.startswith(clause) for text in said(before, after)), said(before, after)


def test_memory_that_is_no_longer_shared_is_harmless_and_memory_that_is_newly_shared_is_not() -> None:
    own, shared = left(lambda x, w: x + 0), left(lambda x, w: x)
    assert observed.is_harmless("the memory of output", shared, own)
    assert not observed.is_harmless("the memory of output", own, shared)
    assert not observed.is_harmless("output", own, shared)


def raising(body: Callable[[], Any]) -> Exception:
    try:
        body()
    except Exception as error:
        return error
    raise AssertionError("it did not raise")


def on_purpose() -> None:
    raise ValueError("no")


def test_an_exception_is_deliberate_where_the_users_code_raises_it() -> None:
    for body, deliberate in ((on_purpose, True), (lambda: torch.ones(2) @ torch.ones(3), False)):
        found = observed.of_error(raising(body), lambda path: path == __file__)
        assert found[observed.DELIBERATE] is deliberate
    found = observed.of_error(raising(on_purpose), lambda path: False)
    assert found == {
        observed.RAISED: "ValueError",
        observed.TEXT: "ValueError: no",
        observed.DELIBERATE: False,
        observed.BY_NUMBER: False,
    }


def test_the_gradient_of_a_result_may_be_gone_where_that_is_announced() -> None:
    leaf, other = {"gradient of output": torch.ones(())}, {"gradient of output_layer.weight": torch.ones(())}
    part = {"gradient of output[1]": torch.ones(())}
    for before in (leaf, part):
        (name,) = before
        assert observed.is_known(name, ["requires_grad"], before, {})
        assert not observed.is_known(name, ["zero_gradients"], before, {})
        assert not observed.is_known(name, ["requires_grad"], before, {name: torch.zeros(())})
    assert not observed.is_known("gradient of output_layer.weight", ["requires_grad"], other, {})


def test_what_was_passed_may_keep_its_own_flag_where_that_is_announced() -> None:
    name = "requires_grad of input[1]"
    before, after = {name: False}, {name: True}
    assert observed.is_known(name, ["flag"], before, after)
    assert not observed.is_known(name, ["flag"], after, before)
    assert not observed.is_known(name, ["requires_grad"], before, after)
    assert not observed.is_known("requires_grad of output", ["flag"], before, after)


def test_memory_that_a_call_gives_up_is_not_given_to_a_result() -> None:
    module = torch.nn.Linear(2, 2).requires_grad_(False)
    gone: list[bool] = []
    weakref.finalize(module.weight.untyped_storage(), gone.append, True)
    seen: list[bool] = []

    def call(sample: Sample) -> tuple[Any, torch.Tensor | None]:
        module.weight.data = module.weight.data * 0.99
        # The allocator would give it to one of the next tensors, which would seem to share it with the parameter.
        seen.append(bool(gone))
        return None, None

    observed.observe(Sample(module, (torch.ones(2),)), call, [])
    assert seen == [False]
