"""A library function that Dynamo does not trace.

What: Functions written in C, and Python functions that rest on them: `hashlib`, `uuid`, `ctypes`, `gc`, `bisect`,
`heapq`, `statistics`, `decimal`, `zlib`, `base64`, `threading`; also the builtin `pow(t, 2)` on a tensor,
`x.as_subclass(torch.Tensor)` or of a tensor that is of a subclass already, an operator between a tensor and an object
of a class of yours, `ast.literal_eval`,
`groupdict()` of a match, numpy arrays of objects, functions of numpy that torch does not have (`np.nanmean`), methods
of those that it has (`np.subtract.outer`), and the making of pydantic's models and of distributions with
`validate_args=True`, and the first `kl_divergence` of two classes of distributions; methods of an object that compiled
code makes, where they use a default or a variable of a closure that is a tensor or another object; also functions of
scipy, sklearn, pandas, networkx, OpenCV, PIL and other packages that work on data of their own, tokenizers, what logs
experiments (wandb, mlflow, the `SummaryWriter` of tensorboard), the
extension modules of the project, in C++, CUDA, C or Cython, and functions that numba compiles.

Why: Dynamo interprets Python bytecode and knows a fixed set of C functions. At a call of any other it splits
the graph, runs it in Python, and compiles the rest separately. Some packages it skips altogether
(`THIRDPARTY_SKIPLIST` in `torch/_dynamo/trace_rules.py`); others come to such a function soon.

Fix: Call it in `__init__` or at module level and keep the result. Write `t**2` for `pow(t, 2)`, `x.detach()` for
`Variable(x)`, and torch functions where data is meant: `torch.bucketize` for `bisect`, `x.mean()` for
`statistics.mean`. Return what is logged, and log it after the call of the model. A function that is pure and returns
constants can be marked with `torch.compiler.assume_constant_result`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import by_name, first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.old_forms import drawn_integers, plain_variable
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.fixes.python.idioms import as_list, plain_isinstance, power
from graphdoctor.fixes.python.layers import plain_module
from graphdoctor.fixes.python.setup_calls import set_up_in_init
from graphdoctor.static.domain.decorators import CACHED_CLASSMETHOD
from graphdoctor.static.domain.events import Call, GetAttr, ReadItem
from graphdoctor.static.domain.torch_tables import (
    ASKED_FOR_PARAMETERS,
    EXTENSION,
    HOST_PACKAGES,
    NUMPY_INDEXED,
    TRACKERS,
    is_tokenizer,
    within,
)
from graphdoctor.static.domain.value_functions import may_be_tensor, options
from graphdoctor.static.domain.values import (
    Const,
    External,
    ExternalObject,
    Instance,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.library_models.made_anew import UNBUILT_CLOSURE, UNBUILT_DEFAULT
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._numpy_functions import GIVE_NO_TENSOR, UFUNC_METHODS, WITH_END, WITHOUT_TENSORS
from ._shared import certainty, code, consequence, leaves_function
from ._untraced_functions import (
    ARRAYS,
    AS_SUBCLASS,
    DECORATORS,
    DISABLING,
    DISTRIBUTIONS,
    DIVERGENCES,
    GETTERS,
    HOLDERS,
    INSTEAD,
    MADE_BEFORE,
    OBJECTS,
    OF_MATCHES,
    OF_MODULES,
    OF_OBJECT,
    ON_SOME,
    ONE_FORMULA,
    UNTRACED,
    WITH_LISTS,
)

CODE = "GD405"
NAME = "untraceable-call"
SEVERITY = "error"
GB_IDS = (
    "GB0007", "GB0156", "GB0134", "GB0147", "GB0059", "GB0142", "GB0092", "GB0299", "GB0033", "GB0055", "GB0107",
    "GB0008", "GB0116", "GB0124", "GB0208", "GB0294", "GB0467", "GB0001", "GB0292", "GB8335",
)  # fmt: skip
TORCH = ">=2.6"

BREAKS = (
    """\
import pickle


