from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.diagnosis.summary import failures
from graphdoctor.dynamic.parent.vary_specs import parse_variations
from graphdoctor.dynamic.recompiles import sweep
from graphdoctor.dynamic.recompiles.recompile import Probe
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.model.runs import DynamicRun, Recompile, Sweep

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def probe(
    function: Callable[[], Callable[..., Any]],
    variants: Callable[[], list[Any]] | None = None,
    args: tuple[Any, ...] = (),
    vary: tuple[str, ...] = (),
) -> list[tuple[Sweep, tuple[Recompile, ...]]]:
    target = Target("f", lambda: Sample(function(), args), torch.device("cpu"), variants)
    probing = Probe(target, "eval", CountingBackend(), PLACES)
    plans = [*sweep.variants(target), *sweep.requested(target, "eval", parse_variations(vary))]
    return [probing.probe(plan) for plan in plans or sweep.automatic(target, "eval")]


def recompiles(function: Callable[[], Callable[..., Any]], variants: Callable[[], list[Any]]) -> tuple[Recompile, ...]:
    ((_, found),) = probe(function, variants)
    return found


def calls(*sizes: int) -> Callable[[], list[Any]]:
    return lambda: [(torch.ones(n, 8),) for n in sizes]


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x + self.step


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Counter(), Counter()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Flag(nn.Module):
    on = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if self.on else x - 1


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table: torch.Tensor | None = None
        self.drop = nn.Dropout()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.table is None:
            self.table = torch.ones(8)
        return self.drop(x) + self.table


