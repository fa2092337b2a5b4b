"""The rules that ship with graphdoctor, every module of ``graphdoctor.rules``, and which of them a scan uses."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from graphdoctor.static.rule import Rule, load
from graphdoctor.target_torch import specifiers


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """All rules, ordered by code. Modules whose name begins with an underscore are shared tables, not rules."""
    # Installed from the folder rules/ beside the engine, so it is looked up by name.
    package = importlib.import_module("graphdoctor.rules")
    names = [m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")]
    loaded = [load(importlib.import_module(f"graphdoctor.rules.{name}")) for name in names]
    return tuple(sorted(loaded, key=lambda rule: rule.code))


def holding(among: Iterable[Rule], torch: str) -> tuple[Rule, ...]:
    """The rules that hold in the version ``torch``, asked about it."""
    return tuple(replace(rule, target=torch) for rule in among if specifiers.allows(rule.torch, torch))
