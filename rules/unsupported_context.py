"""A `with` statement whose context manager Dynamo does not trace.

What: Locks, `with torch.device(...)`, `detect_anomaly`, `saved_tensors_hooks`, `save_on_cpu`, `fork_rng`,
`torch.backends.cudnn.flags`, `sdp_kernel`, `redirect_stdout`, `np.errstate`, `mock.patch`; a lock's
`acquire`; `ExitStack.enter_context` of such a context; and an object with `__enter__` that was made before the call
(`with self.timer:`), `torch.no_grad()` included.

Why: A graph cannot be split inside a context that Dynamo does not know how to leave and enter again. It gives
up on the function: nothing of it is compiled. `no_grad`, `enable_grad`, `autocast`, `inference_mode`,
`record_function`, `sdpa_kernel`, `nullcontext` and `suppress` are traced, and so are contexts of your own, where Dynamo
sees them being made.

Fix: Enter the context in the code that calls the compiled function, or make it in the `with` statement
(`with Timer():`). Pass `device=` to the factory functions
in place of `with torch.device(...)`, and use `torch.nn.attention.sdpa_kernel` in place of
`torch.backends.cuda.sdp_kernel`.
"""

from __future__ import annotations

import sys

import libcst as cst

from graphdoctor.fixes.branches.choose import by_name
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.devices import device_arguments
from graphdoctor.fixes.python.contexts import attention_backends, skip_context
from graphdoctor.fixes.python.exit_stacks import plain_with
from graphdoctor.fixes.python.layers import plain_property
from graphdoctor.static.domain.events import Call, Enter, GetAttr
from graphdoctor.static.domain.torch_tables import within
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import ExternalObject, Instance, Unknown, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, leaves_function

CODE = "GD407"
NAME = "unsupported-context"
SEVERITY = "error"
GB_IDS = ("GB0142", "GB0008", "GB0208", "GB0007", "GB0156", "GB0262", "GB0294")
TORCH = ">=2.6"

CONTEXTS = frozenset((
    "torch.device", "torch.autograd.detect_anomaly", "torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode",
    "torch.autograd.graph.saved_tensors_hooks", "torch.autograd.graph.save_on_cpu",
    "torch.autograd.graph.allow_mutation_on_saved_tensors", "torch.autograd.set_multithreading_enabled",
    "torch.random.fork_rng", "torch.backends.cudnn.flags", "torch.backends.mkldnn.flags",
    "torch.backends.cuda.sdp_kernel", "torch.cuda.nvtx.range", "torch.cuda.device_of",
    "torch.cuda.StreamContext", "torch.cuda.profiler.profile", "torch.autograd.profiler.emit_nvtx",
    "torch.autograd.profiler.emit_itt", "nvtx.annotate", "threading.Lock", "threading.RLock",
    "threading.Condition", "threading.Semaphore", "contextlib.redirect_stdout", "contextlib.redirect_stderr",
    "contextlib.closing",
    "numpy.errstate", "numpy.printoptions", "decimal.localcontext", "unittest.mock.patch",
    "tempfile.TemporaryDirectory",
))  # fmt: skip

#: Methods that act like a ``with`` statement.
BY_HAND = frozenset((
    "threading.Lock.acquire", "threading.Lock.release", "threading.RLock.acquire", "threading.RLock.release",
    "contextlib.ExitStack.enter_context", "torch.autograd.set_detect_anomaly",
))  # fmt: skip

#: Contexts of torch that are traced where they are made in the compiled function.
GRAD_MODES = frozenset(map(ExternalObject, (
    "torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled",
)))  # fmt: skip

#: Bases from other packages that change nothing about how an object is entered.
PLAIN_BASES = frozenset(
    {
        "builtins.object",
        "abc.ABC",
        "torch.nn.Module",
        "contextlib.AbstractContextManager",
        "contextlib.ContextDecorator",
    }
)