def double(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return batch["ids"] * 2 + batch["mask"].sum()


def with_break(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


class Scaled(nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x * 2 if self.mode == "up" else x / 2


def by_size(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] == 6 else x - 1


def by_row(x: torch.Tensor) -> torch.Tensor:
    return sum((x[i] for i in range(x.shape[0])), torch.zeros(8))


def times(x: torch.Tensor, n: float) -> torch.Tensor:
    return x * n


def sliced(x: torch.Tensor, n: int) -> torch.Tensor:
    return x[:n]


def repeated(x: torch.Tensor, n: int) -> torch.Tensor:
    for _ in range(n):
        x = x + 1
    return x


def joined(x: torch.Tensor, xs: list[torch.Tensor]) -> torch.Tensor:
    return x + (sum(xs) if isinstance(xs, list) else xs.sum(0))


TOTAL = 0


def counted(x: torch.Tensor) -> torch.Tensor:
    global TOTAL
    TOTAL += 1
    return x * TOTAL


def test_a_changing_size_names_input_and_dimension_and_the_remedy_is_run() -> None:
    (found,) = recompiles(lambda: with_break, calls(4, 5, 6))
    assert (found.input, found.dimension, found.compilations, found.verified_compilations) == ("x", 0, 2, 1)
    assert (found.path, found.line) == ("test_recompile.py", with_break.__code__.co_firstlineno)
    assert "dimension 0" in found.cause
    assert found.remedy == "`torch._dynamo.mark_dynamic(x, 0)` before each call, in the calling code"


def test_one_recompile_for_a_size_is_called_expected() -> None:
    ((made, _),) = probe(lambda: with_break, calls(4, 5, 6))
    assert (made.calls, made.compilations, made.automatic) == (3, 2, False)
    assert made.detail.startswith("expected without the suggested fix: a second size")


def test_all_inputs_that_changed_are_named_and_marked() -> None:
    (found,) = recompiles(lambda: double, lambda: [({"ids": torch.ones(n, 4), "mask": torch.ones(n)},) for n in (4, 5)])
    assert (found.input, found.dimension, found.verified_compilations) == ("batch['ids']", 0, 1)
    assert "batch['mask'] in dimension 0" in found.cause
    assert "mark_dynamic(batch['mask'], 0)" in (found.remedy or "")


def test_a_counter_reaches_the_limit_and_a_buffer_cures_it() -> None:
    (found,) = recompiles(Counter, calls(*[4] * 12))
    assert (found.compilations, found.limit, found.at_limit, found.input) == (8, 8, True, None)
    assert (found.kind, found.name) == ("attribute", "self.step")
    assert found.verified_compilations == 1
    assert 'register_buffer("step"' in (found.remedy or "")
    assert found.line == Counter.forward.__code__.co_firstlineno + 1


def test_the_counters_of_all_layers_become_buffers() -> None:
    (found,) = recompiles(Stack, calls(*[4] * 4))
    assert (found.name, found.compilations, found.verified_compilations) == ("self.layers[0].step", 4, 1)


def test_a_global_counter_keeps_its_type() -> None:
    (found,) = recompiles(lambda: counted, calls(*[4] * 4))
    assert (found.kind, found.compilations, found.verified_compilations) == ("global", 4, 1)
    assert type(TOTAL) is int


def test_a_size_that_the_code_fixes_refuses_the_mark_in_plain_words() -> None:
    (found,) = recompiles(lambda: by_size, calls(4, 6, 5, 7))
    mark = found.tried[0]
    line = by_size.__code__.co_firstlineno + 1
    assert mark.compilations is None
    assert mark.detail.startswith("ConstraintViolationError: mark_dynamic promises")
    assert mark.detail.endswith(f"for the size 6 alone at test_recompile.py:{line}")


def test_sizes_zero_and_one_are_explained() -> None:
    ((made, (found,)),) = probe(lambda: with_break, calls(4, 5, 1))
    assert (found.compilations, found.verified_compilations) == (3, 1)
    assert "mark_unbacked" in (found.remedy or "")
    assert "0/1 specialisation" in made.detail


def test_a_smaller_last_batch_can_be_left_out() -> None:
    (found,) = recompiles(lambda: with_break, calls(4, 4, 3))
    assert [trial.compilations for trial in found.tried if "drop_last" in trial.text] == [1]


@pytest.mark.parametrize(("function", "best"), [(times, "torch.tensor(n)"), (sliced, "dynamic=True")])
def test_a_number_becomes_a_tensor_unless_that_breaks_the_graph(function: Callable[..., Any], best: str) -> None:
    (found,) = recompiles(lambda: function, lambda: [(torch.ones(8), n) for n in (2, 3, 4)])
    assert (found.kind, found.input, found.compilations, found.verified_compilations) == ("value", "n", 2, 1)
    assert best in (found.remedy or "")


def test_what_nothing_helps_against_gets_advice_that_is_not_called_verified() -> None:
    (found,) = recompiles(lambda: repeated, lambda: [(torch.ones(8), n) for n in (2, 3, 4)])
    assert (found.compilations, found.verified_compilations) == (3, None)
    assert "one compilation for each value" in (found.remedy or "")
    assert {trial.detail for trial in found.tried} == {"it breaks the graph", ""}


def test_layout_and_length() -> None:
    (stride,) = recompiles(lambda: with_break, lambda: [(torch.ones(8, 8),), (torch.ones(8, 8).t(),)])
    assert (stride.kind, stride.remedy, stride.verified_compilations) == (
        "stride",
        "`x.contiguous()` before the call",
        1,
    )
    (length,) = recompiles(lambda: joined, lambda: [(torch.ones(2), [torch.ones(2)] * n) for n in (2, 3, 4)])
    assert (length.kind, length.input, length.compilations, length.verified_compilations) == ("length", "xs", 3, 2)


def test_two_causes_are_also_cured_together() -> None:
    tensors = ((4, False), (5, False), (5, True))
    ((made, found),) = probe(lambda: times, lambda: [(torch.ones(n, requires_grad=g), 2.0) for n, g in tensors])
    assert [(r.kind, r.verified_compilations) for r in found] == [("size", 2), ("requires_grad", 2)]
    assert (made.compilations, made.verified_compilations) == (3, 1)


def test_a_change_of_the_model_between_calls() -> None:
    ((made, (found,)),) = probe(nn.Dropout, lambda: [(torch.ones(8),), lambda m: m.train(), (torch.ones(8),)])
    assert (made.calls, found.kind, found.compilations) == (2, "mode", 2)


def test_asked_variations_are_counted_one_by_one() -> None:
    found = probe(lambda: times, args=(torch.ones(4), 1.0), vary=("x:0=4,6,8", "grad=on,off", "n=0.5,1.5"))
    assert [(made.varied, made.compilations) for made, _ in found] == [
        ("x:0=4,6,8", 2),
        ("grad=on,off", 2),
        ("n=0.5,1.5", 2),
    ]
    assert [r.verified_compilations for _, made in found for r in made] == [1, 1, 1]


@pytest.mark.parametrize("model", [lambda: times, Lazy])
def test_an_automatic_sweep_finds_nothing_in_a_healthy_model(model: Callable[[], Callable[..., Any]]) -> None:
    args: tuple[Any, ...] = (torch.ones(4, 8),) if model is Lazy else (torch.ones(4, 8), 2.0)
    found = probe(model, args=args)
    assert [r for _, made in found for r in made] == []
    assert [made.compilations for made, _ in found] == ([2, 4] if model is Lazy else [1, 3])


def test_an_automatic_sweep_finds_state_and_sizes_that_are_compiled_each() -> None:
    (_, (counter,)), (_, more) = probe(Counter, args=(torch.ones(4, 8),))
    assert (counter.name, counter.compilations, counter.verified_compilations, more) == ("self.step", 4, 1, ())
    (_, none), (_, (size,)) = probe(lambda: by_row, args=(torch.ones(4, 8),))
    assert (none, size.input, size.dimension, size.compilations) == ((), "x", 0, 4)


def test_equal_inputs_compile_once() -> None:
    assert recompiles(lambda: with_break, calls(4, 4, 4)) == ()


def test_settings_of_torch_are_as_before() -> None:
    before = torch._dynamo.config.get_config_copy(), torch.is_grad_enabled(), torch.get_default_dtype()
    probe(Counter, calls(4, 4, 4))
    probe(lambda: times, args=(torch.ones(4), 1.0), vary=("grad=off,on",))
    assert (torch._dynamo.config.get_config_copy(), torch.is_grad_enabled(), torch.get_default_dtype()) == before


def test_a_cause_behind_the_one_that_dynamo_names_is_told() -> None:
    (found,) = recompiles(Counter, calls(4, 5))
    assert (found.kind, found.verified_compilations) == ("size", None)
    # It is no suggested fix by itself: what was tried comes first.
    mark = "`torch._dynamo.mark_dynamic(x, 0)` before each call, in the calling code"
    assert found.remedy == f"{mark}, and more: behind it is another cause: the attribute self.step is no longer 0"


def test_a_flag_is_no_number_that_a_buffer_can_hold() -> None:
    (found,) = recompiles(Flag, lambda: [(torch.ones(8),), lambda m: setattr(m, "on", False), (torch.ones(8),)])
    assert (found.kind, found.name, found.verified_compilations) == ("attribute", "self.on", None)
    assert found.tried[0].detail == "it is not a number that a tensor can replace"


def test_what_distinguishes_blocks_that_break_is_no_cause_of_recompiles() -> None:
    found = probe(lambda: nn.Sequential(Scaled("up"), Scaled("down"), Scaled("up")), args=(torch.ones(4, 8),))
    assert [cause.cause for _, causes in found for cause in causes] == []


def test_blocks_that_break_and_get_other_shapes_are_compiled_by_themselves() -> None:
    def wider() -> list[Any]:
        return [
            (torch.ones(8),),
            lambda m: m.append(nn.Unflatten(0, (2, 4))),
            lambda m: m.append(Scaled("up")),
            (torch.ones(8),),
        ]

    (found,) = recompiles(lambda: nn.Sequential(Scaled("up"), Scaled("up")), wider)
    assert found.remedy is not None and found.remedy.startswith("remove the graph breaks")


def test_a_submodule_whose_forward_is_no_function_of_python() -> None:
    class Held(nn.Module):
        forward = torch.relu

    assert recompiles(lambda: nn.Sequential(Held(), Held(), Scaled("up")), calls(4, 4)) == ()


def spectrum(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.rfft(x, dim=1).abs().mean(0).mean(-1)


class Periodic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounds = []
        for _ in range(2):
            rounds.append(self.fc(x) if spectrum(x).argmax() > 3 else x)
        return torch.stack(rounds).sum(0)


class Turned(nn.Module):
    """The first block gets a transposed tensor, the second one what that gives."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        self.blocks = nn.ModuleList([Periodic(), Periodic()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x.permute(0, 2, 1)).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x


def test_what_distinguishes_the_calls_of_a_helper_is_no_cause_either() -> None:
    found = probe(Turned, args=(torch.rand(2, 16, 8),))
    assert [cause.remedy for _, causes in found for cause in causes if "contiguous" in (cause.remedy or "")] == []


class Counted(nn.Module):
    """Counts its calls, and is compiled by itself after the break of ``Broken``."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        result: torch.Tensor = self.layer(x)
        return result


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Counted(), Counted()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
            torch._dynamo.graph_break()
        return x


def test_of_a_shared_function_what_it_keeps_is_the_cause() -> None:
    found = recompiles(Broken, calls(4, 4, 4, 4))
    assert [(each.kind, each.name) for each in found] == [("attribute", "self.calls")]


@pytest.mark.parametrize("times", [2, 3])
def test_calls_that_are_compiled_again_are_counted_by_themselves(times: int) -> None:
    """The layers of the first call share the function, and have a compilation each."""
    (found,) = recompiles(Broken, calls(*[4] * (1 + times)))
    assert (found.name, found.later_calls) == ("self.calls", times)
    said = failures(DynamicRun("f", "eval", "cpu", outcome="ok", recompiles=(found,)))
    assert said == (("each call is compiled again",) if times > 2 else ())


def test_a_number_that_changes_beside_flags_is_a_cause() -> None:
    def masked(x: torch.Tensor, mask: torch.Tensor | None = None, flag: bool = False, scale: float = 1.0) -> Any:
        x = x if mask is None else x * mask
        return (x + 1 if flag else x) * scale

    x, mask = torch.ones(4, 8), torch.ones(4, 8)
    variants = [(x,), (x, mask), (x, None, True), (x, mask, True), (x, None, False, 2.0), (x, None, True, 3.0)]
    assert [found.name for found in recompiles(lambda: masked, lambda: variants)] == ["mask", "flag", "scale"]