def f(x, **options):
    key = pickle.dumps(options)  # GB0007
    return x * 2
""",
    """\
import numpy as np


def f(x):
    seeds = np.random.SeedSequence(3)  # GB0156
    return x * 2
""",
    """\
import torch


def f(x):
    return x * 2 if torch.jit.isinstance([x], list[torch.Tensor]) else x  # GB0007
""",
    """\
import numpy as np


def f(x):
    rows = np.empty(4, dtype=object)  # GB0055
    return x * 2
""",
    """\
import hashlib


def f(x):
    digest = hashlib.md5(b"abc").hexdigest()  # GB0007 GB0156
    return x * 2
""",
    """\
import uuid


def f(x):
    name = uuid.uuid4()  # GB0007
    return x * 2
""",
    """\
import bisect


def f(x):
    return x * bisect.bisect_left([1, 2, 3], 2)  # GB0007
""",
    """\
import statistics


def f(x):
    return x * statistics.mean([1, 2, 3])  # GB0134
""",
    """\
from decimal import Decimal


def f(x):
    limit = Decimal("1.5")  # GB0147
    return x * 2
""",
    """\
import ctypes


def f(x):
    number = ctypes.c_int(3)  # GB0156
    return x * 2
""",
    """\
# torch <2.14
def f(x):
    return pow(x, 2)  # GB0059
""",
    """\
import queue

jobs = queue.Queue()


def f(x):
    jobs.put(1)  # GB0142
    return x * 2
""",
    """\
import string


def f(x):
    text = string.Template("$a").substitute(a=1)  # GB0092 GB0299
    return x * 2
""",
    """\
# torch >=2.9
def f(x):
    return x.clone().random_(0, 3)  # GB0107
""",
    """\
def f(x):
    signed = x.is_signed()  # GB0208
    return x * 2
""",
    """\
import torch


def f(x):
    return torch.cov(x)  # GB0033
""",
    """\
# torch >=2.13
import torch


def f(x):
    return x * torch.nn.init.trunc_normal_(torch.empty(8))  # GB0124
""",
    """\
# torch <2.15
import torch


def f(x):
    bits = torch.frombuffer(bytearray(16), dtype=torch.float32)  # GB0055 GB0059
    return x * 2
""",
    """\
import numpy as np


def f(x):
    middle = np.interp(0.5, [0, 1], [0, 2])  # GB0294
    return x * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        next(self.children()).register_forward_hook(lambda module, args, output: output * 2)  # GB0467
        return self.layer(x)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.GaussianNLLLoss()

    def forward(self, x):
        return self.loss(x, torch.zeros_like(x), torch.ones_like(x))  # GB0033
""",
    """\
import networkx


def f(x):
    order = networkx.path_graph(3)  # GB0007
    return x * 2
""",
    """\
# torch <2.15
import torch


def f(x):
    if torch._C._is_tracing():  # GB0208
        return torch.jit.script(f)(x)
    return x * 2
""",
    """\
import networkx
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tree = networkx.path_graph(3)

    def forward(self, x):
        return x * self.tree.degree(1)  # GB0142
""",
    """\
# torch >=2.9
import torch


def f(x):
    return x.as_subclass(torch.Tensor) * 2  # GB0001
""",
    """\
import torch
import torch.nn as nn


class Rotation:
    def __init__(self, matrix):
        self.matrix = matrix

    def __matmul__(self, points):
        return points @ self.matrix


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(8))

    def forward(self, x):
        rotation = Rotation(self.matrix)
        return rotation @ x  # GB0055
""",
    """\
# torch >=2.10
import torch


class Noisy(torch.distributions.Normal):
    def __radd__(self, x):
        return x + self.loc


def f(x):
    noise = Noisy(x, x.exp())
    return x + noise  # GB0055


