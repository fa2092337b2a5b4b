"""A program while it is written: what its parts need of imports, globals, attributes, methods and arguments."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_HOLE = re.compile(r"\{(\w+)\}")
_INDENT = "    "

#: Definitions that programs use by name; ``{name}`` in a template asks for one.
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
    "LOUD": (
        "class Loud:\n    def __init__(self):\n        self.shown = 0\n\n    def __str__(self):\n        self.shown += 1\n"
        '        return "loud"\n\n    def __bool__(self):\n        self.shown += 1\n        return True\n\n'
        "    @property\n    def value(self):\n        self.shown += 1\n        return self.shown\n\n"
        "    def add(self, by):\n        self.shown += by\n        return self.shown\n\n"
        "    def format(self, *values):\n        self.shown += 1\n        return str(values)\n\n\nLOUD = Loud()"
    ),
    "helper": "def helper(value):\n    COUNTS.append(1)\n    return value",
    "pure": "def pure(value):\n    return value * 2",
    "Scale": (
        "class Scale(nn.Module):\n    def __init__(self, by=0.5):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.tensor(by))\n        self.calls = 0\n\n"
        "    def forward(self, value):\n        self.calls += 1\n        return value * self.weight"
    ),
    "Plain": (
        "class Plain(nn.Module):\n    def __init__(self, by=0.5):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.tensor(by))\n\n"
        "    def forward(self, value):\n        return value * self.weight"
    ),
}
_NEEDS = {
    "COUNTS": (), "NUMBERS": ("import itertools",), "BUF": ("import io",), "QUEUE": ("import queue",),
    "TABLE": ("import collections",), "LOG": ("import logging",), "CONST": ("import torch",),
    "Scale": ("import torch", "from torch import nn"), "Plain": ("import torch", "from torch import nn"),
}  # fmt: skip
_ALSO = {"helper": ("COUNTS",)}

#: What an attribute of ``Net`` (a global of a function) may hold, by the hole that asks for it.
_HELD = {
    "number": ("2.0", "3", "0.5", "True", "-1", "1e-3", "0.1", "16777217", "math.pi"),
    "anything": ("2.0", "3", '"text"', "None", "[1, 2]", "True", "torch.ones(3)", "torch.tensor(2.0)", "(1, 2)"),
    "held": ("torch.ones(3)", "torch.tensor(2.0)", "torch.zeros(())", "nn.Parameter(torch.ones(3))",
             "nn.Parameter(torch.tensor(0.5))", "torch.ones(2, 3, dtype=torch.float64)", "torch.arange(3)"),
}  # fmt: skip
#: Submodules, by how their call behaves; some have the names of tensor methods.
_MODULES = {
    "layer": ("nn.Linear(3, 3)", "nn.PReLU()", "nn.ReLU()", "Scale()", "Plain()", "nn.Dropout(0.5)", "nn.BatchNorm1d(3)",
              "nn.LayerNorm(3)", "nn.Identity()", "nn.Softplus()", "nn.Sequential(nn.Linear(3, 3), Scale())"),
}  # fmt: skip
_MODULE_NAMES = (
    "mean",
    "abs",
    "relu",
    "sum",
    "max",
    "any",
    "norm",
    "sigmoid",
    "clone",
    "neg",
    "fc",
    "drop",
    "gate",
    "act",
)
_METHODS = {
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


class Draft:
    """Collects the parts of one program; ``fill`` draws what stands in the holes of a template."""

    def __init__(self, rng: random.Random, is_net: bool) -> None:
        self.rng = rng
        self.is_net = is_net
        self.imports: dict[str, None] = {"import torch": None}
        self.globals: dict[str, str] = {}
        self.init: list[str] = []
        self.methods: dict[str, str] = {}
        self.arguments: dict[str, tuple[str, str]] = {"x": ("tensor", "")}
        self.features: set[str] = set()
        self.sample: list[str] = []
        self._number = 0
        # One odd thing in code that is otherwise as people write it says more than ten: where all is odd, nothing is fixed.
        self._odd = rng.choice((0, 1, 1, 1, 2, 2, 9))

    def odd(self, share: float) -> bool:
        """Whether to leave the usual way here; a program does so only a few times."""
        if self._odd == 0 or self.rng.random() >= share:
            return False
        self._odd -= 1
        return True

    def pick(self, options: Sequence[T]) -> T:
        """One of ``options``."""
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """True in ``share`` of the cases."""
        return self.rng.random() < share

    def fresh(self, start: str) -> str:
        """A name that nothing else has."""
        self._number += 1
        return f"{start}{self._number}"

    def need(self, *imports: str) -> None:
        """Import what a part uses."""
        self.imports.update(dict.fromkeys(imports))

    def use(self, name: str) -> str:
        """A global of ``GLOBALS``, defined."""
        self.need(*_NEEDS.get(name, ()))
        for other in _ALSO.get(name, ()):
            self.use(other)
        self.globals.setdefault(name, GLOBALS[name])
        return name

    def argument(self, name: str, role: str, default: str = "") -> str:
        """An argument of the function, of one of the roles that inputs are drawn for."""
        self.arguments.setdefault(name, (role, default))
        return name

    def hold(self, value: str, name: str = "") -> str:
        """A place that holds ``value``: an attribute of the module, or a global."""
        self.need_for(value)
        if self.is_net:
            name = name or self.fresh("held_")
            buffer = "torch." in value and "Parameter" not in value and self.chance(0.4)
            self.init.append(f'self.register_buffer("{name}", {value})' if buffer else f"self.{name} = {value}")
            return f"self.{name}"
        name = name or self.fresh("HELD_")
        self.globals[name] = f"{name} = {value}"
        return name

    def need_for(self, text: str) -> None:
        """Import what ``text`` names."""
        for start, line in _IMPORTS.items():
            if re.search(rf"\b{start}\.", text):
                self.need(line)
        for name in ("Scale", "Plain"):
            if f"{name}(" in text:
                self.use(name)

    def fill(self, template: str, **given: str) -> str:
        """``template`` with its holes filled; ``given`` are fixed, the others are drawn."""

        def draw(match: re.Match[str]) -> str:
            return given[match[1]] if match[1] in given else self._hole(match[1])

        text = _HOLE.sub(draw, template)
        self.need_for(text)
        return text

    def _hole(self, hole: str) -> str:
        if hole in GLOBALS:
            return self.use(hole)
        if hole in _HELD:
            return self.hold(self.pick(_HELD[hole]))
        if hole == "k":
            return self.pick(("0", "1", "2", "0.5", "-1", "0.1", "3", "1e-3"))
        if hole == "n":
            return self.argument("n", "scalar", self.pick(("", "2", "0.5", "None")))
        if hole == "flag":
            return self.argument("flag", "flag", self.pick(("", "True")))
        if hole == "o":
            return self.argument("other", "tensor", "")
        if hole == "e":
            return self.argument("either", "either", "")
        if hole == "layer":
            return self._layer()
        if hole in _METHODS and self.is_net:
            text, start = _METHODS[hole]
            if hole not in self.methods and start:
                self.init.append(start)
            self.methods[hole] = text
            return f"self.{hole}"
        # A function has no methods; something of the module stands in.
        stands_in = {"total": "LIMIT", "score": "helper", "remember": "helper", "plainly": "pure"}
        return self.use(stands_in[hole])

    def _layer(self) -> str:
        if not self.is_net:
            return self.use("pure")
        self.features.add("submodule")
        return self.hold(self.pick(_MODULES["layer"]), self.pick(_MODULE_NAMES))

    def block(self, lines: Sequence[str], depth: int = 1) -> list[str]:
        """``lines`` further in."""
        return [f"{_INDENT * depth}{line}" if line else line for line in lines]


_IMPORTS = {
    "nn": "from torch import nn", "F": "import torch.nn.functional as F", "np": "import numpy as np",
    "random": "import random", "math": "import math", "os": "import os", "sys": "import sys", "time": "import time",
    "logging": "import logging", "warnings": "import warnings", "inspect": "import inspect", "copy": "import copy",
    "collections": "import collections", "types": "import types", "itertools": "import itertools", "io": "import io",
    "pprint": "import pprint", "operator": "import operator", "functools": "import functools",
    "contextlib": "import contextlib", "queue": "import queue", "threading": "import threading",
}  # fmt: skip
