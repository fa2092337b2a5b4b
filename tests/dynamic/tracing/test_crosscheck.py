from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.crosscheck import disagreement, explain, fullgraph
from graphdoctor.dynamic.user_code.target import Sample
from graphdoctor.model.runs import Break

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))
X = torch.ones(4)


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def in_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        x = x + 1
        print("loop")
    return x


def test_fullgraph_passes() -> None:
    assert fullgraph(Sample(lambda x: x + 1, (X,)), CountingBackend(), PLACES).passes is True


def test_fullgraph_fails_with_reason_and_line() -> None:
    result = fullgraph(Sample(in_loop, (X,)), CountingBackend(), PLACES)
    assert result.passes is False
    assert result.error is not None
    assert "print()" in result.error
    assert (result.path, result.line) == ("test_crosscheck.py", in_loop.__code__.co_firstlineno + 3)


def test_a_failure_inside_torch_is_placed_in_the_library_that_calls_it() -> None:
    norm = torch.nn.InstanceNorm2d(3)  # warns of the wrong number of channels, which breaks
    elsewhere = Places(root="/elsewhere", own=("/elsewhere",), torch=PLACES.torch)
    result = fullgraph(Sample(lambda x: norm(x), (torch.ones(2, 5, 4, 4),)), CountingBackend(), elsewhere)
    assert result.passes is False
    assert result.path == __file__


def test_an_error_without_a_break_type_is_one_line() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        raise SystemExit("bye\nnow")

    result = fullgraph(Sample(wrong, (X,)), CountingBackend(), PLACES)
    assert result.passes is False
    assert result.error is not None
    assert "\n" not in result.error


@pytest.fixture
def numbers_in_graphs() -> Iterator[None]:
    """What ``fullgraph=True`` sets since torch 2.10."""
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        yield


@pytest.mark.usefixtures("numbers_in_graphs")
def test_a_branch_on_an_unbacked_symbol_is_told_in_words() -> None:
    result = fullgraph(Sample(lambda x: x + 1 if x.nonzero().numel() == 0 else x, (X,)), CountingBackend(), PLACES)
    assert result.error == "tracing cannot decide `u0 == 0`, where u0 stands for a number that tensor data gives"


@pytest.mark.usefixtures("numbers_in_graphs")
def test_a_branch_on_a_random_number_is_told_in_words() -> None:
    def drops(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if np.random.uniform(0, 1) < 0.5 else x

    result = fullgraph(Sample(drops, (X,)), CountingBackend(), PLACES)
    assert result.error == "tracing cannot decide a branch on a number that tensor data or a random draw gives"


@pytest.mark.usefixtures("numbers_in_graphs")
def test_a_size_that_dynamo_loses_track_of_is_told_in_words() -> None:
    def pads(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x, (0, x.long().max() - x.shape[0]))

    result = fullgraph(Sample(pads, (X * 6,)), CountingBackend(), PLACES)
    assert result.error is not None and result.error.endswith(
        ": Dynamo loses track of a size that depends on data, which an operator is given (PendingUnbackedSymbolNotFound)"
    )


def two_breaks(x: torch.Tensor) -> torch.Tensor:
    x = x.sin()
    torch._dynamo.graph_break()
    x = x.cos()
    if x.sum() > 0:
        x = x + 1
    return x


def nothing_to_compile(x: torch.Tensor) -> torch.Tensor:
    print("once")
    return x


@pytest.mark.parametrize("function", [torch.sin, two_breaks, in_loop, nothing_to_compile])
def test_what_explain_counts_is_known_from_the_default_compile(function: Callable[..., torch.Tensor]) -> None:
    def called(x: torch.Tensor) -> torch.Tensor:
        return function(x)

    expected = torch._dynamo.explain(called)(X)
    torch._dynamo.reset()
    backend = CountingBackend()
    torch.compile(called, backend=backend)(X)
    result = explain([], backend.graphs, backend.reasons)
    counts = expected.graph_count, expected.graph_break_count, len(expected.break_reasons)
    assert (result.graphs, result.breaks, result.reasons) == counts


def test_explain_counts_minus_one_break_where_nothing_is_compiled() -> None:
    found = Break("m.py", 1, 1, "f", "GB0059", "t", "r")
    result = explain([found], graphs=0, reasons=0)
    assert (result.graphs, result.breaks, result.reasons) == (0, -1, 0)
    assert result.disagrees is not None


def test_agreement() -> None:
    found = Break("m.py", 1, 1, "f", "GB0059", "t", "r")
    assert disagreement(2, 1, 1, [found], graphs=2) is None
    assert disagreement(1, 0, 0, [], graphs=1) is None
    assert "counts 0 graph breaks" in (disagreement(1, 0, 0, [found], graphs=1) or "")
    assert "counts -1 graph breaks (no graph, less one)" in (disagreement(0, -1, 0, [found], graphs=0) or "")