def graphdoctor_target():
    return f, (torch.rand(3),)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        layers = dict(self.named_modules())
        layers.get("layer").register_forward_hook(lambda module, args, output: output * 2)  # GB0467
        return self.layer(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.target = nn.Linear(8, 8)

    def forward(self, x):
        self.target.load_state_dict(self.layer.state_dict())  # GB0208
        return self.layer(x) - self.target(x)
""",
    """\
import torch


def f(x):
    started = torch.jit.fork(torch.relu, x)  # GB0007
    return started
""",
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint_sequential


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        return checkpoint_sequential(self.layers, 2, x, use_reentrant=False)  # GB0007
""",
    """\
import re

VERSION = re.compile("(?P<major>[0-9]+)")


def f(x):
    found = VERSION.match("2.13")
    named = found.groupdict()  # GB0092 GB0292
    return x * len(named)
""",
    """\
from typing import NewType

import torch

Rows = NewType("Rows", torch.Tensor)


def f(x):
    return Rows(x * 2) + 1  # GB0156
""",
    """\
import torch


def f(x):
    return x * 2 if torch.is_same_size(x, x.t()) else x  # GB0208
""",
    """\
import torch


def f(x):
    value, _ = torch.func.linearize(torch.sin, x)  # GB0007
    return value * 2
""",
    """\
import torch
from torch.distributions import VonMises


def f(x):
    return VonMises(x, x.exp()).sample() + 1  # GB0092 GB0116
""",
    """\
# torch >=2.9
import math


def f(x):
    size = math.prod(n for n in x.shape)  # GB0055 GB8335
    return x * size
""",
    """\
import numpy as np
import torch


def f(x):
    rows = np.ogrid[:4]  # GB0008
    return x * len(rows)
""",
    """\
from torch.utils.data import TensorDataset


def f(x):
    y = x + 1
    data = TensorDataset(y)  # GB0008
    return y * 2 if data is not None else y
""",
)

