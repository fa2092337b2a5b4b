"""What calls may pass: by tables, in any number, or not at all."""

from __future__ import annotations

from graphdoctor.static.domain.events import Call, Convert, SetAttr, Truth
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, Tensor


def functions(found):
    return sorted({e.site.function for e in found if isinstance(e, Truth)})


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


def test_what_is_passed_in_any_number_ends_before_a_flag(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, *args):
                return self.step(*args)

            def step(self, x: torch.Tensor, checked=False):
                return x * 2 if checked and x.sum() > 0 else x
        """
    )
    assert functions(found) == []


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


def test_what_stands_behind_a_star_may_be_any_of_many_arguments(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, count):
                super().__init__()
                self.count = count

            def forward(self, x: torch.Tensor):
                return self.step(*x.split(self.count), self.training)

            def step(self, *args):
                flag = args[-1]
                return args[0] * 2 if flag else args[0]
        """
    )
    assert functions(found) == []


def test_the_bias_of_a_recurrent_layer_is_a_flag(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = torch.nn.GRUCell(2, 2)
                self.linear = torch.nn.Linear(2, 2)

            def forward(self, x):
                return self.plain(x) if self.cell.bias else self.asked(x)

            def plain(self, x):
                return x if self.cell.bias else -x

            def asked(self, x):
                return x if self.linear.bias else -x
        """
    )
    assert functions(found) == ["Net.asked"]


def test_what_only_some_tables_pass_to_a_library_is_what_they_pass(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, is_wide):
                super().__init__()
                self.options = {"dim": 1} if is_wide else {}

            def forward(self, x):
                return x.sum(**self.options)
        """
    )
    passed = [e.kwargs["dim"] for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.sum"]
    assert passed == [Const(1)]


def test_tensors_in_a_row_of_unknown_length_are_not_taken_for_a_number(events):
    found = events(
        """
        import math

        import torch

        def ridge(x, y, scale: float = 10, mask=None):
            return (x + y) / math.exp(scale) + math.exp(mask)

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.point = torch.nn.Parameter(torch.ones(2))

            def forward(self):
                return ridge(*self.point)
        """
    )
    assert [e.site.module.code(e.node) for e in found if isinstance(e, Convert)] == ["math.exp(mask)"]


def test_a_buffer_that_is_changed_in_place_stays_one(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.kind = kind
                self.register_buffer("seen", torch.zeros(1))

            def forward(self, x):
                if self.kind == "mean":
                    self.seen += 1
                else:
                    self.seen.data += 1
                return x * self.seen
        """
    )
    stored = [e.receiver for e in found if isinstance(e, SetAttr) and e.name == "data"]
    assert stored and all(type(each) is Tensor and each.owned for each in stored)


CONVERTED = """
    from functools import wraps
    import numpy as np
    import torch

    def converted(fn):
        @wraps(fn)
        def inner(model, *args, **kwargs):
            every = (*args, *kwargs.values())
            every = tuple(map(lambda t: torch.from_numpy(t) if isinstance(t, np.ndarray) else t, every))
            kwargs = dict(zip(kwargs.keys(), every[len(args):]))
            return fn(model, *every[:len(args)], **kwargs)

        return inner

    class Net(torch.nn.Module):
        @converted
        def forward(self, *args, number{default}):
            return args[0] * 2 if number > 2 else args[0]
"""


def test_an_option_from_a_dict_that_mixes_tensors_with_other_values_may_be_any_of_them(events):
    def asked(default):
        found = events(CONVERTED.replace("{default}", default))
        return [e for e in found if isinstance(e, Truth) and any(isinstance(o, Tensor) for o in options(e.value))]

    assert len(asked("")) == 1
    assert not asked("=None")
