"""Files, processes or the operating system are used in compiled code.

What: `open`, reading and writing files (`pathlib`, `torch.save`, `torch.load`, `json`, `tempfile`),
`os.path.exists` and its relatives, `os.getpid`, `os.cpu_count`, writes to `os.environ`, subprocesses and
sockets.

Why: Files and the operating system are not part of a graph: each such call splits it. What Dynamo does trace, such as
`os.environ.get`, is read once and becomes a constant of the graph, without a guard.

Fix: Do it in `__init__` or in the code that calls the model, and keep the result in an attribute.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.static.domain.events import Call, Subscript
from graphdoctor.static.domain.torch_tables import within
from graphdoctor.static.domain.values import External
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD404"
NAME = "os-and-files"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0059", "GB0092", "GB0142", "GB0156", "GB0294")
TORCH = ">=2.6"
SETUP = True

#: Functions, or packages all of whose functions, that were seen to break on torch 2.13.
OUTSIDE = frozenset((
    "builtins.open", "io.open", "io.BytesIO", "io.StringIO", "json", "orjson", "shutil", "glob",
    "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.NamedTemporaryFile", "tempfile.TemporaryFile",
    "tempfile.TemporaryDirectory", "tempfile.SpooledTemporaryFile",
    "subprocess", "socket", "psutil", "getpass", "marshal", "shelve", "torch.save", "torch.load", "torch.hub",
    "numpy.save", "numpy.load", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt", "numpy.loadtxt",
    "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap", "sys.getsizeof",
    "os.getcwd", "os.getpid", "os.getppid", "os.cpu_count",
    "os.putenv", "os.unsetenv", "os.makedirs", "os.mkdir", "os.listdir", "os.scandir", "os.walk", "os.remove",
    "os.unlink", "os.rename", "os.replace", "os.rmdir", "os.system", "os.popen", "os.urandom", "os.stat", "os.chdir",
    "os.kill", "os.fork", "os.getuid", "os.getgid", "os.times", "os.uname",
    "os.environ.setdefault", "os.environ.pop", "os.environ.update", "os.environ.clear", "os.path.exists",
    "os.path.isfile", "os.path.isdir", "os.path.islink", "os.path.ismount", "os.path.lexists", "os.path.abspath",
    "os.path.realpath", "os.path.normpath", "os.path.relpath", "os.path.getsize", "os.path.getmtime",
    "os.path.getatime", "os.path.getctime",
))  # fmt: skip

#: Methods of ``pathlib.Path`` that ask the file system; joining and splitting paths is traced.
PATH_METHODS = frozenset((
    "exists", "is_file", "is_dir", "read_text", "read_bytes", "write_text", "write_bytes", "open", "stat", "resolve",
    "absolute", "cwd", "home", "mkdir", "unlink", "iterdir", "glob", "rglob", "touch",
))  # fmt: skip

BREAKS = (
    """\
import os


def f(x):
    if os.path.exists("/nowhere"):  # GB0007
        return x
    return x * 2
""",
    """\
import os


def f(x):
    os.environ["STEP"] = "1"  # GB0007
    return x * 2
""",
    """\
def f(x):
    with open("/dev/null") as stream:  # GB0059 GB0142
        return x * 2
""",
    """\
import pathlib


def f(x):
    if pathlib.Path("/nowhere").exists():  # GB0007 GB0092
        return x
    return x * 2
""",
    """\
import json


def f(x):
    text = json.dumps({"rows": 4})  # GB0156
    return x * 2
""",
    """\
import io

import numpy as np

BUFFER = io.BytesIO()


def f(x):
    np.save(BUFFER, x.numpy())  # GB0294
    return x * 2
""",
)

CLEAN = (
    """\
import os


def f(x):
    name = os.path.join("a", os.path.basename("b/c"))
    return x * 2
""",
    """\
import os


def f(x):
    if os.environ.get("STEP") == "1" or os.getenv("OTHER"):
        return x
    return x * 2
""",
    """\
import pathlib


def f(x):
    path = pathlib.Path("/nowhere") / "a"
    return x * 2
""",
    """\
import json

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = json.loads("[4, 8]")

    def forward(self, x):
        return x * self.rows[0]
""",
    """\
import os

import torch


def f(x):
    if not torch.compiler.is_compiling():
        os.makedirs("/tmp", exist_ok=True)
    return x * 2
""",
    """\
def f(x):
    return x.exp().log()
""",
    """\
# torch !=2.11
import platform
import sys


def f(x):
    return x * len(platform.system()) * len(sys.platform)
""",
)


def watches(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return (package.startswith("pathlib.") and last in PATH_METHODS) or within(name, OUTSIDE)


def check_call(event: Call) -> Hit | None:
    return _hit(event)


def check_subscript(event: Subscript) -> Hit | None:
    writes_environment = event.mode != "load" and event.receiver == External("os.environ")
    return _hit(event) if writes_environment else None


def _hit(event: Call | Subscript) -> Hit:
    return Hit(
        event,
        f"{code(event)} uses files or the operating system",
        "do it in `__init__` or in the code that calls the model",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(editor.parent(hit.place), cst.WithItem):
        # Entering it is what breaks, wherever it was made.
        return first_fit(hit, editor, guard_host)
    return first_fit(hit, editor, guard_host, hoist_constant)
