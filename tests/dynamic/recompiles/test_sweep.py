from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.dynamic.parent.input_specs import InputSpecError
from graphdoctor.dynamic.parent.vary_specs import parse_variations
from graphdoctor.dynamic.recompiles import sweep
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.model.runs import Sweep
from graphdoctor.report.varied import refused


def target(
    function: Callable[..., Any], *args: Any, variants: Callable[[], list[Any]] | None = None, **kwargs: Any
) -> Target:
    return Target("f", lambda: Sample(function, args, kwargs), torch.device("cpu"), variants)


def scaled(x: torch.Tensor, mask: torch.Tensor | None = None, n: int = 1) -> torch.Tensor:
    return (x if mask is None else x + mask) * n


def shapes(plan: sweep.Plan) -> list[tuple[int, ...]]:
    return [tuple(step.args[0].shape) for step in plan.steps()]


def requested(found: Target, *specs: str) -> list[sweep.Plan]:
    return sweep.requested(found, "eval", parse_variations(specs))


def test_variants_are_arguments_or_changes_of_the_model() -> None:
    def change(model: Any) -> None: ...

    made = target(scaled, variants=lambda: [(torch.ones(2),), ((torch.ones(1),), {"n": 2}), change])
    (plan,) = sweep.variants(made)
    first, second, third = plan.steps()
    assert (first.args[0].shape, second.kwargs, third.change) == ((2,), {"n": 2}, change)


def test_a_size_takes_the_inputs_of_equal_size_along() -> None:
    (plan,) = requested(target(scaled, torch.ones(4, 3), torch.ones(4, 3)), "x:0=5,7")
    assert shapes(plan) == [(5, 3), (7, 3)]
    assert [tuple(step.args[1].shape) for step in plan.steps()] == [(5, 3), (7, 3)]


def test_a_size_goes_alone_where_eager_refuses_the_others() -> None:
    def joined(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x @ weight + torch.ones(4)

    (plan,) = requested(target(joined, torch.ones(4, 4), torch.ones(4, 4)), "0:0=2,3,4")
    assert [(tuple(s.args[0].shape), tuple(s.args[1].shape)) for s in plan.steps()][:1] == [((2, 4), (4, 4))]
    assert plan.detail == ""


def test_what_eager_refuses_is_left_out_and_told() -> None:
    (plan,) = requested(target(nn.Linear(3, 3), torch.ones(4, 3)), "0:1=3,4")
    assert shapes(plan) == [(4, 3)]
    assert plan.detail == "size 4 raises RuntimeError in eager"
    assert refused(Sweep(plan.varied, False, 1, 1, plan.detail)) == f"varied: {plan.varied}; {plan.detail}"


def test_repeated_values_stay_valid_indices() -> None:
    ids = torch.tensor([[1, 2, 3]])
    (plan,) = requested(target(scaled, ids), "seq=5")
    (step,) = plan.steps()
    assert step.args[0].tolist() == [[1, 2, 3, 1, 2]]


def test_dtype_value_mode_and_grad() -> None:
    made = target(nn.Dropout(), torch.ones(4))
    dtype, mode, grad = requested(made, "0=float16,float64", "mode=train,eval", "grad=off,on")
    assert [step.args[0].dtype for step in dtype.steps()] == [torch.float16, torch.float64]
    assert [step.training for step in mode.steps()] == [True, False]
    assert [step.grad for step in grad.steps()] == [False, True]
    (value,) = requested(target(scaled, torch.ones(4), n=1), "n=2,0.5")
    assert [step.kwargs["n"] for step in value.steps()] == [2, 0.5]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("y:0=4", "tensors of the sample: x"),
        ("x:2=4", "its shape is [4, 3]"),
        ("3:0=4", "no tensor argument '3'"),
        ("x=2", "numbers of the sample: n"),
        ("seq=4,5", "no seq dimension"),
    ],
)
def test_what_the_sample_has_not_is_one_clear_line(spec: str, words: str) -> None:
    made = target(scaled, torch.ones(4, 3), n=1)
    with pytest.raises(InputSpecError) as caught:
        sweep.check(made, parse_variations((spec,)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_automatic_sweep_repeats_then_varies_what_it_recognises() -> None:
    repeated, batch, sequence = sweep.automatic(target(scaled, torch.ones(2, 6, dtype=torch.int64)), "eval")
    assert shapes(repeated) == [(2, 6)] * 4
    assert (batch.sizes, sequence.sizes) == ((2, 2, 3, 4, 1), (6, 6, 7, 8))
    assert all(plan.automatic for plan in (repeated, batch, sequence))


def test_an_automatic_sweep_leaves_out_what_eager_refuses() -> None:
    norm = nn.BatchNorm1d(3).train()
    *_, batch = sweep.automatic(target(norm, torch.ones(4, 3)), "train")
    assert batch.sizes == (4, 4, 5, 6)
    assert batch.detail == "size 1 raises ValueError in eager"


@pytest.mark.parametrize(("mode", "grad"), [("eval", False), ("train", None)])
def test_sizes_that_vary_together_need_no_gradients_in_eval_mode(mode: Mode, grad: bool | None) -> None:
    plan = sweep.together(target(scaled, torch.ones(2, 6, dtype=torch.int64)), mode)
    assert plan is not None
    assert shapes(plan) == [(2, 6), (2, 6), (3, 7), (4, 8)]
    assert [step.grad for step in plan.steps()] == [grad] * 4
