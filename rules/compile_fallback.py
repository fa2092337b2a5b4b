"""A fallback that no error of the compilation reaches.

What: `torch.compile` in a `try` whose handler goes on without it, where nothing in the `try` calls what was compiled.

Why: `torch.compile` returns at once and compiles nothing; the first call compiles, and raises behind the `try`. What
raises at once is an unknown mode, backend or option, and a Python that torch does not compile on. Handlers of other
errors (`except ImportError`) or that raise are not reported, nor are those that speak of versions and platforms, a
backend of another package, which may be missing, and files with `suppress_errors`.

Fix: Call it once inside the `try`, on a sample; or set `torch._dynamo.config.suppress_errors = True`, with which what
does not compile runs in eager.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import MISSING, Operation, Tried, backend, dotted
from graphdoctor.syntax.walk import find

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
except RuntimeError:
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
#: Backends of torch itself: another one may not be installed, which raises at once.
_OWN_BACKENDS = ("inductor", "eager", "aot_eager", "cudagraphs")
#: What neither calls a model nor hands it to what does.
_HARMLESS = re.compile(
    r"print|(log|logger|logging|warn|warnings|time|platform|sys|os|re|torch\._dynamo|torch\.cuda)\..*"
    r"|torch\.(set_.*|backends\..*|device|manual_seed)"
    r"|str|repr|len|getattr|hasattr|setattr|isinstance|type|dict|bool|callable"
    r"|\.(debug|info|warning|error|log|append|get|to|eval|train|cuda|format|lower|startswith|pop|update|copy)"
    r"|(.*[._])?(log|print)(_\w+)?"
)
#: Words of handlers for a compilation that fails.
_OF_COMPILING = re.compile("compil|eager|inductor|dynamo")
#: Words of handlers for what does raise at once.
_AWARE = re.compile("version|windows|platform|python|availab|install|unknown|backend")


def check_tried(event: Tried) -> Hit | None:
    text = event.site.module.text
    start = next((n for n, step in enumerate(event.inside) if _compiles(step)), None)
    handler = next(filter(_takes, event.handlers), None)
    if start is None or handler is None or "suppress_errors" in text or _goes_elsewhere(handler):
        return None
    words = event.site.module.code(handler).lower()
    alone = _all_harmless(event.inside[:start]) or _OF_COMPILING.search(words)
    if not alone or _AWARE.search(words) or not _all_harmless(event.inside[start:]):
        return None
    return Hit(
        event,
        "this `except` gets no error of the compilation: `torch.compile` returns at once, and the first call compiles, "
        "behind the `try`; only wrong options and a Python that torch does not compile on raise here",
        "call what was compiled once inside the `try`, or set `torch._dynamo.config.suppress_errors = True`",
        node=handler,
    )


def _compiles(step: Operation) -> bool:
    """Whether it compiles a model, with a backend that torch has."""
    own = step.name == "torch.compile" and step.argument(0, "model") is not None and backend(step) in _OWN_BACKENDS
    return own and step.option("disable") is MISSING


def _all_harmless(steps: Iterable[Operation]) -> bool:
    return all(step.followed or step.name == "torch.compile" or _HARMLESS.fullmatch(step.name) for step in steps)


def _takes(handler: cst.ExceptHandler) -> bool:
    """Whether it takes errors of a compilation."""
    if handler.type is None:
        return True
    types: Sequence[cst.BaseExpression] = [handler.type]
    if isinstance(handler.type, cst.Tuple):
        types = [element.value for element in handler.type.elements]
    return any(dotted(each) in _CAUGHT or "_dynamo" in dotted(each) for each in types)


def _goes_elsewhere(handler: cst.ExceptHandler) -> bool:
    """Whether it ends the program or hands the error on: then nothing falls back."""
    ends = ("exit", "sys.exit", "quit", "os._exit", "pytest.fail", "pytest.skip")
    called = (dotted(call.func) for call in find(handler, cst.Call))
    return any(find(handler, cst.Raise)) or any(name in ends or name.endswith("fail") for name in called)