CLEAN = (
    """\
import numpy as np
import torch


def f(x):
    shifts = np.zeros(8, dtype=np.float32)
    return x + torch.from_numpy(shifts)
""",
    """\
import pickle

KEY = pickle.dumps({"mode": "fast"})


def f(x):
    return x * len(KEY)
""",
    """\
import numpy as np

SEEDS = np.random.SeedSequence(3)


def f(x):
    return x * 2
""",
    """\
import torch


def f(x):
    return x * 2 if isinstance([x], list) and not torch.jit.is_scripting() and not torch.jit.is_tracing() else x
""",
    """\
import hashlib

DIGEST = hashlib.md5(b"abc").hexdigest()


def f(x):
    return x * len(DIGEST)
""",
    """\
def f(x):
    return x**2 + pow(2, 3)
""",
    """\
# torch >=2.13
import re
import struct
import textwrap


def f(x):
    packed = struct.pack("i", len(textwrap.dedent(" a")))
    return x * 2 if re.match("a", "b") else x
""",
    """\
# torch >=2.13
import fractions
import itertools
import operator


def f(x):
    pairs = list(itertools.permutations([1, 2]))
    return operator.mul(x, len(pairs)) * float(fractions.Fraction(1, 2))
""",
    """\
# torch >=2.9
import collections


def f(x):
    window = collections.deque([x], maxlen=2)
    window.append(x * 2)
    return window[0] + len(collections.Counter([1, 1]))
""",
    """\
import functools


@functools.lru_cache
def scale(n):
    return n + 1


def f(x):
    return x * scale(3)
""",
    """\
import gc

import torch


def f(x):
    if not torch.compiler.is_compiling():
        gc.collect()
    return x * 2
""",
    """\
import torch


def f(x):
    return torch.bucketize(x, torch.tensor([0.5, 1.0]))
""",
    """\
# torch >=2.9
from packaging import version

import torch


def f(x):
    if version.parse("2.0") > version.parse("1.0"):
        return x * 2
    return x
""",
    """\
def f(x):
    hashlib = {"md5": 2}
    return x * hashlib["md5"]
""",
    """\
# torch >=2.9
import statistics
import sys


def f(x):
    return x * statistics.median([1, 2, 3]) + sys.getrecursionlimit()
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.layer.register_forward_hook(lambda module, args, output: output * 2)

    def forward(self, x):
        return self.layer(x)
""",
    """\
def f(x):
    return x.clone().uniform_(0, 3) + x.is_contiguous() + x.is_floating_point()
""",
    """\
import numpy as np
import torch


def f(x):
    return x + torch.from_numpy(np.arange(8)) + np.clip(1.5, 0, 1)
""",
    """\
import torch


def f(x):
    return torch.nn.init.normal_(torch.empty(8)) + torch.nn.init.xavier_uniform_(torch.empty(4, 8)) + x
""",
    """\
# torch >=2.9
import heapq


def f(x):
    heapq.merge([1], [2])
    return x * 2
""",
    """\
class Base:
    def forward(self, x):
        return x * 2


def f(x):
    return Base().forward(x)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.PoissonNLLLoss()

    def forward(self, x):
        return self.loss(x, torch.zeros_like(x))
""",
    """\
from types import SimpleNamespace


def double(x):
    return x * 2


functions = SimpleNamespace(double=double, factor=3)


def f(x):
    return functions.double(x) * functions.factor
""",
    """\
import networkx

ORDER = networkx.path_graph(3)


def f(x):
    return x * 2
""",
    """\
import networkx
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        tree = networkx.path_graph(3)
        self.degree = tree.degree(1)

    def forward(self, x):
        return x * self.degree
""",
    """\
# torch >=2.9
import torch


class Weights(torch.Tensor):
    pass


def f(x):
    return x.as_subclass(Weights) * 2
""",
    """\
import torch
import torch.nn as nn


class Rotation:
    def __init__(self, matrix):
        self.matrix = matrix

    def __matmul__(self, points):
        return points @ self.matrix


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(8))

    def forward(self, x):
        return Rotation(self.matrix).__matmul__(x)
""",
    """\
import torch


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, factor):
        return Interval(self.low * factor, self.high * factor)


def f(x):
    both = Interval(x, x + 1) + Interval(x, x)
    return (both * 2).high


def graphdoctor_target():
    return f, (torch.rand(3),)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        layers = dict(self.named_modules())
        layers.get("layer").register_forward_hook(lambda module, args, output: output * 2)

    def forward(self, x):
        return self.layer(x)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.target = nn.Linear(8, 8)
        self.target.load_state_dict(self.layer.state_dict())

    def forward(self, x):
        with torch.no_grad():
            for old, new in zip(self.target.parameters(), self.layer.parameters()):
                old.copy_(new)
        return self.layer(x) - self.target(x)
""",
    """\
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x
""",
    """\
# torch >=2.13,<2.14
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x) * len(self.layer.state_dict())
""",
    """\
import re

VERSION = re.compile("(?P<major>[0-9]+)")


def f(x):
    found = VERSION.match("2.13")
    return x * int(found.group("major"))
""",
    """\
class Groups:
    def groupdict(self):
        return {"major": 2}


def f(x):
    return x * Groups().groupdict()["major"]
""",
    """\
from typing import NewType, cast

import torch

Rows = NewType("Rows", torch.Tensor)


def f(x: Rows) -> Rows:
    return cast(Rows, x * 2)
""",
    """\
import torch


def f(x):
    value, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    return value + tangent
""",
    """\
import torch
from torch.distributions import VonMises


def f(x):
    around = VonMises(x, x.exp())
    return around.log_prob(x) + around.mean + around.variance
""",
    """\
import torch


def f(x):
    return x * 2 if torch.is_floating_point(x) and not torch.is_complex(x) and x.shape == x.t().shape else x
""",
    """\
import math


def f(x):
    return x.reshape(x.shape[0], math.prod(x.shape[1:])) * math.prod([n for n in x.shape])
""",
    """\
import numpy as np

ROWS = np.ogrid[:4]


def f(x):
    return x * len(ROWS)
""",
    """\
import torch
from torch.utils.data import TensorDataset

DATA = TensorDataset(torch.arange(4.0))


def f(x):
    return x * 2 if DATA is not None else x
""",
)


