"""The names of methods, compared with the installed torch and numpy."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.tensor_methods import ARRAY_METHODS, ONLY_TENSORS, TENSOR_METHODS, TENSOR_PROPERTIES

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")


def methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("__") and callable(getattr(kind, name, None))}


def test_no_method_of_the_installed_versions_is_missing():
    assert methods(torch.Tensor) <= TENSOR_METHODS
    assert methods(numpy.ndarray) <= ARRAY_METHODS


def test_no_property_of_the_installed_tensors_is_missing():
    properties = {name for name in dir(torch.Tensor) if not name.startswith("_")} - methods(torch.Tensor)
    assert properties <= TENSOR_PROPERTIES


def test_what_only_tensors_have_is_a_method_of_theirs_and_of_no_builtin():
    assert ONLY_TENSORS <= TENSOR_METHODS
    for kind in (str, bytes, int, float, list, tuple, dict, set, torch.nn.Module, torch.Size):
        assert not ONLY_TENSORS & methods(kind), kind
