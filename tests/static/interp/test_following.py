"""Which code a call reaches: through classes, decorators and packages of several shapes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.values import Tensor
from tests.static.conftest import places


def functions(found):
    return sorted({e.site.function for e in found if isinstance(e, Truth)})


def test_an_inherited_forward_reaches_what_each_class_overrides(events):
    found = events(
        """
        import torch

        class Base(torch.nn.Module):
            def forward(self, x):
                return self.step(x)

            def step(self, x):
                raise NotImplementedError

        class First(Base):
            def step(self, x):
                return x if x.sum() > 0 else -x

        class Second(Base):
            def step(self, x):
                return x if x.max() > 0 else -x
        """
    )
    assert functions(found) == ["First.step", "Second.step"]


def test_super_with_arguments_is_followed(events):
    found = events(
        """
        import torch

        def positive(x):
            return x if x.sum() > 0 else -x

        class Base(torch.nn.Module):
            def __init__(self, activation):
                super(Base, self).__init__()
                self.activation = activation

        class Net(Base):
            def __init__(self):
                super(Net, self).__init__(positive)

            def forward(self, x):
                return self.activation(x)
        """
    )
    assert functions(found) == ["positive"]


def test_what_a_decorator_makes_of_a_method_is_bound(events):
    found = events(
        """
        import functools
        import torch

        def cached(function):
            @functools.wraps(function)
            def wrapper(self, *args, **kwargs):
                return function(self, *args, **kwargs)
            return wrapper

        class Net(torch.nn.Module):
            @cached
            def hashes(self, count, x):
                return x * 2 if count > 1 else x if x.sum() > 0 else -x

            def forward(self, x):
                return self.hashes(x.shape[0], x)
        """
    )
    assert [e.value.is_known for e in found if isinstance(e, Truth)] == [True]


def test_a_class_with_its_own_call_is_entered_there(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __call__(self, x):
                if x.sum() > 0:
                    return super().__call__(x)
                return x

            def forward(self, x):
                return x * 2
        """
    )
    assert functions(found) == ["Net.__call__"]


def test_a_package_whose_name_begins_with_torch_is_a_package(events, tmp_path):
    package = tmp_path / "torchthings"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ops.py").write_text("def clip(x):\n    return x if x.max() > 1 else x * 2\n")
    found = events(
        """
        import torch
        from torchthings import ops

        class Net(torch.nn.Module):
            def forward(self, x):
                return ops.clip(x)
        """
    )
    assert functions(found) == ["clip"]


def test_a_folder_without_init_belongs_to_the_package_around_it(tmp_path):
    from graphdoctor.lint.engine import analyse

    folder = tmp_path / "things" / "layers"
    folder.mkdir(parents=True)
    (tmp_path / "things" / "__init__.py").write_text("")
    (folder / "ops.py").write_text("def clip(x):\n    return x if x.max() > 1 else x * 2\n")
    net = folder / "net.py"
    net.write_text(
        textwrap.dedent(
            """
            import torch
            from things.layers.ops import clip

            class Net(torch.nn.Module):
                def forward(self, x):
                    return clip(x)
            """
        )
    )
    found = analyse([(net, "net.py"), (folder / "ops.py", "ops.py")]).findings
    assert [(f.location.path, f.location.line) for f in found] == [("ops.py", 2)]


def test_one_of_many_classes_is_chosen(events):
    classes = "".join(
        f"class C{n}:\n    def step(self, x):\n        return x if x.sum() > {n} else -x\n\n\n" for n in range(9)
    )
    chosen = "".join(f"    if name == 'c{n}':\n        return C{n}\n" for n in range(9))
    found = events(
        "import torch\n\n\n"
        + classes
        + f"def select(name):\n{chosen}    raise ValueError(name)\n\n\n"
        + "class Net(torch.nn.Module):\n    def forward(self, x, name: str):\n        return select(name)().step(x)\n"
    )
    assert functions(found) == [f"C{n}.step" for n in range(9)]


