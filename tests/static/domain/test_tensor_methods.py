"""The names of methods, compared with the installed torch and numpy."""

from __future__ import annotations

import numpy
import torch

from graphdoctor.static.domain.tensor_methods import ARRAY_METHODS, TENSOR_METHODS


def methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("__") and callable(getattr(kind, name, None))}


def test_no_method_of_the_installed_versions_is_missing():
    assert methods(torch.Tensor) <= TENSOR_METHODS
    assert methods(numpy.ndarray) <= ARRAY_METHODS
