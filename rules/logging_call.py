"""A logger is called in compiled code.

What: Every method of a `logging` logger, `isEnabledFor` and a `debug` that is switched off included;
`logging.info` and its like; `logging.getLogger` itself; the loggers of transformers, diffusers and
accelerate, which are the same objects; `loguru.logger` and `absl.logging`.

Why: Dynamo does not trace loggers. Each call splits the graph whether or not a line is written. A warning
behind a test is only possible, since nothing shows that it is issued, unless the defaults of the arguments lead
there, or the block also does the work of a case.

Fix: Guard the call with `if not torch.compiler.is_compiling():`, or log in the code that calls the model.
Make the logger at module level.
"""

from __future__ import annotations

import re

from graphdoctor.fixes.branches.branch import leave_out_branch
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.static.domain.events import Call, GetAttr
from graphdoctor.static.domain.values import ExternalObject
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._message import certainty_of_message
from ._shared import certainty, code, consequence

CODE = "GD103"
NAME = "logging-call"
SEVERITY = "error"
GB_IDS = ("GB0291", "GB6215", "GB4841")
TORCH = ">=2.6"

#: ``logging.getLogger``, ``transformers.utils.logging.get_logger`` and the like, and a method of what they return.
LOGGER = re.compile(r"^(\w+\.)*(getLogger|get_logger|Logger|LoggerAdapter)(\.\w+)?$")
#: The functions of ``logging`` that use the root logger.
ROOT = re.compile(r"^logging\.(debug|info|warning|warn|error|critical|exception|log|basicConfig|disable)$")
#: Other packages that log. What gives another logger of loguru is traced.
PACKAGES = re.compile(
    r"^(loguru\.logger(\.(bind|opt|patch))?|absl\.logging)\.(?!(bind|opt|patch|level|contextualize)$)\w+$"
)
#: The functions of Lightning that log on rank zero only.
RANK_ZERO = re.compile(r"\.rank_zero_(debug|info)$")

BREAKS = (
    """\
import logging

logger = logging.getLogger(__name__)


def f(x):
    h = x.relu()
    logger.info("shape %s", h.shape)  # GB0291
    return h * 2
""",
    """\
import logging

logger = logging.getLogger(__name__)


def f(x):
    if logger.isEnabledFor(logging.DEBUG):  # GB0291
        x = x + 0
    return x * 2
""",
    """\
import logging


def f(x):
    log = logging.getLogger("late")  # GB6215
    return x * 2
""",
    """\
import logging


def f(x):
    logging.warning("on the root logger")  # GB4841
    return x * 2
""",
    """\
from transformers.utils import logging

logger = logging.get_logger(__name__)


def f(x):
    logger.warning_once("use_cache is ignored")  # GB0291
    return x * 2
""",
)

CLEAN = (
    """\
import logging

import torch

logger = logging.getLogger(__name__)


def f(x):
    h = x.relu()
    if not torch.compiler.is_compiling():
        logger.info("shape %s", h.shape)
    return h * 2
""",
    """\
import logging

import torch.nn as nn

logger = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        logger.info("building")

    def forward(self, x):
        return x * 2
""",
    """\
import logging

LEVEL = logging.DEBUG


def f(x):
    return x * LEVEL
""",
    """\
import math


def f(x):
    return x * math.log(2.0)
""",
    """\
def f(x):
    return x.log() + x.logsumexp(0)
""",
    """\
import torch


class Logger:
    def info(self, text):
        return None


logger = Logger()


def f(x):
    logger.info("an object of this file is traced like any other")
    return x * 2
""",
)


def watches(name: str) -> bool:
    return any(pattern.search(name) for pattern in (LOGGER, ROOT, PACKAGES, RANK_ZERO)) and not name.startswith(
        "torch."
    )


def check_call(event: Call) -> Hit | None:
    if event.qualname == "logging.getLogger" and not event.args and not event.kwargs:
        # The root logger is an object that exists.
        return None
    return Hit(
        event,
        f"{code(event)} calls a logger",
        "put it under `if not torch.compiler.is_compiling():`, or log in the code that calls the model",
        certainty_of_message(event),
        consequence=consequence(event),
    )


def check_getattr(event: GetAttr) -> Hit | None:
    receiver = event.receiver
    if not (isinstance(receiver, ExternalObject) and LOGGER.match(receiver.qualname) and event.name == "level"):
        return None
    return Hit(
        event,
        f"{code(event)} reads a logger",
        "read the level once, outside the compiled function",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, guard_statement, guard_host, leave_out_branch)
