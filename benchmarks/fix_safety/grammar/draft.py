"""A program while it is written: what its parts need of imports, globals, attributes, methods and arguments."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TypeVar

from benchmarks.fix_safety.grammar.definitions import (
    ALSO,
    GLOBALS,
    HELD,
    IMPORTS,
    LAYER_NAMES,
    LAYERS,
    METHODS,
    NEEDS,
    STANDS_IN,
)

T = TypeVar("T")

_HOLE = re.compile(r"\{(\w+)\}")
_INDENT = "    "


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
        # One odd thing in usual code says more than ten: where all is odd, nothing is fixed.
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
        self.need(*NEEDS.get(name, ()))
        for other in ALSO.get(name, ()):
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
        for start, line in IMPORTS.items():
            if re.search(rf"\b{start}\.", text):
                self.need(line)
        for name in ("Scale", "Plain"):
            if f"{name}(" in text:
                self.use(name)

    def fill(self, template: str, **fixed: str) -> str:
        """``template`` with its holes filled; ``fixed`` are fixed, the others are drawn."""

        def draw(match: re.Match[str]) -> str:
            return fixed[match[1]] if match[1] in fixed else self._hole(match[1])

        text = _HOLE.sub(draw, template)
        self.need_for(text)
        return text

    def _hole(self, hole: str) -> str:
        if hole in GLOBALS:
            return self.use(hole)
        if hole in HELD:
            return self.hold(self.pick(HELD[hole]))
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
        if hole in METHODS and self.is_net:
            text, start = METHODS[hole]
            if hole not in self.methods and start:
                self.init.append(start)
            self.methods[hole] = text
            return f"self.{hole}"
        return self.use(STANDS_IN[hole])

    def _layer(self) -> str:
        if not self.is_net:
            return self.use("pure")
        self.features.add("submodule")
        return self.hold(self.pick(LAYERS), self.pick(LAYER_NAMES))

    def block(self, lines: Sequence[str], depth: int = 1) -> list[str]:
        """``lines`` further in."""
        return [f"{_INDENT * depth}{line}" if line else line for line in lines]
