import torch

from graphdoctor.dynamic.recompiles import axes


def test_the_batch_is_the_first_dimension_of_all_inputs_that_share_it() -> None:
    leaves = {"x": torch.ones(4, 8), "y": torch.ones(4), "weight": torch.ones(8, 8), "n": 4}
    assert axes.of("batch", leaves)[0] == {("x", 0), ("y", 0)}


def test_the_sequence_is_recognised_by_ids_or_by_two_inputs() -> None:
    ids = {"ids": torch.ones(2, 16, dtype=torch.int64), "mask": torch.ones(2, 1, 16, 16)}
    widest, *_, narrowest = axes.of("sequence", ids)
    assert widest == {("ids", 1), ("mask", 2), ("mask", 3)}
    assert narrowest == {("ids", 1)}
    assert axes.of("sequence", {"q": torch.ones(2, 5, 8), "k": torch.ones(2, 5, 8)})[0] == {("q", 1), ("k", 1)}
    assert axes.of("sequence", {"image": torch.ones(2, 3, 8, 8)}) == []


def test_without_tensors_there_is_no_batch() -> None:
    assert axes.of("batch", {"n": 3, "scalar": torch.tensor(1.0)}) == []


def test_a_named_dimension_takes_those_of_equal_size_along_then_goes_alone() -> None:
    leaves = {"x": torch.ones(4, 8), "y": torch.ones(4, 8), "z": torch.ones(5, 8)}
    assert axes.tied("x", 0, leaves) == [{("x", 0), ("y", 0)}, {("x", 0)}]
