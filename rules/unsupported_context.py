"""A `with` statement whose context manager Dynamo does not trace.

What: Locks, `with torch.device(...)`, `detect_anomaly`, `saved_tensors_hooks`, `save_on_cpu`, `fork_rng`,
`torch.backends.cudnn.flags`, `sdp_kernel`, `redirect_stdout`, `np.errstate`, `mock.patch`; a lock's
`acquire`; `ExitStack.enter_context`.

Why: A graph cannot be split inside a context that Dynamo does not know how to leave and enter again. It gives
up on the function: nothing of it is compiled. `no_grad`, `enable_grad`, `autocast`, `inference_mode`,
`record_function`, `sdpa_kernel`, `nullcontext` and `suppress` are traced.

Fix: Enter the context in the code that calls the compiled function. Pass `device=` to the factory functions
in place of `with torch.device(...)`, and use `torch.nn.attention.sdpa_kernel` in place of
`torch.backends.cuda.sdp_kernel`.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import by_name
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.devices import device_arguments
from graphdoctor.fixes.python.contexts import attention_backends, skip_context
from graphdoctor.fixes.python.exit_stacks import plain_with
from graphdoctor.fixes.python.layers import plain_property
from graphdoctor.static.domain.events import Call, Enter, GetAttr
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import ExternalObject
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import code, within

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
    "torch.backends.cuda.sdp_kernel", "torch.cuda.nvtx.range", "threading.Lock", "threading.RLock",
    "threading.Condition", "threading.Semaphore", "contextlib.redirect_stdout", "contextlib.redirect_stderr",
    "numpy.errstate", "numpy.printoptions", "decimal.localcontext", "unittest.mock.patch",
    "tempfile.TemporaryDirectory",
))  # fmt: skip

#: Methods that act like a ``with`` statement.
BY_HAND = frozenset((
    "threading.Lock.acquire", "threading.Lock.release", "threading.RLock.acquire", "threading.RLock.release",
    "contextlib.ExitStack.enter_context", "torch.autograd.set_detect_anomaly",
))  # fmt: skip

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
# torch >=2.13
import contextlib

import torch


def f(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())  # GB0007 GB0066
        return x * 2
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
# torch >=2.13
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
# torch >=2.13
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
)


def check_enter(event: Enter) -> Hit | None:
    names = [event.qualname] if event.qualname is not None else []
    names += [option.qualname for option in options(event.value) if isinstance(option, ExternalObject)]
    if not any(within(name, CONTEXTS) for name in names):
        return None
    return Hit(
        event,
        f"{code(event)} is a context that Dynamo does not trace: `{event.site.function}` runs uncompiled as a whole",
        "enter it in the code that calls the compiled function"
        if "torch.device" not in names
        else "pass `device=` to the functions that create tensors",
    )


def watches(name: str) -> bool:
    return name in BY_HAND


def check_call(event: Call) -> Hit | None:
    return Hit(
        event,
        f"{code(event)} enters or leaves a context that Dynamo does not trace, and splits the graph",
        "do it in the code that calls the compiled function",
    )


def check_getattr(event: GetAttr) -> Hit | None:
    if event.receiver != ExternalObject("functools.cached_property"):
        return None
    return Hit(
        event,
        f"{code(event)} is a cached_property, which takes a lock when it is first read (before Python 3.12): "
        f"`{event.site.function}` runs uncompiled as a whole",
        "compute it in `__init__`; a tensor belongs into a buffer",
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    own = {"sdp_kernel": attention_backends, "enter_context": plain_with}
    return by_name(hit, editor, own, skip_context, device_arguments, plain_property)