def watches(name: str) -> bool:
    packages = HOST_PACKAGES | TRACKERS | DISTRIBUTIONS
    return (
        _is_untraced(name)
        or name.startswith(("operator.", EXTENSION))
        or name in DIVERGENCES
        or name in ARRAYS
        or name in (AS_SUBCLASS, ASKED_FOR_PARAMETERS)
        or name in WITH_LISTS
        or name in WITH_END
        or name in (UNBUILT_DEFAULT, UNBUILT_CLOSURE)
        or name.rpartition(".")[2] in OF_MODULES
        or within(name, packages)
        or is_tokenizer(name)
    )


#: The call of a function of Python that sympy wrote: Dynamo traces it like others.
WRITTEN = "sympy.lambdify.__call__"


def check_getattr(event: GetAttr) -> Hit | None:
    """Numbers of tokens, which a tokenizer looks up in its vocabulary each time that it is asked for them."""
    looked_up = event.name == "vocab_size" or event.name.endswith(("_token_id", "_token_ids"))
    of_tokenizer = isinstance(event.receiver, ExternalObject) and is_tokenizer(event.receiver.qualname)
    if not looked_up or not of_tokenizer:
        return None
    return Hit(
        event,
        f"{code(event)} uses the tokenizer, which Dynamo does not trace",
        "read it in `__init__` and keep the number",
        certainty(event),
        consequence=consequence(event),
    )


def check_call(event: Call) -> Hit | None:
    if event.qualname in DIVERGENCES:
        return _divergence(event)
    if event.qualname in (UNBUILT_DEFAULT, UNBUILT_CLOSURE):
        return _made_anew(event)
    power = event.qualname == "builtins.pow"
    if power and not any(may_be_tensor(arg) for arg in event.args):
        return None
    if event.qualname in DECORATORS and not isinstance(event.node, cst.Call):
        # In the body of a class, whose definition ends the graph before.
        return None
    of_objects = event.qualname in ARRAYS and _OBJECT in (*event.args[1:], event.kwargs.get("dtype"))
    special = (
        _is_getter_from_outside(event)
        or of_objects
        or _works_on_object(event)
        or _changes_module(event)
        or _validates(event)
        or _of_package(event)
        or _leaves_subclass(event)
        or _goes_through_iterator(event)
        or _leaves_out_the_end(event)
        or event.qualname.startswith(EXTENSION)
        or event.qualname == ASKED_FOR_PARAMETERS
    )
    if not special and not _is_untraced(event.qualname):
        return None
    return Hit(
        event,
        f"{code(event)} is not traced by Dynamo",
        _without_tensors(event) or _suggestion(event.qualname),
        certainty(event),
        torch=_reversed(event) or ON_SOME.get(event.qualname, ""),
        consequence=leaves_function(event) if _leaves_function(event) else consequence(event),
    )


def _leaves_function(event: Call) -> bool:
    """Whether nothing of the function is compiled, though the call is in no block."""
    return event.qualname in (CACHED_CLASSMETHOD, ASKED_FOR_PARAMETERS)


def _is_getter_from_outside(event: Call) -> bool:
    made = event.receiver
    return event.qualname in GETTERS and isinstance(made, ExternalObject) and not made.in_region


def _leaves_subclass(event: Call) -> bool:
    """A tensor of another class made of one of a subclass; Dynamo traces only what makes one of a plain tensor."""
    if event.qualname != AS_SUBCLASS:
        return False
    of_subclass = isinstance(event.receiver, Tensor) and event.receiver.subclass
    return of_subclass or event.args[-1:] == (External("torch.Tensor"),)


def _goes_through_iterator(event: Call) -> bool:
    """``math.prod`` of a generator, or of what `map`, `filter` or `zip` give."""
    first = event.args[0] if event.args else None
    return event.qualname in WITH_LISTS and isinstance(first, Seq) and first.kind in ("generator", "iterator")


