"""What decorators of other modules do to what they decorate."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call

TABLE = """
import functools

TABLE = {}


def chosen(cls=None, *, layout="rows"):
    def decorate(cls):
        original_init = cls.__init__
        original = cls.forward

        @functools.wraps(original_init)
        def __init__(self, config):
            original_init(self, config)
            self.config = config

        @functools.wraps(original)
        def forward(self, *args):
            run = TABLE.get(self.config._kernel, original)
            return run(self, *args)

        cls.__init__ = __init__
        cls.forward = forward
        return cls

    return decorate if cls is None else decorate(cls)


def chosen_method(fn):
    def wrapper(self, *args):
        return get_kernel(self.config.kernel, fn)(self, *args)

    return wrapper


def traced(fn):
    def wrapper(self, *args):
        logged = TABLE.get(self.config.kernel, fn)
        logged(self, *args)
        return fn(self, *args)

    return wrapper


def constant(fn):
    setattr(fn, "_dynamo_marked_constant", True)
    return fn


def bound(fn):
    def wrapper(self, *args):
        run = functools.partial(self.config.kernel, fn)
        return run(self, *args)

    return wrapper


def get_kernel(name, default):
    return TABLE.get(name, default)
"""

MODEL = """
import torch.nn as nn
from HOME import bound, chosen, chosen_method, constant, traced

CLASS
class Experts(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    METHOD
    def forward(self, x):
        print(x)
        return x
"""

LAZY = """
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import bound, chosen, chosen_method, constant, traced
else:
    sys.modules[__name__] = make_lazily(__name__)
"""


def untaken(events, on_class: str = "", on_method: str = "", home: str = "table", after: str = "", **files: str):
    source = MODEL.replace("CLASS", on_class).replace("METHOD", on_method).replace("HOME", home) + after
    found = events(source, **(files or {"table": TABLE}))
    return [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]


@pytest.mark.parametrize(
    ("on_class", "on_method"),
    [("@chosen", ""), ("@chosen(layout='columns')", ""), ("", "@chosen_method")],
)
def test_the_default_of_a_lookup_may_not_run(events, on_class, on_method):
    assert untaken(events, on_class, on_method) == [True]


@pytest.mark.parametrize("on_method", ["", "@traced", "@bound"])
def test_what_a_decorator_calls_or_binds_runs(events, on_method):
    assert untaken(events, "", on_method) == [False]


def test_a_file_that_names_what_the_lookup_asks_for_chooses_itself(events):
    after = "\n\ndef build(config):\n    config._kernel = 'eager'\n    return Experts(config)\n"
    assert untaken(events, "@chosen", after=after) == [False]


def test_a_decorator_of_a_package_that_makes_its_names_when_they_are_asked_for(events, tmp_path):
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text(LAZY)
    assert untaken(events, "@chosen()", home="kernels", kernels__table=TABLE) == [True]


@pytest.mark.parametrize("mark", ["@constant", "@functools.lru_cache\n@constant"])
@pytest.mark.parametrize("here", [True, False])
def test_a_function_whose_result_is_marked_as_a_constant_is_not_looked_into(events, mark, here):
    probe = f"{mark}\ndef probe() -> bool:\n    print(1)\n    return True\n"
    use = "\ndef f(x: torch.Tensor):\n    return x.exp() if probe() else x.sin()\n\ntorch.compile(f)\n"
    own = f"import functools\nimport torch\n{'from table import constant' if here else 'from probes import probe'}\n"
    others = {} if here else {"probes": f"import functools\nfrom table import constant\n{probe}"}
    found = events(own + (probe if here else "") + use, table=TABLE, **others)
    assert [e.qualname for e in found if isinstance(e, Call)] == ["torch.Tensor.exp", "torch.Tensor.sin"]


AROUND = """
import functools
import pickle
import torch


def keyed(method=None, name=None):
    if method is None:
        return functools.partial(keyed, name=name)

    @functools.wraps(method)
    def inner(self, *args, **kwargs):
        key = pickle.dumps(kwargs)
        if key in self.known:
            print("known")
        return method(self, *args, **kwargs)

    return inner


def either(method=None, name=None, free=False):
    if free:
        return as_it_is(function=method)
    else:
        return keyed(method=method, name=name)


def uncompiled(function):
    return torch.compiler.disable(function)


def as_it_is(function=None):
    return function


old_or_new = getattr(getattr(torch, "compiler", None), "disable", None) or as_it_is
"""


@pytest.mark.parametrize(
    ("decorator", "sure"),
    [
        ("@keyed", ["pickle.dumps"]),
        ("@keyed(name='step')", ["pickle.dumps"]),
        ("@either", ["pickle.dumps"]),
        ("@either(name='step')", ["pickle.dumps"]),
        ("@either(free=True)", []),
        ("@uncompiled", ["torch.compiler.disable.__call__"]),
        ("@old_or_new", ["torch.compiler.disable.__call__"]),
    ],
)
def test_what_a_decorator_of_another_module_puts_around_a_call(events, decorator, sure):
    """Not what stands there under a condition: of its values nothing is known."""
    source = (
        "import torch\nfrom around import either, keyed, old_or_new, uncompiled\n\nclass Net(torch.nn.Module):\n"
        f"    {decorator}\n    def step(self, x):\n        return x\n\n"
        "    def forward(self, x):\n        return self.step(x) + self.step(x + 1)\n"
    )
    found = [e for e in events(source, around=AROUND) if isinstance(e, Call) and not e.site.untaken]
    assert list(dict.fromkeys(e.qualname for e in found)) == sure


@pytest.mark.parametrize(
    ("decorator", "parameters", "followed"),
    [
        ("@kernels.prim_func", "x: kernels.Tensor([4], 'int32')", False),
        ("@numba.njit", "x", False),
        ("@tiles.jit(out=[])", "x", False),
        ("@checked", "x: Float[Tensor, 'n']", True),
        ("@torch.no_grad()", "x", True),
    ],
)
def test_what_another_compiler_reads_is_not_followed(events, decorator, parameters, followed):
    source = (
        "import torch\nimport numba, kernels, tiles\nfrom checks import checked, Float\nfrom torch import Tensor\n\n"
        f"{decorator}\ndef step({parameters}):\n    return torch.sort(x)\n\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return step(torch.neg(x))\n"
    )
    called = [e.qualname for e in events(source) if isinstance(e, Call)]
    assert "torch.neg" in called and ("torch.sort" in called) is followed
