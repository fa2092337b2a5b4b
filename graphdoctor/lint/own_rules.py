"""Rules of a project: the files in the folders that are its ``rules``.

These files are executed, so the folders must be those that the user allowed: see ``graphdoctor.config.permission``.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import get_args

from graphdoctor.config.suggestions import hint
from graphdoctor.model.findings import Severity
from graphdoctor.static.domain import events
from graphdoctor.static.rule import Rule, load
from graphdoctor.target_torch import specifiers

_CODE = re.compile(r"[A-Z]+[0-9]+")

#: Codes of graphdoctor's rules, and ids of Dynamo's graph breaks.
_TAKEN = re.compile(r"(GD|GB)[0-9]+")

_EVENTS = frozenset(
    name.lower()
    for name, kind in vars(events).items()
    if isinstance(kind, type) and issubclass(kind, events.Event) and kind is not events.Event
)


@dataclass(frozen=True)
class OwnRules:
    """The rules that could be loaded, and one line for each file that could not."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


def load_folders(folders: Sequence[Path], shipped: Iterable[Rule]) -> OwnRules:
    """Load every Python file of ``folders`` whose name begins with no underscore; ``shipped`` rules keep their names.

    A file that cannot be used costs only its own rules.
    """
    taken = {rule.name: rule.code for rule in shipped}
    rules: list[Rule] = []
    problems: list[str] = []
    with _no_bytecode():
        for number, folder in enumerate(folders):
            package = _package(f"graphdoctor_own_rules_{number}", folder)
            for file in sorted(folder.glob("[!_]*.py")):
                try:
                    rule = load(_execute(f"{package}.{file.stem}", file))
                    _check(rule, taken)
                # An exit at the top level too costs only the file.
                except (Exception, SystemExit) as error:
                    reason = _reason(error).removeprefix(f"{package}.{file.stem}: ")
                    problems.append(f"rule file {file} is not used: {' '.join(reason.split())}")
                    continue
                taken |= {rule.name: rule.code, rule.code: rule.code}
                rules.append(rule)
    return OwnRules(tuple(sorted(rules, key=lambda rule: rule.code)), tuple(problems))


def _package(name: str, folder: Path) -> str:
    """A package for the files of ``folder``, so that ``from ._shared import ...`` works. Returns its name."""
    # Modules of an earlier load would hide what the files have now.
    for known in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[known]
    module = ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module
    return name


def _execute(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError("cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _check(rule: Rule, taken: dict[str, str]) -> None:
    """Raises ValueError with what is wrong with the parts of ``rule``."""
    if not isinstance(rule.code, str) or not _CODE.fullmatch(rule.code):
        raise ValueError(f"CODE must be capital letters and digits, such as ACME1, not {rule.code!r}")
    if _TAKEN.fullmatch(rule.code):
        raise ValueError(f"codes like {rule.code} belong to graphdoctor and Dynamo; take letters of your own")
    for word in (rule.code, rule.name):
        if word in taken:
            raise ValueError(f"{word} is taken by {taken[word]}")
    if rule.severity not in get_args(Severity):
        raise ValueError(f"SEVERITY must be one of {', '.join(get_args(Severity))}, not {rule.severity!r}")
    specifiers.allows(rule.torch, "2.6")
    for event in rule.checks:
        if event not in _EVENTS:
            advice = hint(event, _EVENTS, f"there are {', '.join(sorted(_EVENTS))}")
            raise ValueError(f"there is no event for check_{event}; {advice}")
    if not rule.checks:
        raise ValueError("a rule needs a function check_<event>, such as check_call")


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return str(error)
    return f"{type(error).__name__}: {error}"


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Without .pyc files in the user's folder."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