def check_readitem(event: ReadItem) -> Hit | None:
    if not isinstance(event.receiver, External) or event.receiver.qualname not in NUMPY_INDEXED:
        return None
    return Hit(
        event,
        f"{code(event)} is not traced by Dynamo",
        "use `torch.arange` or `torch.meshgrid`, or read it in `__init__` or at module level and keep the result",
        certainty(event),
        consequence=consequence(event),
    )


def _made_anew(event: Call) -> Hit | None:
    """What a method of an object that this graph makes has as a default, or its wrapper in the closure."""
    made = event.receiver
    # Behind the end of a graph, an object that was made before is there.
    if not isinstance(made, Instance) or (event.site.resumed is not None and not _constructs(event, made)):
        return None
    name, owner = next(iter(event.kwargs)), made.info.name
    if event.qualname == UNBUILT_DEFAULT:
        used, advice = f"uses the default of `{name}`", f"pass `{name}`, or make"
    else:
        used, advice = f"calls a function that keeps `{name}` in its closure", "make"
    return Hit(
        event,
        f"{code(event)} {used}, an object that Dynamo does not have where compiled code makes the `{owner}`",
        f"{advice} the `{owner}` outside the compiled code",
        certainty(event),
        consequence=consequence(event),
    )


def _constructs(event: Call, made: Instance) -> bool:
    return isinstance(event.node, cst.Call) and code(event, event.node.func).strip("`").endswith(made.info.name)


def _divergence(event: Call) -> Hit | None:
    """The formula for two classes of distributions is looked up by their first call, and kept."""
    if event.args and all(_has_one_formula(option) for option in options(event.args[0])):
        return None
    return Hit(
        event,
        f"{code(event)} looks up a formula for the first time, which Dynamo does not trace",
        "call it once before the first compiled call, or write the formula out",
        "likely",
        consequence=consequence(event),
    )


def _has_one_formula(value: Value) -> bool:
    """Whether torch has one formula for such a distribution, so that nothing is compared to choose it."""
    return isinstance(value, ExternalObject) and value.qualname.rpartition(".")[2] in ONE_FORMULA


def _works_on_object(event: Call) -> bool:
    """An operator between a tensor and an object of a class of the code, which Dynamo takes for one of tensors."""
    if not event.qualname.startswith("operator.") or not any(isinstance(arg, Tensor) for arg in event.args):
        return False
    kinds = [part.info for arg in event.args for part in options(arg) if isinstance(part, Instance)]
    return bool(kinds) and all(not kind.is_module and all(map(_changes_nothing, kind.externals)) for kind in kinds)


def _reversed(event: Call) -> str:
    """The versions for an operator with a tensor on its left, whose method of the object was traced before."""
    return ">=2.10" if event.qualname.startswith("operator.") and isinstance(event.args[0], Tensor) else ""


def _changes_nothing(base: str) -> bool:
    """Whether a base outside the scanned code has no operators of its own."""
    return base in ("builtins.object", "abc.ABC", "typing.Generic") or within(base, DISTRIBUTIONS)


def _validates(event: Call) -> bool:
    """A distribution that is told to check its arguments; while compiling torch leaves it by default."""
    package, _, name = event.qualname.rpartition(".")
    return (
        within(package, DISTRIBUTIONS)
        and name not in ("Independent", "TransformedDistribution")
        and event.kwargs.get("validate_args") == Const(True)
    )


def _of_package(event: Call) -> bool:
    """A function of a package, or a method of what it gave outside the graph."""
    # Inside, its result follows a finding of its own.
    made_here = isinstance(event.receiver, ExternalObject) and event.receiver.in_region
    of_version = "__version__" in event.qualname.split(".")
    untraced = within(event.qualname, HOST_PACKAGES | TRACKERS) or is_tokenizer(event.qualname)
    return untraced and not made_here and not of_version and event.qualname != WRITTEN


def _without_tensors(event: Call) -> str:
    """What to do about a function of a package that gets numbers and settings alone: no operator takes their place."""
    given = (*event.args, *event.kwargs.values())
    if not within(event.qualname, HOST_PACKAGES) or not given or any(map(may_be_tensor, given)):
        return ""
    if not all(isinstance(part, (Const, PythonValue)) for value in given for part in options(value)):
        return ""
    return "call it outside the compiled code, and pass its result in"


