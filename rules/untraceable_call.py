"""A library function that Dynamo does not trace.

What: Functions written in C, and Python functions that rest on them: `hashlib`, `uuid`, `ctypes`, `gc`,
`bisect`, `heapq`, `statistics`, `decimal`, `zlib`, `base64`, `threading`; also the builtin `pow(t, 2)` on a
tensor and `ast.literal_eval`.

Why: Dynamo interprets Python bytecode and knows a fixed set of C functions. At a call of any other it splits
the graph, runs it in Python, and compiles the rest separately.

Fix: Call it in `__init__` or at module level and keep the result. Write `t**2` for `pow(t, 2)`, and torch
functions where data is meant: `torch.bucketize` for `bisect`, `x.mean()` for `statistics.mean`. A function
that is pure and returns constants can be marked with `torch.compiler.assume_constant_result`.
"""

from __future__ import annotations

from graphdoctor.static.events import Call
from graphdoctor.static.rule import Hit
from graphdoctor.static.values import may_be_tensor

from ._shared import certainty, code, consequence, within

CODE = "GD405"
NAME = "untraceable-call"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0156", "GB0134", "GB0147", "GB0059", "GB0142", "GB0092", "GB0299")
TORCH = ">=2.6"

#: Functions, or packages all of whose functions, that were seen to break on torch 2.13.
UNTRACED = frozenset((
    "hashlib", "uuid", "ctypes", "gc", "bisect", "heapq", "statistics", "zlib", "base64", "binascii", "secrets",
    "cmath", "array", "signal", "atexit", "locale", "resource", "tracemalloc", "decimal.Decimal", "decimal.getcontext",
    "urllib.parse.quote", "ast.literal_eval", "types.SimpleNamespace", "threading.get_ident",
    "threading.current_thread", "threading.Thread", "threading.Lock", "threading.RLock", "queue.Queue",
    "concurrent.futures", "string.Template.substitute", "contextvars.ContextVar", "torch.utils.dlpack.to_dlpack",
))  # fmt: skip

BREAKS = (
    """\
import hashlib


def f(x):
    digest = hashlib.md5(b"abc").hexdigest()  # GB0007 GB0156
    return x * 2
""",
    """\
import uuid


def f(x):
    name = uuid.uuid4()  # GB0007
    return x * 2
""",
    """\
import bisect


def f(x):
    return x * bisect.bisect_left([1, 2, 3], 2)  # GB0007
""",
    """\
import statistics


def f(x):
    return x * statistics.mean([1, 2, 3])  # GB0134
""",
    """\
from decimal import Decimal


def f(x):
    limit = Decimal("1.5")  # GB0147
    return x * 2
""",
    """\
import ctypes


def f(x):
    number = ctypes.c_int(3)  # GB0156
    return x * 2
""",
    """\
def f(x):
    return pow(x, 2)  # GB0059
""",
    """\
import queue

jobs = queue.Queue()


def f(x):
    jobs.put(1)  # GB0142
    return x * 2
""",
    """\
import string


def f(x):
    text = string.Template("$a").substitute(a=1)  # GB0092 GB0299
    return x * 2
""",
)

CLEAN = (
    """\
import hashlib

DIGEST = hashlib.md5(b"abc").hexdigest()


def f(x):
    return x * len(DIGEST)
""",
    """\
def f(x):
    return x**2 + pow(2, 3)
""",
    """\
import re
import struct
import textwrap


def f(x):
    packed = struct.pack("i", len(textwrap.dedent(" a")))
    return x * 2 if re.match("a", "b") else x
""",
    """\
import fractions
import itertools
import operator


def f(x):
    pairs = list(itertools.permutations([1, 2]))
    return operator.mul(x, len(pairs)) * float(fractions.Fraction(1, 2))
""",
    """\
import collections


def f(x):
    window = collections.deque([x], maxlen=2)
    window.append(x * 2)
    return window[0] + len(collections.Counter([1, 1]))
""",
    """\
import functools


@functools.lru_cache
def scale(n):
    return n + 1


def f(x):
    return x * scale(3)
""",
    """\
import gc

import torch


def f(x):
    if not torch.compiler.is_compiling():
        gc.collect()
    return x * 2
""",
    """\
import torch


def f(x):
    return torch.bucketize(x, torch.tensor([0.5, 1.0]))
""",
    """\
from packaging import version

import torch


def f(x):
    if version.parse("2.0") > version.parse("1.0"):
        return x * 2
    return x
""",
    """\
def f(x):
    hashlib = {"md5": 2}
    return x * hashlib["md5"]
""",
)


def check_call(event: Call) -> Hit | None:
    power = event.qualname == "builtins.pow" and any(may_be_tensor(arg) for arg in event.args)
    if not power and not within(event.qualname, UNTRACED):
        return None
    return Hit(
        event,
        f"{code(event)} is not traced by Dynamo: {consequence(event)}",
        "write it with the operator `**`" if power else "call it in `__init__` or at module level and keep the result",
        certainty(event),
    )