def test_a_setting_that_is_off_by_default_may_be_on(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, tails=None, drop=0.0, check=False):
                super().__init__()
                self.tails, self.drop, self.check = tails, drop, check

            def forward(self, x):
                if self.tails is not None and x.sum() > 0:
                    return x
                if self.drop > 0 and x.max() > 0:
                    return x
                if self.check and x.min() > 0:
                    return x
                return -x
        """
    )
    assert len(places(found, Truth)) == 3


def test_unpacking_keeps_the_parts_apart_where_one_alternative_is_unknown(events):
    found = events(
        """
        import torch

        def embed(x):
            return x.flatten(1), (x.shape[0], x.shape[1])

        class Net(torch.nn.Module):
            def __init__(self, other):
                super().__init__()
                self.embed = embed if other else other

            def forward(self, x):
                x, size = self.embed(x)
                if size:
                    return x
                return -x
        """
    )
    assert places(found, Truth) == []


def test_an_autograd_function_gets_its_context_before_any_number_of_arguments(events):
    found = events(
        """
        import torch

        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx, left, *args):
                ctx.left = left
                if left:
                    return args[0]
                return -args[0]

        class Net(torch.nn.Module):
            def forward(self, x):
                return Solve.apply(False, x)
        """
    )
    assert places(found, Truth) == []


def test_a_function_that_is_given_a_sparse_tensor_is_not_blamed(tmp_path):
    from graphdoctor.lint.engine import analyse

    file = tmp_path / "net.py"
    file.write_text(
        textwrap.dedent(
            """
            import torch

            def pick(x, index):
                return x.index_select(0, index)

            class Net(torch.nn.Module):
                def forward(self, x, index):
                    return pick(x.to_sparse(), index)
            """
        )
    )
    found = analyse([(file, "net.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD509", 9)]


def test_a_package_that_imports_its_own_modules_is_followed(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    texts = {
        "__init__": "from package import settings, model\n",
        "settings": "def on():\n    return False\n",
        "model": "import torch\nfrom package import settings\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        if settings.on() and x.sum() > 0:\n            return x\n        return -x\n",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    assert not analyse([(package / "model.py", "model.py")]).findings


def test_the_call_of_a_transform_runs_its_own_method(events):
    found = events(
        """
        import torch
        from torch.distributions import Transform

        class Flow(Transform):
            def _call(self, x):
                return x if x.sum() > 0 else -x

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.flow = Flow()

            def forward(self, x: torch.Tensor):
                return self.flow(x)
        """
    )
    assert functions(found) == ["Flow._call"]


@pytest.mark.parametrize(
    ("promise", "error", "decided"),
    [
        pytest.param(" -> torch.Tensor", "NotImplementedError", ["if"], id="a-tensor"),
        pytest.param(" -> torch.Tensor", "NotImplementedError('later')", ["if"], id="a-tensor-of-subclasses"),
        pytest.param("", "NotImplementedError", [], id="nothing"),
        pytest.param(" -> int", "NotImplementedError", [], id="a-number"),
        pytest.param(" -> torch.Tensor", "ImportError", [], id="missing"),
    ],
)
def test_an_abstract_method_gives_what_it_promises_for_subclasses(events, promise, error, decided):
    found = events(f"""
        import torch

        class Base(torch.nn.Module):
            def forward(self, x):
                y = self.weight(x)
                if y > 0:
                    return x
                return None if y is None else -x

            def weight(self, x){promise}:
                raise {error}
    """)
    assert [e.context for e in found if isinstance(e, Truth) and isinstance(e.value, Tensor)] == decided


def test_a_lazy_property_of_torch_is_read_as_a_property(events):
    found = events("""
        import torch
        from torch.distributions.utils import lazy_property

        class Mixture:
            def __init__(self, weights: torch.Tensor):
                self.weights = weights

            @lazy_property
            def total(self):
                return self.weights.sum()

        class Net(torch.nn.Module):
            def forward(self, x):
                return x if Mixture(x).total > 0 else -x
    """)
    assert functions(found) == ["Net.forward"]


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        ("tuple[Tensor, Tensor, int]", [8]),
        ("tuple[Tensor, Tensor]", []),
        ("Tensor | tuple[Tensor, int, int]", []),
        ("Tensor | tuple[Tensor, Tensor, int]", [8]),
    ],
)
def test_what_is_unpacked_is_a_tuple_of_that_length(tmp_path: Path, annotation: str, found: list[int]) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nfrom torch import Tensor, nn\n\n\nclass Net(nn.Module):\n"
        f"    def forward(self, x: Tensor, cond: {annotation}):\n        rows, length, most = cond\n"
        "        return x[:length] + rows\n"
    )
    assert [finding.location.line for finding in analyse([(file, "net.py")]).findings] == found