def _suggestion(name: str) -> str:
    if within(name, TRACKERS):
        return "return the value and log it after the call, or put it under `if not torch.compiler.is_compiling():`"
    if is_tokenizer(name):
        return "tokenize outside the compiled code, and pass the ids"
    if within(name, HOST_PACKAGES) or name.startswith(EXTENSION):
        return "call it outside the compiled code, or make a custom operator of it (`torch.library.custom_op`)"
    if name.startswith("operator."):
        return (
            f"call the method by its name (`a.__{name.removeprefix('operator.')}__(b)`), or use what the object holds"
        )
    if name in INSTEAD:
        return INSTEAD[name]
    if name.startswith("opt_einsum."):
        return "use `torch.einsum`, which is traced, and finds a good order with opt_einsum where that is installed"
    if name.endswith(".load_state_dict"):
        return "call it outside the compiled code, or copy each parameter: `p.copy_(other)` under `torch.no_grad()`"
    if name.startswith("enum.StrEnum."):
        return "ask the text of the member: its `value` has the same methods, and they are traced"
    if within(name, DISTRIBUTIONS):
        return "leave `validate_args=True` out: by default a compiled call does not check the arguments"
    return "call it in `__init__` or at module level and keep the result"


_OBJECT = External("builtins.object")


def _is_untraced(name: str) -> bool:
    # What calls the object that such a function made says no more of it.
    untraced = within(name, UNTRACED) and not name.endswith(".__call__") and name not in OF_OBJECT
    of_numpy = name in WITHOUT_TENSORS or name in GIVE_NO_TENSOR or _is_of_ufunc(name)
    listed = name in ON_SOME or name in MADE_BEFORE or name in HOLDERS or of_numpy or name in OBJECTS
    return listed or untraced or name.endswith(OF_MATCHES)


def _is_of_ufunc(name: str) -> bool:
    """``np.subtract.outer``: Dynamo traces the functions of numpy, and not their methods."""
    package, _, function = name.partition(".")
    return package == "numpy" and "." in function and function.rpartition(".")[2] in UFUNC_METHODS


def _leaves_out_the_end(event: Call) -> bool:
    """``np.linspace(0, 1, 4, endpoint=False)``, which ``torch._numpy`` does not have."""
    return event.qualname in WITH_END and event.kwargs.get("endpoint") == Const(False)


def _changes_module(event: Call) -> bool:
    """A hook put on a module while tracing, where one that was there before is traced, or parameters copied into it.

    Only modules have such methods, and optimizers one of them.
    """
    receiver = event.receiver
    is_module = isinstance(receiver, (TorchModule, Unknown)) or (
        isinstance(receiver, Instance) and receiver.info.is_module
    )
    return is_module and event.qualname.rpartition(".")[2] in OF_MODULES


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Call) and hit.event.qualname.startswith(EXTENSION):
        return Refusal("What a function in C, Cython or numba does is not known.")
    if isinstance(hit.event, Call) and hit.event.qualname in (UNBUILT_DEFAULT, UNBUILT_CLOSURE):
        return Refusal("What a function has as a default or in its closure, its other callers need too.")
    if isinstance(hit.event, Call) and hit.event.qualname in WITH_LISTS:
        return as_list(hit, editor)
    if isinstance(hit.event, Call) and isinstance(hit.place, (cst.Name, cst.Attribute)):
        return Refusal("A decorator is applied where the function is defined, in each call.")
    if isinstance(hit.event, Call) and hit.event.qualname in DISABLING:
        return Refusal("A function that is kept out of compilation is to run in each call.")
    plan = first_fit(hit, editor, set_up_in_init)
    if isinstance(plan, FixPlan):
        return plan
    own = {"Variable": plain_variable, "isinstance": plain_isinstance, "random_": drawn_integers}
    return by_name(hit, editor, own, guard_host, hoist_constant, power, plain_module)
