"""Which code a call reaches: through classes, decorators and packages of several shapes."""

from __future__ import annotations

import textwrap

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth
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


def test_a_method_that_another_module_wraps_is_followed(events):
    found = events(
        """
        from base import Metric

        class Largest(Metric):
            def update(self, x):
                self.value = x if x.max() > 0 else -x
        """,
        base="""
        import functools
        import torch

        class Metric(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.update = self._wrap(self.update)

            def _wrap(self, update):
                @functools.wraps(update)
                def wrapped(*args, **kwargs):
                    self.calls = 1
                    return update(*args, **kwargs)
                return wrapped

            def forward(self, x: torch.Tensor):
                return self.update(x)
        """,
    )
    assert functions(found) == ["Largest.update"]


def test_what_only_some_tables_pass_by_name_may_be_left_out(events):
    found = events(
        """
        import torch

        def plain(x):
            return x

        class Solver:
            def __init__(self, *, grid=None):
                self.grid = self.made if grid is None else grid

            def made(self, x):
                return x if x.sum() > 0 else -x

        class Net(torch.nn.Module):
            def __init__(self, is_plain):
                super().__init__()
                self.options = {"grid": plain} if is_plain else {}

            def forward(self, x):
                return Solver(**self.options).grid(x)
        """
    )
    assert functions(found) == ["Solver.made"]


def test_an_unknown_table_may_pass_what_only_a_name_takes(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, options):
                super().__init__()
                self.options = options

            def forward(self, x):
                return self.step(x, **self.options)

            def step(self, x, *, checked=False):
                return x * 2 if checked and x.sum() > 0 else x
        """
    )
    assert functions(found) == ["Net.step"]


def test_any_number_of_arguments_may_be_passed_to_an_entry(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, *args):
                return self.step(*args)

            def step(self, x: torch.Tensor):
                return x if x.sum() > 0 else -x
        """
    )
    assert functions(found) == ["Net.step"]


def test_what_python_looks_for_may_not_be_there(events):
    found = events(
        """
        import importlib.util
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                if importlib.util.find_spec("fast_things") is not None:
                    return x * 2
                return x if x.sum() > 0 else -x
        """
    )
    assert functions(found) == ["Net.forward"]


def test_a_mode_may_be_another_and_its_table_still_has_the_usual_one(events):
    found = events(
        """
        import torch

        def usual(x):
            return x if x.sum() > 0 else -x

        TABLE = {"usual": {"fast": usual}, **{name: name.upper() for name in "abcdefgh"}}
        TABLE["other"], TABLE["third"], TABLE["fourth"] = 1, 2.0, None
        TABLE["fifth"], TABLE["sixth"], TABLE["seventh"] = torch.ones(2), [1], len

        class Net(torch.nn.Module):
            def __init__(self, mode="usual"):
                super().__init__()
                self.mode = mode

            def forward(self, x):
                if self.mode == "unusual":
                    return x if x.max() > 0 else -x
                return TABLE[self.mode]["fast"](x)
        """
    )
    assert functions(found) == ["Net.forward", "usual"]


def test_torch_that_a_package_hands_on_is_torch(events):
    found = events(
        """
        from backend import torch

        def f(x):
            return x if torch.isnan(x) else -x

        def graphdoctor_target():
            import torch

            return f, (torch.rand(2),)
        """,
        backend="import importlib\n\nimportlib.import_module('backends')\n",
    )
    assert functions(found) == ["f"]
