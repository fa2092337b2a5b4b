"""A log of torch that does not exist, or is given what it does not take.

What: A name in `os.environ["TORCH_LOGS"]` that is a slip of one that torch has ("recompile" for "recompiles"), an
argument of `torch._logging.set_logs` that does not exist, and a bool for a component (`dynamo=True`) or a level for an
artifact (`graph_breaks=logging.DEBUG`).

Why: With a wrong name in `TORCH_LOGS`, `import torch` raises ValueError; `set_logs` raises TypeError for an argument
that it does not have, and ValueError for a value of the wrong kind. The names are those of the installed torch; without
one nothing is reported.

Fix: Use the name that the message shows; a component takes a level such as `logging.DEBUG`, an artifact a bool.
"""

from __future__ import annotations

from graphdoctor.config.suggestions import slip
from graphdoctor.model.findings import Severity
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import MISSING, Store, TrackedObject, Use
from graphdoctor.target_torch.log_names import LogNames, installed_logs

from ._log_variable import is_read_already, sets_logs
from ._shared import code

CODE = "GD627"
NAME = "unknown-log"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import os


def loud():
    os.environ["TORCH_LOGS"] = "+dynamo,recompile"  # flagged
    import torch


def f(x):
    return x * 2
""",
    """\
import torch

torch._logging.set_logs(graph_break=True)  # raises


def f(x):
    return x * 2
""",
    """\
import torch

torch._logging.set_logs(dynamo=True)  # raises


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import os


def loud():
    os.environ["TORCH_LOGS"] = "+dynamo,recompiles,torch.fx"


def f(x):
    return x * 2
""",
    """\
import logging

import torch


def loud():
    torch._logging.set_logs(dynamo=logging.DEBUG, graph_breaks=True)


def f(x):
    return x * 2
""",
    """\
import torch


def loud(logs):
    torch._logging.set_logs(**logs)


def f(x):
    return x * 2
""",
    """\
import os


def loud(names):
    os.environ["TORCH_LOGS"] = names


def f(x):
    return x * 2
""",
)


def check_store(event: Store) -> Hit | None:
    return _variable(event, event.tracked) if sets_logs(event) and not is_read_already(event) else None


def check_use(event: Use) -> Hit | None:
    step = event.step
    names = installed_logs()
    if step.name == "os.environ.setdefault":
        return _variable(event, step.args[1]) if len(step.args) == 2 and step.args[0].value == "TORCH_LOGS" else None
    if step.name != "torch._logging.set_logs" or names is None:
        return None
    for name, value in step.kwargs.items():
        if name not in names.arguments and name not in ("**", "*"):
            meant = slip(name, names.arguments)
            words = f"`set_logs` has no argument `{name}` and raises TypeError{_caught(event)}"
            advice = f"did you mean `{meant}`?" if meant else "see `help(torch._logging.set_logs)`"
            return Hit(event, words, advice, severity=_severity(event))
        wrong = _wrong_kind(name, value, names)
        if wrong:
            words = f"{code(event)} raises ValueError{_caught(event)}: {wrong}"
            return Hit(event, words, "give it that", severity=_severity(event))
    return None


def _caught(event: Use) -> str:
    return ", which is caught, so that nothing is logged" if "try" in event.site.guards else ""


def _severity(event: Use) -> Severity | None:
    return "warning" if "try" in event.site.guards else None


def _variable(event: Store | Use, value: TrackedObject) -> Hit | None:
    names = installed_logs()
    if names is None or not isinstance(value.value, str):
        return None
    known = names.components | names.artifacts | {"all", "help"}
    for each in value.value.split(","):
        name = each.strip().lstrip("+-")
        meant = None if name in known or "." in name else slip(name, known)
        if meant:
            return Hit(event, f"torch has no log `{name}`, and `import torch` raises ValueError", f"use `{meant}`")
    return None


def _wrong_kind(name: str, value: TrackedObject, names: LogNames) -> str:
    """What is wrong with the value of an argument, if anything is known to be."""
    if name in names.components and value.value is True:
        return f"`{name}` takes a level, such as `logging.DEBUG`"
    level = value.name.startswith("logging.") or (value.value is not MISSING and type(value.value) is int)
    return f"`{name}` takes a bool" if name in names.artifacts and level else ""
