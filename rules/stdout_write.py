"""Writing to a stream, a progress bar or a debugger in compiled code.

What: `sys.stdout.write`, `sys.stderr.flush` and other methods of the standard streams,
`traceback.print_stack`, `click.echo`, rich, icecream, `tqdm` loops, `breakpoint()` and `pdb.set_trace()` in a function
that `torch.compile` traces.

Why: These calls act on objects that Dynamo does not trace. It compiles what stands before, runs the call in
Python and compiles the rest as another graph; a progress bar around a loop leaves the loop uncompiled.

Fix: Remove the call, put it under `if not torch.compiler.is_compiling():`, or do it in the code that calls
the model.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.fixes.python.wrappers import plain_iterable
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.torch_tables import within
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD102"
NAME = "stdout-write"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0008", "GB0156")
TORCH = ">=2.6"

#: Functions, or packages all of whose functions, that were seen to break on torch 2.13.
WRITERS = frozenset((
    "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "traceback.print_stack", "traceback.format_stack",
    "traceback.print_exc", "traceback.print_exception",
    "traceback.extract_stack", "click.echo", "click.secho", "tqdm", "rich", "icecream",
    "builtins.breakpoint", "builtins.input", "pdb.set_trace", "ipdb.set_trace",
))  # fmt: skip

BREAKS = (
    """\
import sys


def f(x):
    h = x.relu()
    sys.stdout.write("relu done")  # GB0156
    return h * 2
""",
    """\
import sys


def f(x):
    sys.stderr.flush()  # GB0156
    return x * 2
""",
    """\
import traceback


def f(x):
    traceback.print_stack()  # GB0007
    return x * 2
""",
    """\
from tqdm import tqdm


def f(x):
    for step in tqdm(range(3)):  # GB0007 GB0008
        x = x + step
    return x
""",
)

CLEAN = (
    """\
import sys

import torch


def f(x):
    h = x.relu()
    if not torch.compiler.is_compiling():
        sys.stdout.write("relu done")
    return h * 2
""",
    """\
import sys


def f(x):
    return x * 2 if sys.platform == "linux" else x
""",
    """\
# torch >=2.13
import traceback


def f(x):
    text = traceback.format_exc()
    return x * 2
""",
    """\
def f(x):
    for step in range(3):
        x = x + step
    return x
""",
    """\
def f(x):
    lines = []
    lines.append("relu done")
    return x * 2
""",
)


def watches(name: str) -> bool:
    # A builtin has no methods: ``input.is_complex()`` means a tensor that is not there.
    return name in WRITERS or (within(name, WRITERS) and not name.startswith("builtins."))


def check_call(event: Call) -> Hit | None:
    return Hit(
        event,
        f"{code(event)} has an effect outside of the graph",
        "remove it, or put it under `if not torch.compiler.is_compiling():`",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, guard_statement, plain_iterable)
