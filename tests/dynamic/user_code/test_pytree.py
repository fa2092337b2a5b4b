from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import torch

from graphdoctor.dynamic.user_code import pytree

Pair = namedtuple("Pair", "a b")
CPU = torch.device("cpu")


@dataclass
class Output:
    logits: torch.Tensor
    name: str


class Cache:
    def __init__(self) -> None:
        self.keys = [torch.ones(2)]
        self.me = self


def test_leaves_are_named_by_their_path() -> None:
    one = torch.ones(1)
    value = {"a": [one, 2], "b": Pair(one, None), "c": Output(one, "x"), "d": Cache(), "e": iter([1])}
    assert list(pytree.leaves(value, "output")) == [
        "output['a'][0]",
        "output['a'][1]",
        "output['b'].a",
        "output['b'].b",
        "output['c'].logits",
        "output['c'].name",
        "output['d'].keys[0]",
    ]


def test_arrays_are_tensors_under_a_name_of_their_own() -> None:
    found = pytree.leaves([np.arange(3), np.float32(2), np.array(["a"])], "x")
    assert list(found) == ["x[0] (numpy)", "x[1] (numpy)"]
    assert found["x[0] (numpy)"].tolist() == [0, 1, 2]


def test_modules_and_functions_are_no_leaves() -> None:
    assert pytree.leaves([torch.nn.Linear(1, 1), len], "x") == {}


def test_map_keeps_structure_and_identity() -> None:
    one = torch.ones(1)
    mapped = pytree.map_tensors(({"a": one}, [one], Pair(one, 3), "text"), lambda t: t + 1)
    assert mapped[0]["a"] is mapped[1][0] is mapped[2].a
    assert mapped[0]["a"].item() == 2
    assert (mapped[2].b, mapped[3]) == (3, "text")


def test_a_clone_has_the_strides_and_none_of_the_marks() -> None:
    tensor = torch.arange(24.0).reshape(4, 6)[:, ::2].requires_grad_()
    torch._dynamo.mark_dynamic(tensor, 0)
    copy = pytree.clone(tensor, CPU)
    assert torch.equal(copy, tensor)
    assert copy.stride() == tensor.stride()
    assert copy.requires_grad and copy.is_leaf
    assert not hasattr(copy, "_dynamo_dynamic_indices")
    with torch.no_grad():
        copy.zero_()
    assert tensor.sum() != 0


def test_expanded_and_sparse_tensors_are_cloned() -> None:
    expanded = torch.ones(1, 3).expand(4, 3)
    assert pytree.clone(expanded, CPU).stride() == (0, 1)
    assert torch.equal(pytree.clone(torch.eye(3).to_sparse(), CPU).to_dense(), torch.eye(3))
