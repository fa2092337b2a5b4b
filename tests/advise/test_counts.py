"""What ``advise`` claims, against counts of an independent run: this test compiles by hand and counts for itself."""

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import fx, nn

from graphdoctor.advise.run import advise
from graphdoctor.model.advice import Advice, Placement
from graphdoctor.model.benchmark import Question

TARGETS = Path(__file__).parent / "targets"
FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = {
    "gpt2, cache": TARGETS / "gpt2_cache.py",
    "gpt2, no cache": TARGETS / "gpt2_no_cache.py",
    "vit": TARGETS / "vit.py",
    "demo": FIXTURES / "demo/model.py",
}


@cache
def advised(name: str) -> Advice:
    """The advice on one of FILES: a run of a few seconds, made once."""
    return advise(Question(FILES[name], FILES[name].parent), timeout=900)


def imported(file: Path):
    """The file as a module, under a name of its own."""
    sys.path.insert(0, str(file.parent))
    try:
        spec = importlib.util.spec_from_file_location(f"advised_{file.parent.name}_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def counted(file: Path, compiled: Callable[[nn.Module, Callable], Callable]) -> tuple[int, int]:
    """Graphs that are compiled in the calls of the file, when ``compiled`` has put torch.compile on the model.

    Of all calls, and of those after the first.
    """
    torch._dynamo.reset()
    graphs = []

    def backend(graph: fx.GraphModule, inputs: list) -> Callable:
        graphs.append(graph)
        return graph.forward

    module = imported(file)
    model, args, *kwargs = module.graphdoctor_target()
    calls = module.graphdoctor_variants() if hasattr(module, "graphdoctor_variants") else [args, args]
    function = compiled(model.eval(), backend)
    counts = []
    with torch.no_grad():
        for call in calls:
            function(*call, **(kwargs[0] if kwargs and call is args else {}))
            counts.append(len(graphs))
    return counts[-1], counts[-1] - counts[0]


def whole(model: nn.Module, backend: Callable) -> Callable:
    return torch.compile(model, backend=backend)


def in_place(placement: Placement) -> Callable[[nn.Module, Callable], Callable]:
    def compiled(model: nn.Module, backend: Callable) -> Callable:
        if placement.setting:
            assert placement.setting == "model.config.use_cache = False"
            model.config.use_cache = False
        for name in placement.names:
            model.get_submodule(name).compile(backend=backend)
        return model

    return compiled


@pytest.mark.parametrize("name", ["gpt2, no cache", "vit", "demo"])
def test_every_claimed_count_is_that_of_an_independent_run(name: str) -> None:
    file, advice = FILES[name], advised(name)
    assert [placement.kind for placement in advice.placements][:2] == ["model", "blocks"]
    for placement in advice.placements:
        independent = counted(file, whole if placement.kind == "model" else in_place(placement))
        assert (placement.kind, placement.compilations, placement.later) == (placement.kind, *independent)


@pytest.mark.parametrize("name", ["vit", "demo"])
def test_the_code_runs_and_compiles_the_same_places(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines as the user pastes them; only the default backend is another, so that nothing waits for Inductor."""
    file, advice = FILES[name], advised(name)
    graphs = []

    def inductor(self: object, graph: fx.GraphModule, inputs: list) -> Callable:
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(torch._TorchCompileInductorWrapper, "__call__", inductor)
    for placement in advice.placements:
        torch._dynamo.reset()
        graphs.clear()
        module = imported(file)
        model, args, *kwargs = module.graphdoctor_target()
        names = {"model": model.eval(), "torch": torch}
        exec(placement.code, names)
        calls = module.graphdoctor_variants() if hasattr(module, "graphdoctor_variants") else [args, args]
        with torch.no_grad():
            for call in calls:
                names["model"](*call, **(kwargs[0] if kwargs else {}))
        assert len(graphs) == placement.compilations


def test_the_cache_of_gpt2_makes_blocks_compile_one_by_one_until_the_limit() -> None:
    with_cache = advised("gpt2, cache")
    blocks = [placement for placement in with_cache.placements if placement.kind == "blocks"]
    limit = torch._dynamo.config.recompile_limit
    assert [(p.setting, p.compilations, p.at_limit) for p in blocks] == [
        ("", limit, True),
        ("model.config.use_cache = False", 1, False),
    ]
    assert "9 blocks reached the recompile limit after 8 compilations" in with_cache.reason


def test_blocks_share_a_compilation_whatever_sizes_add() -> None:
    advice = advised("gpt2, no cache")
    blocks = next(placement for placement in advice.placements if placement.kind == "blocks")
    assert (len(blocks.names), blocks.compilations, blocks.later) == (4, 2, 1)
    assert "one compilation serves all 4 blocks (other sizes take 1 more)" in advice.reason


WITH_GRADIENTS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        if torch.is_grad_enabled():
            for count in range(2):
                print(count)
        return x.relu() * 2


def graphdoctor_target():
    return Net(), (torch.rand(2, 4),)
"""


def test_the_share_is_that_of_the_calls_that_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(WITH_GRADIENTS)
    whole = next(p for p in advise(Question(file, tmp_path), timeout=300).placements if p.kind == "model")
    assert (whole.breaks, whole.compilations, whole.share) == (0, 1, 1.0)
