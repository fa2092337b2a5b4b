"""The examples of a rule as complete programs, and what their marks say of them.

A line that breaks ends in a comment with its ids, one on which the call itself fails in ``# raises``. Where a rule does
not flag just the lines that break, those that it flags end in ``flagged``. An example that does so on some versions of
torch only has a line with them: ``# torch >=2.13``.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from textwrap import shorten
from types import ModuleType
from typing import Any

import graphdoctor.rules

_RANGE = re.compile(r"^# torch (\S+)$", re.MULTILINE)
_MARK = re.compile(r"#(( GB\d{4})+( flagged)?| raises| flagged)$")

#: Makes an example, which defines ``f`` or ``Net``, a complete program: compiled for one positive 4 x 8 input.
_TARGET = """

def graphdoctor_target():
    import torch

    return {target}, (torch.rand(4, 8) + 0.5,)
"""


def rules() -> list[ModuleType]:
    """The modules of the rules, by name."""
    found = sorted(pkgutil.iter_modules(graphdoctor.rules.__path__), key=lambda module: module.name)
    return [importlib.import_module(f"graphdoctor.rules.{m.name}") for m in found if not m.name.startswith("_")]


def examples(rule: ModuleType) -> dict[str, str]:
    """The complete examples of ``rule``: ``{"print_in_graph_breaks_0": source}``."""
    short = rule.__name__.rpartition(".")[2] + ("_again" if rule.CODE.startswith("GD7") else "")
    kinds = (("breaks", rule.BREAKS), ("clean", rule.CLEAN))
    return {f"{short}_{kind}_{i}": complete(s) for kind, sources in kinds for i, s in enumerate(sources)}


def complete(source: str) -> str:
    """``source`` with a target, added at the end where it declares none."""
    if "def graphdoctor_target" in source:
        return source
    return source + _TARGET.format(target="Net().eval()" if "class Net" in source else "f")


def holds_on(rule: ModuleType, source: str) -> str:
    """The versions of torch that an example says it holds on: its own, else those of its rule."""
    own = _RANGE.search(source)
    return own[1] if own is not None else str(rule.TORCH)


def marks(source: str) -> dict[int, list[str]]:
    """The marked lines and their words: ``{3: ["GB0059"]}``."""
    found = {number: _MARK.search(line) for number, line in enumerate(source.splitlines(), 1)}
    return {number: match.group(1).split() for number, match in found.items() if match}


def breaks(source: str) -> dict[str, list[str]]:
    """The lines on which an example says that it breaks, as ``run`` reports them: ``{"3": ["GB0059"]}``."""
    return {str(n): [w for w in words if w != "flagged"] for n, words in marks(source).items() if "GB" in words[0]}


def difference(name: str, source: str, ran: Mapping[str, Any]) -> str:
    """How what an example did under Dynamo differs from what it says; empty where it does not. Ids are not compared."""
    expected, found = list(breaks(source)), sorted(ran["breaks"], key=int)
    raises = ["raises"] in marks(source).values()
    if bool(ran["raised"]) is not raises:
        return f"raises {shorten(ran['raised'], 120, placeholder=' ...')}" if ran["raised"] else "does not raise"
    if found != expected:
        return f"breaks on {_lines(found)} instead of {_lines(expected)}"
    if "_again_" in name and (ran["compiled"] > 1) is not ("_breaks_" in name):
        return f"compiled {ran['compiled']} times"
    return ""


def _lines(numbers: list[str]) -> str:
    return f"line {', '.join(numbers)}" if numbers else "no line"