BREAKS = (
    """\
import threading

lock = threading.Lock()


def f(x):
    with lock:  # GB0142
        return x * 2
""",
    """\
import torch


def f(x):
    with torch.device("cpu"):  # GB0142
        ones = torch.ones(8)
    return x + ones
""",
    """\
import torch


def f(x):
    with torch.autograd.detect_anomaly():  # GB0008 GB0142
        return x * 2
""",
    """\
import torch


def f(x):
    with torch.random.fork_rng(devices=[]):  # GB0142 GB0208
        return x + torch.rand(8)
""",
    """\
import torch


def f(x):
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=False):  # GB0142 GB0208
        return x * 2
""",
    """\
import contextlib


def f(x):
    with contextlib.redirect_stdout(None):  # GB0142 GB0262
        return x * 2
""",
    """\
import numpy as np


def f(x):
    with np.errstate(all="ignore"):  # GB0142 GB0294
        return x * 2
""",
    """\
import threading

lock = threading.Lock()


def f(x):
    lock.acquire()  # GB0156
    y = x * 2
    lock.release()  # GB0156
    return y
""",
    """\
import functools

import torch
import torch.nn as nn


class Net(nn.Module):
    @functools.cached_property
    def ones(self):
        return torch.ones(8)

    def forward(self, x):
        return x + self.ones  # GB0142


def graphdoctor_target():
    return Net(), (torch.rand(8),)
""",
    """\
# torch >=2.11
import contextlib

import torch


def f(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())  # GB0007 GB0066
        return x * 2
""",
    """\
# torch <2.14
class Timer:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


timer = Timer()


def f(x):
    with timer:  # GB0142
        return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = torch.no_grad()

    def forward(self, x):
        with self.mode:  # GB0142
            return x * 2


def graphdoctor_target():
    return Net(), (torch.rand(8),)
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    @property
    def ones(self):
        return torch.ones(8)

    def forward(self, x):
        return x + self.ones
""",
    """\
import functools


@functools.lru_cache
def scale():
    return 2.0


def f(x):
    return x * scale()
""",
    """\
import torch


def f(x):
    with torch.no_grad(), torch.autocast("cpu"):
        return x * 2
""",
    """\
import torch


def f(x):
    with torch.enable_grad():
        y = x * 2
    with torch.set_grad_enabled(False), torch.inference_mode():
        return y + 1
""",
    """\
import torch


def f(x):
    ones = torch.ones(8, device=torch.device("cpu"))
    return x + ones
""",
    """\
# torch >=2.11
import contextlib


def f(x):
    with contextlib.nullcontext(), contextlib.suppress(ValueError):
        return x * 2
""",
    """\
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def f(x):
    with sdpa_kernel(SDPBackend.MATH):
        return x * 2
""",
    """\
import torch


def f(x):
    with torch.profiler.record_function("double"):
        return x * 2
""",
    """\
class Scale:
    def __enter__(self):
        return 2.0

    def __exit__(self, *error):
        return False


def f(x):
    with Scale() as scale:
        return x * scale
""",
    """\
import threading

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with threading.Lock():
            self.scale = 2.0

    def forward(self, x):
        return x * self.scale
""",
    """\
# torch >=2.11
import contextlib


def f(x):
    with contextlib.ExitStack():
        return x * 2
""",
    """\
# torch >=2.9
import contextlib


@contextlib.contextmanager
def doubled():
    yield 2.0


def f(x):
    with doubled() as factor:
        return x * factor
""",
    """\
class Timer:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def f(x):
    timer = Timer()
    with timer:
        return x * 2
""",
    """\
# torch >=2.11
import contextlib


class Timer:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@contextlib.contextmanager
def doubled():
    yield 2.0


def f(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(Timer())
        return x * stack.enter_context(doubled())
""",
    """\
import contextlib

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = contextlib.nullcontext()

    def forward(self, x):
        with self.mode:
            return x * 2


def graphdoctor_target():
    return Net(), (torch.rand(8),)
""",
)


def check_enter(event: Enter) -> Hit | None:
    names = [event.qualname] if event.qualname is not None else []
    names += [option.qualname for option in options(event.value) if isinstance(option, ExternalObject)]
    if not any(within(name, CONTEXTS) for name in names):
        return _made_before(event)
    return Hit(
        event,
        f"{code(event)} is a context that Dynamo does not trace",
        "enter it in the code that calls the compiled function"
        if "torch.device" not in names
        else "pass `device=` to the functions that create tensors",
        consequence=leaves_function(event),
    )


def _made_before(event: Enter) -> Hit | None:
    """Where the object that is entered was made before the function was called: Dynamo knows it by its class alone."""
    stored = isinstance(event.node, cst.Attribute) and any(o in GRAD_MODES for o in options(event.value))
    if not stored and not any(map(_is_made_before, options(event.value))):
        return None
    return Hit(
        event,
        f"{code(event)} was made before the call, and Dynamo enters only contexts that it saw being made",
        "make it in the `with` statement, or enter it in the code that calls the compiled function",
        certainty(event, event.value),
        torch="" if stored else "<2.14",
        consequence=leaves_function(event),
    )


def _is_made_before(value: Value) -> bool:
    if not isinstance(value, Instance) or value.inside or not {*value.info.externals} <= PLAIN_BASES:
        return False
    return value.info.lookup("__exit__") is not None


def watches(name: str) -> bool:
    return name in BY_HAND


def check_call(event: Call) -> Hit | None:
    if event.qualname.endswith(".enter_context") and event.args and all(map(_may_be_traced, options(event.args[0]))):
        return None
    return Hit(
        event,
        f"{code(event)} enters or leaves a context that Dynamo does not trace, and splits the graph",
        "do it in the code that calls the compiled function",
    )


def _may_be_traced(value: Value) -> bool:
    """Whether Dynamo may trace that a stack enters ``value``, as an object of Python code that was made here."""
    if isinstance(value, Instance):
        return not _is_made_before(value)
    if not isinstance(value, ExternalObject):
        return isinstance(value, Unknown)
    package = value.qualname.partition(".")[0]
    known = package == "torch" or package in sys.stdlib_module_names
    return not known or value.qualname == "contextlib.contextmanager"


def check_getattr(event: GetAttr) -> Hit | None:
    if event.receiver != ExternalObject("functools.cached_property"):
        return None
    return Hit(
        event,
        f"{code(event)} is a cached_property, which takes a lock when it is first read (before Python 3.12)",
        "compute it in `__init__`; a tensor belongs in a buffer",
        # Eager code may have read it before.
        "likely",
        consequence=leaves_function(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    own = {"sdp_kernel": attention_backends, "enter_context": plain_with}
    return by_name(hit, editor, own, skip_context, device_arguments, plain_property)
