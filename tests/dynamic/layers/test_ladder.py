"""Which layer fails, where; and a script that fails in the same way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.layers import inductor, ladder, repro
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.model.runs import Stage

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def run(sample: Sample, function: Callable[..., Any] | None) -> comparison.Snapshot:
    return comparison.snapshot(sample, (function or sample.function)(*sample.args, **sample.kwargs))


def climb(function: Callable[..., Any], top: str = "aot_eager", same: str = "") -> ladder.Fall:
    target = Target("f", lambda: Sample(function, (torch.ones(2, 2),)), torch.device("cpu"))
    return ladder.climb(target, "eval", run, PLACES, lambda outputs: same, top)


def wrong_shape(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return torch.mm(y, torch.ones(3, 3))


@torch.library.custom_op("graphdoctor_test::lies", mutates_args=())
def lies(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@lies.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("nobody knows the shape")


def unknown_shape(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.graphdoctor_test.lies(x * 2)  # type: ignore[no-any-return]


def test_a_function_that_works_on_every_stage() -> None:
    fall = climb(lambda x: x + 1)
    assert [(stage.name, stage.outcome) for stage in fall.stages] == [("eager", "ok"), ("aot_eager", "ok")]
    assert fall.kept is None


@pytest.mark.parametrize(("function", "offset"), [(wrong_shape, 2), (unknown_shape, 1)])
def test_dynamo_fails_at_the_line(function: Callable[..., Any], offset: int) -> None:
    (stage,) = climb(function).stages
    assert (stage.name, stage.outcome, stage.layer) == ("eager", "failed", "Dynamo")
    assert (stage.path, stage.line) == (Path(__file__).name, function.__code__.co_firstlineno + offset)


def test_an_error_behind_dynamo_is_that_of_aotautograd(monkeypatch: pytest.MonkeyPatch) -> None:
    def backend(name: str) -> Callable[..., Any]:
        def compiled(graph: torch.fx.GraphModule, inputs: Any) -> Any:
            if name != "eager":
                raise NotImplementedError("no rule for this operator\n  target: aten.add.Tensor")
            return graph.forward

        return compiled

    monkeypatch.setattr(private_torch, "backend", backend)
    fall = climb(lambda x: x + 1)
    assert [stage.outcome for stage in fall.stages] == ["ok", "failed"]
    assert fall.stages[1].layer == "AOTAutograd"
    assert fall.stages[1].detail == "NotImplementedError: no rule for this operator (operator aten.add)"
    assert fall.kept is not None
    assert fall.kept.graph is not None


def test_other_outputs_end_the_ladder() -> None:
    (stage,) = climb(lambda x: x + 1, same="output: values differ by up to 1").stages
    assert (stage.outcome, stage.layer) == ("differs", "Dynamo")


def test_a_backend_that_torch_has_not_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inductor, "STAGES", ("eager", "aot_missing"))
    fall = climb(lambda x: x + 1, top="aot_missing")
    assert [stage.outcome for stage in fall.stages] == ["ok", "skipped"]
    assert "has no backend aot_missing" in fall.stages[1].detail


def test_precompiled_headers_go_to_the_cache_folder_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor import codecache

    shared = codecache._HEADER_DIR, codecache._HEADER_LOCK_DIR
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    with inductor.settings():
        folders = Path(codecache._HEADER_DIR), Path(codecache._HEADER_LOCK_DIR)
        assert all(folder.is_relative_to(tmp_path) for folder in folders) and folders[0] != folders[1]
    assert shared == (codecache._HEADER_DIR, codecache._HEADER_LOCK_DIR)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    with inductor.settings():
        assert shared[0] == codecache._HEADER_DIR


def test_this_torch_has_every_stage() -> None:
    """Fails loudly where torch renames a backend."""
    assert [inductor.missing(name) for name in inductor.STAGES] == [""] * 4


def test_errors_of_the_compilers_below_inductor() -> None:
    class CppCompileError(RuntimeError):
        pass

    assert inductor.layer("inductor", CppCompileError("c++ failed")) == "Inductor (C++ compiler)"
    assert (
        inductor.layer("inductor", type("OutOfResources", (Exception,), {"__module__": "triton.runtime"})()) == "Triton"
    )
    assert inductor.layer("inductor", RuntimeError()) == "Inductor"


SOURCE = """\
import torch


def broken(x):
    return torch.mm(x, torch.ones(3, 3))


def graphdoctor_target():
    return broken, torch.ones(2, 2)
"""


def test_the_script_of_a_dynamo_failure_is_the_users_file_and_was_seen_to_fail() -> None:
    (stage,) = climb(wrong_shape).stages
    text = repro.script(stage, None, SOURCE, backward=False)
    assert text is not None
    assert text.startswith("# Fails in Dynamo")
    assert SOURCE in text


def test_a_script_that_does_not_fail_is_not_offered() -> None:
    stage = Stage("eager", "failed", "Dynamo", "TorchRuntimeError: something")
    assert repro.script(stage, None, SOURCE.replace("3, 3", "2, 2"), backward=False) is None
    assert repro.script(stage, None, "x = 1\n", backward=False) is None


def test_a_graph_is_a_class_and_its_inputs_are_lines() -> None:
    kept = inductor.Kept("aot_eager")
    x = torch.ones(3, 2).t()
    torch.compile(lambda x: (x.to(torch.float64) + float("inf")).sum(), backend=kept)(x)
    assert kept.graph is not None
    stage = Stage("aot_eager", "failed", "AOTAutograd", "AssertionError: no")
    text = next(repro._candidates(stage, kept, "", backward=False))
    space: dict[str, Any] = {}
    exec(text, space)
    assert space["args"][0].stride() == x.stride()
    assert space["outputs"][0].item() == float("inf")
