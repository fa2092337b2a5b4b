"""A fallback that no error of the compilation reaches.

What: `torch.compile`, or `compile` in place, in a `try` whose handler goes on without it, where nothing in the `try`
calls what was compiled.

Why: `torch.compile` returns at once and compiles nothing; the first call compiles, and raises after the `try`. What
raises at once is an unknown mode, backend or option, and a Python that torch does not compile on. Handlers of other
errors (`except ImportError`) or that raise are not reported, nor are those that speak of versions and platforms, a
backend of another package, which may be missing; files that handle errors of compiled calls in another place, that say
when it compiles, or that set `suppress_errors`.

Fix: Call it once inside the `try`, on a sample; or set `torch._dynamo.config.suppress_errors = True`, with which what
does not compile runs in eager.
"""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Tried, backend, dotted
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import find

from ._shared import OWN_BACKENDS, call_no_model, is_compilation

CODE = "GD629"
NAME = "compile-fallback"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
try:
    model = torch.compile(model, backend="eager")
except Exception as error:  # flagged
    print(f"torch.compile failed, the model runs in eager: {error}")


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn


def prepared(model):
    return torch.compile(model.eval(), backend="eager")


def load():
    model = nn.Linear(8, 8)
    try:
        return prepared(model)
    except (ImportError, RuntimeError):  # flagged
        print("the model is not compiled")
        return model


model = load()


def f(x):
    return model(x)
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
try:
    compiled = torch.compile(model, backend="eager")
    compiled(torch.rand(4, 8))
    model = compiled
except Exception as error:
    print(f"torch.compile failed, the model runs in eager: {error}")


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn


def warm_up(model):
    model(torch.rand(4, 8))


model = nn.Linear(8, 8)
try:
    compiled = torch.compile(model, backend="eager")
    warm_up(compiled)
    model = compiled
except Exception:
    pass


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
try:
    model = torch.compile(model, backend="eager")
except AttributeError:
    print("this torch has no torch.compile")


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
try:
    model = torch.compile(model, backend="eager")
except Exception as error:
    raise ValueError("wrong options for torch.compile") from error


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn

torch._dynamo.config.suppress_errors = True
model = nn.Linear(8, 8)
try:
    model = torch.compile(model, backend="eager")
except Exception:
    print("torch.compile failed")


def f(x):
    return model(x)
""",
)

#: Errors that a compilation may raise, or bases of them.
_CAUGHT = ("Exception", "BaseException", "RuntimeError")
#: Words and names of handlers for a compilation that fails.
_OF_COMPILING = re.compile("compil|eager|inductor|dynamo")
#: The words alone: ``self._compiled`` may be set in any handler.
_SAYS_COMPILING = re.compile("(?<!_)(compil|eager|inductor|dynamo)")
#: Words of handlers for what does raise at once.
_AT_ONCE = re.compile(
    r"windows|platform|python|availab|install|unknown|torch\W*version|version\W*(of )?(py)?torch|_version"
)
#: Words of those who know when it compiles, and the setting with which nothing is raised then.
_LATER = "(lazy|lazily|first (call|run|forward|invocation))"
_AWARE = re.compile(rf"compil[^\n]*\b{_LATER}\b|\b{_LATER}\b[^\n]*compil|^[^#\n]*suppress_errors", re.MULTILINE)


def check_tried(event: Tried) -> Hit | None:
    start = next((n for n, step in enumerate(event.inside) if is_compilation(step)), None)
    handler = next(filter(_takes, event.handlers), None)
    if start is None or handler is None or _goes_elsewhere(handler) or _is_handled(event):
        return None
    words = event.site.module.code(handler).lower()
    if _AT_ONCE.search(words) or not call_no_model(event.inside[start:]):
        return None
    only_compiles = backend(event.inside[start]) in OWN_BACKENDS and call_no_model(event.inside[:start])
    # A RuntimeError alone may be meant for a Python that torch does not compile on.
    meant = only_compiles and "RuntimeError" not in _types(handler)
    if not meant and not _SAYS_COMPILING.search(words):
        return None
    return Hit(
        event,
        "this `except` catches no error of the compilation: `torch.compile` returns at once, and the first call, after "
        "the `try`, compiles; only wrong options and an unsupported version of Python raise here",
        "call the compiled function once inside the `try`, or set `torch._dynamo.config.suppress_errors = True`",
        node=handler,
    )


def _is_handled(event: Tried) -> bool:
    """Whether the file deals with compilations that fail later, or has the compilation in a `try` inside this one."""
    source = event.site.module
    if _AWARE.search(source.text.lower()):
        return True
    if any(_compiles(source, inner) for inner in find(event.body, cst.Try)):
        return True
    calling = (node for node in find(source.tree, cst.Try) if node is not event.node and not _compiles(source, node))
    return any(_OF_COMPILING.search(source.code(each).lower()) for node in calling for each in node.handlers)


def _compiles(source: SourceModule, node: cst.Try) -> bool:
    return ".compile(" in source.code(node.body)


def _takes(handler: cst.ExceptHandler) -> bool:
    """Whether it takes errors of a compilation."""
    return handler.type is None or any(name in _CAUGHT or "_dynamo" in name for name in _types(handler))


def _types(handler: cst.ExceptHandler) -> list[str]:
    types = [each.value for each in handler.type.elements] if isinstance(handler.type, cst.Tuple) else [handler.type]
    return [dotted(each) for each in types if each is not None]


def _goes_elsewhere(handler: cst.ExceptHandler) -> bool:
    """Whether it ends the program or hands the error on: then nothing falls back."""
    ends = ("exit", "sys.exit", "quit", "os._exit", "pytest.fail", "pytest.skip")
    called = (dotted(call.func) for call in find(handler, cst.Call))
    return any(find(handler, cst.Raise)) or any(name in ends or name.endswith("fail") for name in called)
