"""What other people's packages do, in which a value is taken for what it is not, or is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Finding
from graphdoctor.static.domain.events import Call, Import, Truth
from graphdoctor.static.domain.value_functions import may_be_tensor

HEAD = """
    import json
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.kind = kind
            self.parts = nn.ModuleDict(dict(norm=Scale(), rest=nn.ModuleList([Scale()])))
            self.saved = torch.load("stats.pt")
            self.loaded = torch.hub.load("owner/repository", "model")
            if kind == "a":
                self.fast = torch.jit.script(Scale())
            else:
                self.fast = double

        def forward(self, x, others: dict[str, torch.Tensor]):
            {body}
            return x

    class Scale(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    def double(x):
        return x.mul(2)

    def grid(x, size: int):
        if size > 4:
            return x
        return -x

    try:
        import fast_library as library
    except ImportError:
        library = object
"""


def asked(found):
    return [e for e in found if isinstance(e, Truth) and may_be_tensor(e.value)]


@pytest.mark.parametrize("body", ["x = self.parts.norm(x)", "x = self.parts['norm'](x)", "x = self.parts.rest[0](x)"])
def test_children_of_a_module_dict_are_attributes(events, body):
    assert [e.site.function for e in asked(events(HEAD.replace("{body}", body)))] == ["Scale.forward"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x = -x if isinstance(x.shape[0], torch.Tensor) and x.sum() > 0 else x", id="size"),
        pytest.param("x = -x if x.device.type == 'cpu' else x", id="device"),
        pytest.param("x = -x if others['mode'].not_of_a_tensor() > 4 else x", id="method-of-a-subclass"),
        pytest.param("x = -x if library.ops.sum(x) > 0 else x", id="missing-library"),
        pytest.param("n = x.max() if self.kind else 4\n            x = grid(x, n)", id="number-asked-for"),
    ],
)
def test_these_are_not_decided_by_tensor_data(events, body):
    found = asked(events(HEAD.replace("{body}", body)))
    assert {e.site.function for e in found} <= {"Scale.forward"}


@pytest.mark.parametrize(
    ("body", "maker"),
    [("x = x + self.saved.to(x.device)", "torch.load"), ("x = self.loaded([each for each in x])", "torch.hub.load")],
)
def test_what_was_loaded_may_be_anything(events, body, maker):
    found = events(HEAD.replace("{body}", body))
    assert not [
        e for e in found if isinstance(e, Call) and e.qualname.startswith(maker) and e.site.function != "Net.__init__"
    ]


def test_a_stand_in_for_a_missing_library_has_no_members(events):
    found = events(HEAD.replace("{body}", "x = library.ops.segment(x)"))
    assert not [e for e in found if isinstance(e, Call) and e.qualname.startswith("builtins.object")]


def test_which_of_several_functions_is_called_the_settings_say(events):
    found = events(HEAD.replace("{body}", "x = self.fast(x)"))
    assert [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "torch.jit.script.__call__"] == [
        True
    ]


@pytest.mark.parametrize(
    ("exported", "untaken"),
    [("torch.export.load(path).module()", True), ("torch.jit.load(path, None)", False)],
)
@pytest.mark.parametrize("given", ["load('a', flag)", "torch.compile(load('a', flag))"])
def test_how_a_model_is_loaded_the_settings_say(events, given, exported, untaken):
    found = events(f"""
        import torch

        def load(path, scripted):
            if scripted:
                return torch.jit.load(path)
            return {exported}

        class Net(torch.nn.Module):
            def __init__(self, flag):
                super().__init__()
                self.net = {given}

            def forward(self, x):
                return self.net(x)
    """)
    called = [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "torch.jit.load.__call__"]
    assert set(called) == {untaken}


@pytest.mark.parametrize(("name", "optional"), [("helpers", False), ("not_there", True)])
def test_modules_of_the_project_are_there(events, name, optional):
    body = f"try:\n                from {name} import scale\n            except ImportError:\n                pass"
    found = events(HEAD.replace("{body}", body), helpers="def scale(x):\n    return x\n")
    assert [e.optional for e in found if isinstance(e, Import)] == [optional]


def test_a_tensor_that_may_be_sparse_is_dense_for_a_function_it_is_given_to(events):
    found = events(HEAD.replace("{body}", "x = double(x.to_sparse() if self.kind else None)"))
    multiplied = [e.receiver for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.mul"]
    assert multiplied
    assert not any(receiver.sparse for receiver in multiplied)


@pytest.mark.parametrize("other", ["SparseTensor", "Layout"])
def test_a_tensor_or_a_type_that_is_not_known_may_be_a_tensor(events, other):
    found = events(
        f"""
    import torch
    from typing import Union
    from sparse_library import Layout

    try:
        from sparse_library import SparseTensor
    except ImportError:
        class SparseTensor:
            pass

    Edges = Union[torch.Tensor, {other}]

    def masked(edges: Edges):
        if isinstance(edges, torch.Tensor):
            return edges if edges.sum() > 0 else -edges
        return edges

    class Net(torch.nn.Module):
        def forward(self, edges: Edges):
            return masked(edges)
        """
    )
    assert [e.value.is_known for e in asked(found)] == [True]


CONVERTED = """
from numbers import Number

import numpy as np
import torch


def converted(y):
    {}


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, batch):
        return x + converted(batch.y)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if isinstance(y, (list, tuple)):\n        y = np.asarray(y)\n    return np.empty_like(y, dtype=y.dtype)", []),
        ("return converted(np.asanyarray(y)).item() if isinstance(y, np.number | np.bool_ | Number) else y", []),
        ("return np.asarray(y).item() if isinstance(y, str | int) else y", []),
        ("y = np.asarray(y)\n    return np.empty_like(y, dtype=y.dtype)", ["GD213"]),
    ],
)
def test_what_is_not_known_is_rather_no_array(tmp_path: Path, body: str, found: list[str]) -> None:
    assert [f.rule for f in _found(CONVERTED.format(body), tmp_path)] == found


def test_what_asks_for_an_array_first_is_possible(tmp_path: Path) -> None:
    body = "if isinstance(y, np.ndarray) and issubclass(y.dtype.type, np.number):\n        print(y)\n    return y"
    assert [(f.rule, f.confidence) for f in _found(CONVERTED.format(body), tmp_path)] == [("GD101", "possible")]


def _found(source: str, folder: Path) -> tuple[Finding, ...]:
    file = folder / "net.py"
    file.write_text(source)
    return analyse([(file, "net.py")]).findings


def test_a_handler_of_the_caller_does_not_make_an_import_optional(events):
    body = "try:\n                helper()\n            except Exception:\n                pass"
    source = HEAD.replace("{body}", body) + "\n    def helper():\n        from not_there import scale\n"
    assert [e.optional for e in events(source) if isinstance(e, Import)] == [False]
