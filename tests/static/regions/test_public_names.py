"""What a package hands to its users is entered, other functions are not."""

from __future__ import annotations

from textwrap import dedent

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth

SOLVER = """
    import torch
    from torch import Tensor

    def solve(start: Tensor, steps):
        return _step(start) if start.sum() > 0 else start

    def _step(value):
        return value * 2 if value.max() > 1 else value

    def count(steps: int):
        return steps if steps else 1
"""


def functions(found):
    return sorted({e.site.function for e in found if isinstance(e, Truth)})


@pytest.mark.parametrize(
    "init",
    ["from .model import solve\n", "from .model import *\n", "from . import model\n"],
)
def test_a_function_that_the_package_exports_is_entered(events, tmp_path, init):
    (tmp_path / "__init__.py").write_text(init)
    assert functions(events(SOLVER)) == ["_step", "solve"]


def test_a_function_that_all_names_is_entered(events):
    assert functions(events(SOLVER + "\n    __all__ = ['solve']\n")) == ["_step", "solve"]


@pytest.mark.parametrize("init", ["", "from .other import solve\n", "import torch\n"])
def test_a_function_that_nobody_exports_is_not_entered(events, tmp_path, init):
    (tmp_path / "__init__.py").write_text(init)
    assert functions(events(SOLVER)) == []


def test_what_a_package_is_made_of_in_its_init_file_is_entered(tmp_path):
    file = tmp_path / "flows" / "__init__.py"
    file.parent.mkdir()
    file.write_text(dedent(SOLVER))
    found = analyse([(file, "flows/__init__.py")]).findings
    assert [finding.function for finding in found if finding.rule == "GD201"] == ["solve", "_step"]


def test_a_function_without_tensors_is_not_entered(events):
    found = events(
        """
        import torch

        def report(lines, path):
            print(lines)

        __all__ = ["report"]
        """
    )
    assert found == []


def test_a_function_that_prepares_a_program_is_none_that_is_compiled(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import json\nimport torch\nfrom torch import Tensor, nn\n\n__all__ = ['load', 'build', 'norm', 'count']\n\n\n"
        "def load(x: Tensor, path):\n    with open(path) as f:\n        print(json.load(f))\n    return x * 2\n\n\n"
        "def build(x: Tensor):\n    print(x)\n    return nn.Linear(x.shape[0], 2)\n\n\n"
        "def norm(x: Tensor):\n    print(x)\n    return x / x.sum()\n\n\n"
        "calls = []\n\n\ndef count(x: Tensor):\n    calls.append(x)\n    return x * 2\n"
    )
    assert [(each.rule, each.function) for each in analyse([(file, "model.py")]).findings] == [("GD101", "norm")]


def test_an_explicit_region_is_the_only_one(events):
    assert functions(events(SOLVER + "\n    __all__ = ['solve']\n    torch.compile(_step)\n")) == ["_step"]


def test_types_of_several_types_are_read_where_they_are_named(events):
    found = events(
        """
        from typing import Sequence, Union
        import torch
        from torch import Tensor

        Vector = Union[Sequence[float], Tensor]

        def rising(times: Vector):
            return all(a < b for a, b in zip(times[:-1], times[1:])) if torch.is_tensor(times) else True

        __all__ = ["rising"]
        """
    )
    assert functions(found) == ["rising"]


FLOW = """
    import torch

    class Flow(torch.nn.Module):
        def forward(self, x, context=None):
            return x * 2

        def inverse(self, x, context=None):
            return x if x.sum() > 0 else -x

        def plot(self, x, title):
            return x if x.sum() > 0 else -x

        def _undo(self, x, context=None):
            return x if x.sum() > 0 else -x

    class Other(Flow):
        pass
"""


@pytest.mark.parametrize("exported", ["Flow", "Other"])
def test_what_takes_the_arguments_of_forward_is_entered_too(events, tmp_path, exported):
    (tmp_path / "__init__.py").write_text(f"from .model import {exported}\n")
    assert functions(events(FLOW)) == ["Flow.inverse"]


@pytest.mark.parametrize(
    ("signature", "entered"),
    [
        pytest.param("inverse(self, z, x=None, context=None)", ["Flow.inverse"], id="other-names"),
        pytest.param("inverse(self, z, steps)", [], id="more-of-them"),
        pytest.param("decode(self, z, context=None)", [], id="another-method"),
    ],
)
def test_so_is_an_inverse_that_takes_as_much_under_other_names(events, tmp_path, signature, entered):
    (tmp_path / "__init__.py").write_text("from .model import Flow\n")
    before, _, after = FLOW.partition("inverse(self, x, context=None)")
    found = events(before + signature + after.replace("x if x.sum() > 0 else -x", "z if z.sum() > 0 else -z", 1))
    assert functions(found) == entered


def test_methods_of_a_class_that_nobody_exports_are_not_entered(events):
    assert functions(events(FLOW)) == []


def test_what_a_function_passes_on_to_one_that_needs_a_tensor_is_a_tensor(events):
    found = events(
        """
        import torch

        def factor(matrix, upper=False):
            return _factor(matrix)

        def _factor(matrix):
            lower, info = torch.linalg.cholesky_ex(matrix)
            return lower if info.any() else torch.linalg.inv(matrix)

        __all__ = ["factor"]
        """
    )
    assert functions(found) == ["_factor"]


