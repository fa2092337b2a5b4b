"""Compiled code inspects the program.

What: `globals()`, `exec`, `__import__`, `importlib.import_module`, `inspect.stack`, `inspect.currentframe`,
`inspect.getsource`, `sys._getframe`, a class statement, `callable` of a tensor's method, and the import of a
missing module inside a `try`.

Why: Frames, namespaces and code objects are what Dynamo itself replaces, so it does not trace access to them
and splits the graph; a failed import leaves the whole function uncompiled. `import` of a module that exists,
`importlib.util.find_spec`, `isinstance` and `hasattr` are fine.

Fix: Do it at import time and keep the result: `try: import flash_attn` at the top of the file with a flag,
classes at module level, names of functions as constants. Text that is run by `exec` becomes a call by name:
`getattr(model, name)(x)`.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.definitions import hoist_definition
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.fixes.python.idioms import always_callable, known_parameter, own_name, read_global
from graphdoctor.static.domain.events import Call, Define, Import
from graphdoctor.static.domain.values import Function, Method, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD406"
NAME = "introspection"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0059", "GB0069", "GB0088", "GB8977")
TORCH = ">=2.6"

LOOKS = frozenset((
    "builtins.globals", "builtins.exec", "builtins.__import__", "builtins.compile", "importlib.import_module",
    "importlib.reload", "inspect.stack", "inspect.currentframe", "inspect.getsource", "inspect.getsourcelines",
    "inspect.getsourcefile", "inspect.getfile", "inspect.getdoc", "inspect.trace", "inspect.cleandoc", "sys._getframe",
))  # fmt: skip

_AT_IMPORT = "do it at import time and keep the result"
_BY_NAME = "call the function by its name: `getattr(model, name)(x)` in place of running text as code"

#: What is there wherever compiled code runs.
PRESENT = sys.stdlib_module_names | {"torch", "numpy"}

BREAKS = (
    """\
SCALE = 2.0


def f(x):
    return x * globals()["SCALE"]  # GB0059
""",
    """\
import importlib


def f(x):
    math = importlib.import_module("math")  # GB0007
    return x * math.pi
""",
    """\
import inspect


def f(x):
    caller = inspect.currentframe()  # GB0007
    return x * 2
""",
    """\
def f(x):
    class Output:  # GB8977
        pass

    return x * 2
""",
    """\
def f(x):
    try:
        import no_such_attention  # GB0069
    except ImportError:
        pass
    return x * 2
""",
    """\
# torch <2.14
def f(x):
    if callable(x.relu):  # GB0059
        return x.relu()
    return x
""",
    """\
# torch >=2.9
import inspect


def f(x):
    def scale(t, factor=2):
        return t * factor

    if "factor" in inspect.signature(scale).parameters:  # GB0088
        return scale(x)
    return x
""",
)

CLEAN = (
    """\
SCALE = 2.0


def f(x):
    return x * SCALE
""",
    """\
def f(x):
    import math

    return x * math.pi
""",
    """\
# torch >=2.13
import importlib.util


def f(x):
    if importlib.util.find_spec("no_such_attention") is None:
        return x * 2
    return x
""",
    """\
try:
    import no_such_attention
except ImportError:
    no_such_attention = None


def f(x):
    return x * 2 if no_such_attention is None else x
""",
    """\
class Output:
    def __init__(self, value):
        self.value = value


def f(x):
    return Output(x * 2).value
""",
    """\
# torch >=2.9
import inspect


def scale(t, factor=2):
    return t * factor


def f(x):
    if inspect.isfunction(scale) and "factor" in inspect.signature(scale).parameters:
        return scale(x)
    return x
""",
    """\
# torch >=2.13
def f(x):
    names = locals()
    return x * len(names) if hasattr(x, "relu") and isinstance(x, object) else x
""",
    """\
def scale(t):
    return t * 2


def f(x):
    return scale(x) if callable(scale) else x
""",
    """\
def f(x):
    try:
        import packaging
    except ImportError as error:
        raise RuntimeError("packaging has to be installed for this") from error
    return x * 2
""",
)


def watches(name: str) -> bool:
    return name in ("builtins.callable", "inspect.signature") or name in LOOKS


def check_call(event: Call) -> Hit | None:
    of_method = event.qualname == "builtins.callable" and any(
        isinstance(arg, Method) and isinstance(arg.receiver, Tensor) for arg in event.args
    )
    of_closure = event.qualname == "inspect.signature" and any(_is_nested(arg) for arg in event.args)
    if not of_method and not of_closure and event.qualname not in LOOKS:
        return None
    hit = _hit(event, code(event), _BY_NAME if event.qualname == "builtins.exec" else _AT_IMPORT)
    return replace(hit, torch="<2.14") if of_method else hit


def check_define(event: Define) -> Hit:
    return _hit(event, f"class statement `{event.name}`", "define the class at module level")


def check_import(event: Import) -> Hit | None:
    if not event.optional or all(name.partition(".")[0] in PRESENT for name in event.names):
        return None
    return _hit(
        event,
        f"optional {code(event)}, which breaks where the module is missing",
        "try the import at the top of the file and test a flag here",
        sure=False,
    )


def _hit(event: Call | Define | Import, what: str, suggestion: str, sure: bool = True) -> Hit:
    return Hit(event, what, suggestion, certainty(event) if sure else "likely", consequence=consequence(event))


def _is_nested(value: Value) -> bool:
    """A function that was defined inside another; the signature of one at module level is traced."""
    return isinstance(value, Function) and getattr(value.cells, "kind", "") == "function"


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    rewrites = (known_parameter, hoist_constant, read_global, own_name, always_callable, hoist_definition)
    return first_fit(hit, editor, guard_host, *rewrites)
