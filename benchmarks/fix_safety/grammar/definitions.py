"""What programs use by name: globals, helper classes, what attributes hold, submodules, methods, imports."""

from __future__ import annotations

_LOUD = """\
class Loud:
    def __init__(self):
        self.shown = 0

    def __str__(self):
        self.shown += 1
        return "loud"

    def __bool__(self):
        self.shown += 1
        return True

    def __lt__(self, other):
        self.shown += 1
        return True

    @property
    def value(self):
        self.shown += 1
        return self.shown

    def __add__(self, other):
        self.shown = other
        return other

    __radd__ = __add__

    def add(self, by):
        self.shown += by
        return self.shown

    def format(self, *values):
        self.shown += 1
        return str(values)


LOUD = Loud()"""

_SCALE = """\
class Scale(nn.Module):
    def __init__(self, by=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(by))
        self.calls = 0

    def forward(self, value):
        self.calls += 1
        return value * self.weight"""

_PLAIN = """\
class Plain(nn.Module):
    def __init__(self, by=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(by))

    def forward(self, value):
        return value * self.weight"""

_BOX = """\
class Box:
    def __init__(self, held):
        self.held = held
        self.reads = 0

    def __getattr__(self, name):
        self.__dict__["reads"] += 1
        return getattr(self.__dict__["held"], name)

    def __mul__(self, by):
        return Box(self.held * by)


BOX = Box(torch.ones(3))"""

#: Definitions at the top of the module; ``{NAME}`` in a template asks for one.
GLOBALS = {
    "COUNTS": "COUNTS = []",
    "ITEMS": "ITEMS = [3, 1, 2]",
    "IT": "IT = iter([4, 5, 6, 7, 8, 9])",
    "NUMBERS": "NUMBERS = itertools.count()",
    "BUF": "BUF = io.StringIO()",
    "QUEUE": "QUEUE = queue.Queue()\nfor _item in range(9):\n    QUEUE.put(_item)",
    "TABLE": "TABLE = collections.defaultdict(list)",
    "DICT": 'DICT = {"a": 1, "b": 2.5}',
    "LIMIT": "LIMIT = 0.5",
    "SCALE": "SCALE = 2.0",
    "COUNT": "COUNT = 0",
    "LOG": "LOG = logging.getLogger(__name__)",
    "GENERATOR": "GENERATOR = (i for i in range(9))",
    "CONST": "CONST = torch.ones(3)",
    "LOUD": _LOUD,
    "BOX": _BOX,
    "helper": "def helper(value):\n    COUNTS.append(1)\n    return value",
    "pure": "def pure(value):\n    return value * 2",
    "condition": "def condition(value):\n    return value",
    "same": "def same(value):\n    return value",
    "Scale": _SCALE,
    "Plain": _PLAIN,
    "LANGUAGE": (
        "LANGUAGE = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=4, n_positions=8, vocab_size=8)).eval()"
    ),
}

#: The imports and the other globals that a definition uses.
NEEDS = {
    "NUMBERS": ("import itertools",),
    "BUF": ("import io",),
    "QUEUE": ("import queue",),
    "TABLE": ("import collections",),
    "LOG": ("import logging",),
    "CONST": ("import torch",),
    "BOX": ("import torch",),
    "LANGUAGE": ("from transformers import GPT2Config, GPT2LMHeadModel",),
    "Scale": ("import torch", "from torch import nn"),
    "Plain": ("import torch", "from torch import nn"),
}
ALSO = {"helper": ("COUNTS",)}

#: What an attribute of the module (a global, where there is none) may hold, by the hole that asks for it.
HELD = {
    "number": ("2.0", "3", "0.5", "True", "-1", "1e-3", "0.1", "16777217", "math.pi", "10**30", "float('nan')"),
    "anything": ("2.0", "3", '"text"', "None", "[1, 2]", "True", "torch.ones(3)", "torch.tensor(2.0)", "(1, 2)"),
    "held": (
        "torch.ones(3)", "torch.tensor(2.0)", "torch.zeros(())", "nn.Parameter(torch.ones(3))", "torch.arange(3)",
        "nn.Parameter(torch.tensor(0.5))", "torch.ones(2, 3, dtype=torch.float64)",
    ),
}  # fmt: skip

#: Submodules of different behaviour, and names for them, some of which are names of tensor methods.
LAYERS = (
    "nn.Linear(3, 3)", "nn.PReLU()", "nn.ReLU()", "Scale()", "Plain()", "nn.Dropout(0.5)", "nn.BatchNorm1d(3)",
    "nn.LayerNorm(3)", "nn.Identity()", "nn.Softplus()", "nn.Sequential(nn.Linear(3, 3), Scale())",
    "nn.ReLU(inplace=True)",
)  # fmt: skip
LAYER_NAMES = (
    "mean", "abs", "relu", "sum", "max", "any", "norm", "sigmoid", "clone", "neg", "fc", "drop", "gate", "act", "item",
)  # fmt: skip

#: Methods and properties of the module, with what they need in its constructor.
METHODS = {
    "score": (
        "    def score(self, value):\n        self.scored = self.scored + 1\n        return value.sum()",
        "self.scored = 0",
    ),
    "remember": ("    def remember(self, value):\n        self.seen.append(1)\n        return value", "self.seen = []"),
    "plainly": ("    def plainly(self, value):\n        return value.mean()", ""),
    "total": (
        "    @property\n    def total(self):\n        self.asked += 1\n        return float(self.asked)",
        "self.asked = 0",
    ),
}
#: What stands in for a method in a function, which has none.
STANDS_IN = {"total": "LIMIT", "score": "helper", "remember": "helper", "plainly": "pure"}

#: The import that a name in front of a dot asks for.
IMPORTS = {
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    **{
        name: f"import {name}"
        for name in (
            "collections", "contextlib", "copy", "functools", "inspect", "io", "itertools", "logging", "math",
            "operator", "os", "pprint", "queue", "random", "sys", "threading", "time", "types", "warnings",
        )
    },
}  # fmt: skip
