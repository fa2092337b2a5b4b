"""What import statements bind."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Truth

NET = """
from {module} import *


class Net(Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return F.relu(x) if torch.isnan(self.layer(x)) else x
"""


def asked(found) -> int:
    return sum(isinstance(e, Truth) for e in found)


def test_names_of_a_library_that_hands_on_all_of_its_own_are_the_usual_ones(events) -> None:
    assert asked(events(NET.format(module="fastlib.imports"))) == 1


def test_so_are_those_that_a_file_of_the_project_hands_on(events) -> None:
    assert asked(events(NET.format(module="names"), names="from fastlib.imports import *")) == 1


@pytest.mark.parametrize("names", ["", "import math"])
def test_names_that_nothing_may_bind_are_not_known(events, names) -> None:
    assert asked(events(NET.format(module="names"), names=names)) == 0


def test_a_name_that_is_bound_is_what_it_is_bound_to(events) -> None:
    source = "from fastlib.imports import *\n\nclass torch:\n    pass\n" + NET.format(module="other.imports")
    assert asked(events(source)) == 0


@pytest.mark.parametrize(
    ("ending", "known"),
    [
        ("", 0),
        ("__all__ = ['nn', 'scale']", 1),
        ("__all__ = ['Module', 'nn', 'scale']", 0),
        ("__all__ = ['nn', 'scale'] + names()", 0),
    ],
)
def test_what_a_file_hands_on_is_what_its_all_names(events, ending, known) -> None:
    helpers = f"from torch import nn\n\nModule = None\n\ndef scale(x):\n    return x\n\n{ending}\n"
    source = NET.format(module="helpers").replace(
        "from helpers", "import torch\nfrom torch.nn import Module\nfrom helpers"
    )
    assert asked(events(source.replace("F.relu", "scale"), helpers=helpers)) == known


CHECKED = """
from beartype import beartype
from {module} import List, Optional

import torch


@beartype
def total(first: torch.Tensor, rest: Optional[List[torch.Tensor]] = None):
    return first if rest is None else first + rest[0]


@torch.compile
def step(x):
    return total(x)
"""


@pytest.mark.parametrize("module", ["typing", "beartype.typing"])
def test_hints_that_beartype_hands_on_are_those_of_typing(events, module) -> None:
    calls = [e for e in events(CHECKED.format(module=module)) if isinstance(e, Call)]
    assert [e.qualname for e in calls] == ["beartype.beartype.__call__"]