@pytest.mark.parametrize(
    ("promise", "end", "entered"),
    [
        (" -> torch.Tensor", "return x", True),
        ("", "return x", True),
        (" -> bool", "return True", False),
        (" -> None", "x.zero_()", False),
        ("", "x.zero_()", False),
    ],
)
def test_nobody_compiles_a_function_that_gives_no_tensor(events, promise, end, entered):
    found = events(
        f"""
        import torch

        def run(x: torch.Tensor){promise}:
            if x.sum() > 0:
                print("large")
            {end}

        __all__ = ["run"]
        """
    )
    assert (functions(found) == ["run"]) is entered


def test_public_functions_may_not_cost_more_than_they_are_worth(events, monkeypatch):
    monkeypatch.setattr("graphdoctor.static.regions.regions._MOST_STEPS", 5)
    found = events(SOLVER + "\n    __all__ = ['solve']\n", everywhere=True)
    assert functions(found) == []


@pytest.mark.parametrize(
    ("use", "entered"),
    [("x = data.view(-1)", True), ("x = data.sum()", True), ("x = torch.rand(4, device=data.device)", False)],
)
def test_a_device_alone_makes_no_tensor(events, use, entered):
    found = events(
        f"""
        import torch

        def run(data):
            {use}
            return x if x.max() > 0 else -x

        __all__ = ["run"]
        """
    )
    assert (functions(found) == ["run"]) is entered


def test_an_override_takes_what_the_method_that_it_overrides_declares(events):
    found = events("""
        import torch
        from torch import Tensor, nn

        __all__ = ["Bank", "Sums"]

        class Bank(nn.Module):
            def forward(self, wave: Tensor):
                return wave

            def after(self, spec: Tensor, rate: int = 1):
                return spec

            def before(self, spec: Tensor):
                return spec

        class Sums(Bank):
            def after(self, spec, rate=None):
                return spec if spec.sum() > 0 else -spec

            def before(self, spec):
                return spec if spec.sum() > 1 else -spec
    """)
    assert [e.site.function for e in found if isinstance(e, Truth)] == ["Sums.before"]


def test_methods_of_a_module_without_a_forward_that_promise_a_tensor_are_regions(events):
    found = events("""
        import torch
        from torch import Tensor, nn

        __all__ = ["Potential"]

        class Potential(nn.Module):
            def __init__(self, epsilon: float = 0.0):
                super().__init__()
                self.register_buffer("epsilon", torch.tensor(epsilon))

            def background(self, volume) -> Tensor:
                return self.epsilon if self.epsilon == 0.0 else self.epsilon / volume

            def table(self, count: int) -> Tensor:
                return self.epsilon.expand(count) if self.epsilon == 1.0 else self.epsilon

            def drawn(self, count) -> Tensor:
                return torch.rand(count) if self.epsilon == 2.0 else self.epsilon

            def summary(self, name):
                return name if self.epsilon == 3.0 else self.epsilon

            def whole(self) -> Tensor:
                return -self.epsilon if self.epsilon == 4.0 else self.epsilon
    """)
    assert [e.site.function for e in found if isinstance(e, Truth)] == ["Potential.background"]


HELPERS = """
    import random

    import torch
    from torch import Tensor
    from torch.utils.data import Sampler

    {listed}

    class Rows(Sampler):
        pass

    def largest(x: Tensor, clip: float = 0.2) -> Tensor:
        return x.max() if x.sum() > clip else x

    def both(x: Tensor, y) -> tuple[Tensor, Tensor]:
        return (x, y) if x.sum() > 0 else (y, x)

    def of_scales(outputs: list[list[Tensor]]) -> tuple[Tensor, list[Tensor]]:
        return (outputs[0][0], []) if outputs[0][0].sum() > 0 else (outputs[-1][0], outputs[0])

    def of_sizes(sizes: list[int]) -> Tensor:
        return torch.zeros(sizes) if torch.tensor(sizes).sum() > 0 else torch.ones(1)

    def as_number(x: Tensor) -> float:
        return x.max().item() if x.sum() > 0 else 0.0

    def unknown(x, y) -> Tensor:
        return x if x.sum() > 0 else y

    def masked(x: Tensor) -> Tensor:
        return x if x.sum() > random.random() else -x

    def collated(x: Tensor) -> Tensor:
        return x if torch.utils.data.get_worker_info() is None and x.sum() > 0 else x.share_memory_()

    def drawn(count: int) -> Tensor:
        return torch.rand(count) if torch.rand(1) > 0.5 else torch.zeros(count)

    def _filled(x: Tensor) -> Tensor:
        return x.uniform_() if x.sum() > 0 else x.normal_()

    def _inner(x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    def _reference(x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    class Tables:
        def __init__(self, x):
            self.table = _inner(x)
"""


@pytest.mark.parametrize(
    ("listed", "in_package", "regions"),
    [
        pytest.param("", True, {"largest", "both", "of_scales", "_reference"}, id="package"),
        pytest.param("", False, set(), id="script"),
        pytest.param("__all__ = []", True, set(), id="listed"),
    ],
)
def test_functions_of_tensors_in_a_package_are_regions(events, tmp_path, listed, in_package, regions):
    if in_package:
        (tmp_path / "__init__.py").touch()
    assert {e.site.function for e in events(HELPERS.format(listed=listed)) if isinstance(e, Truth)} == regions
