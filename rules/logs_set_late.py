"""The logs of torch are set when torch has read them.

What: `os.environ["TORCH_LOGS"] = ...` below the `import torch` of the file.

Why: torch reads the variable once, when it is imported; what is set later has no effect in this process. It does in the
processes that it starts, so a file that starts some is not reported.

Fix: Set it above every import of torch, or call `torch._logging.set_logs`.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Store

from ._log_variable import is_read_already, sets_logs

CODE = "GD631"
NAME = "logs-set-late"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import os

import torch

os.environ["TORCH_LOGS"] = "recompiles"  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import os

os.environ["TORCH_LOGS"] = "recompiles"

import torch


def f(x):
    return x * 2
""",
    """\
import os
import subprocess
import sys

import torch

os.environ["TORCH_LOGS"] = "recompiles"
subprocess.run([sys.executable, "-c", "import torch"])


def f(x):
    return x * 2
""",
    """\
import os


def loud():
    os.environ["TORCH_LOGS"] = "recompiles"


loud()

import torch


def f(x):
    return x * 2
""",
)


def check_store(event: Store) -> Hit | None:
    if not sets_logs(event) or not is_read_already(event):
        return None
    return Hit(
        event,
        "torch is imported above and has read `TORCH_LOGS`, so this has no effect",
        "set it above `import torch`, or call `torch._logging.set_logs`",
    )
