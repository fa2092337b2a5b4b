"""The rules of a scan: those of graphdoctor and of the project that apply to the target torch."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.config.permission import refusal
from graphdoctor.config.suggestions import hint
from graphdoctor.diagnosis import exports, unused
from graphdoctor.scan.options import UsageError
from graphdoctor.source.suppressions import matches
from graphdoctor.target_torch import specifiers
from graphdoctor.target_torch.installed import torch_available
from graphdoctor.target_torch.tested import OLDEST_TORCH

if TYPE_CHECKING:
    from graphdoctor.config.project import Config
    from graphdoctor.static.rule import Rule

_CODE = re.compile(r'^CODE = "(\w+)"', re.MULTILINE)
_NAME = re.compile(r'^NAME = "([\w-]+)"', re.MULTILINE)
_TORCH = re.compile(r'^TORCH = "([^"]+)"', re.MULTILINE)
#: The first characters of a code, which stand for all rules that begin with them.
_GROUP = re.compile(r"GD\d{1,2}")
_NO_IDS = re.compile(r"^GB_IDS = \(\)$", re.MULTILINE)

#: Codes without a rule: (code, name). What a run shows and no rule expects, a break or a failing export; a comment that
#: silences nothing; compiled code that was not in a cache.
RULELESS = (
    ("GD000", "graph-break"),
    (exports.CODE, exports.NAME),
    (unused.CODE, unused.NAME),
    ("GD003", "compile-cache-miss"),
)


@dataclass(frozen=True)
class RuleSet:
    """``rules`` are all, ``active`` those that apply. ``problems``: a line for each rule file that is not used."""

    rules: tuple[Rule, ...]
    active: tuple[Rule, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """The header of a rule's file. ``at_run``: it has graph-break ids, so that a run gives its code too."""

    code: str
    name: str
    at_run: bool
    torch: str


class LazyRuleSet:
    """The rules for some settings, loaded when first needed; names that comments may use are known without."""

    def __init__(self, settings: Config) -> None:
        self._settings = settings

    @cached_property
    def loaded(self) -> RuleSet:
        """The rules; the files in ``Config.rules`` are executed. Raises UsageError for unknown codes."""
        return ruleset(self._settings)

    @property
    def asked_torch(self) -> str | None:
        """The torch version that the settings ask for."""
        return self._settings.target_torch

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the user on rule files that are not used. Only rules of the project may have any, and be loaded."""
        return self.loaded.problems if self._settings.rules else refusal(self._settings)

    @cached_property
    def _headers(self) -> tuple[Header, ...]:
        if not self._settings.rules:
            return shipped()
        return tuple(Header(rule.code, rule.name, bool(rule.gb_ids), rule.torch) for rule in self.loaded.rules)

    @cached_property
    def _active(self) -> frozenset[str]:
        torch = torch_for(self._settings)
        return frozenset(header.code for header in self._headers if specifiers.allows(header.torch, torch))

    def known(self) -> tuple[unused.Known, ...]:
        """What a silencing comment may name. The run gives GD000, GD001, and whatever has graph-break ids."""
        own = (unused.Known(header.code, header.name, header.at_run) for header in self._headers)
        return (*(unused.Known(*at_run, at_run=True) for at_run in RULELESS[:2]), *own)

    def is_active(self, code: str) -> bool:
        """Whether the rule ``code`` applies; codes without a rule always do."""
        return code in dict(RULELESS) or code in self._active


def ruleset(settings: Config) -> RuleSet:
    """The rules for ``settings``; the files in ``settings.rules`` are executed. Raises UsageError for unknown codes."""
    from graphdoctor.lint import catalog, own_rules

    shipped = catalog.rules()
    own = own_rules.load_folders(settings.rules, shipped)
    rules = (*shipped, *own.rules)
    problems = (*refusal(settings), *own.problems)
    _check_codes(settings, [(rule.code, rule.name) for rule in rules], lenient=bool(problems))
    return RuleSet(rules, catalog.holding(rules, torch_for(settings)), problems)


def check_codes(settings: Config) -> None:
    """Raises UsageError for codes that no rule has, without loading the rules where the project has none of its own."""
    if settings.rules:
        ruleset(settings)
    elif any(_patterns(settings).values()):
        names = [(header.code, header.name) for header in shipped()]
        _check_codes(settings, names, lenient=bool(settings.refused_rules))


def shipped() -> tuple[Header, ...]:
    """The rules that ship, read from their files without importing them."""
    spec = importlib.util.find_spec("graphdoctor.rules")
    folders = spec.submodule_search_locations if spec is not None else None
    texts = [file.read_text(encoding="utf-8") for folder in folders or () for file in sorted(Path(folder).glob("*.py"))]
    found = [(_CODE.search(text), _NAME.search(text), _NO_IDS.search(text), _TORCH.search(text)) for text in texts]
    return tuple(
        Header(code[1], name[1], no_ids is None, torch[1])
        for code, name, no_ids, torch in found
        if code is not None and name is not None and torch is not None
    )


def torch_for(settings: Config) -> str:
    """The torch version to choose rules for: of the settings, else installed, else the newest that rules know."""
    if settings.target_torch is not None:
        return settings.target_torch
    installed = torch_available()
    if installed is not None and specifiers.parse(installed) and specifiers.allows(f">={OLDEST_TORCH}", installed):
        return installed
    from graphdoctor.breaks import registry

    return next(iter(registry.bundled().values())).torch


def _patterns(settings: Config) -> dict[str, tuple[str, ...]]:
    keys = ("select", "ignore", "extend_select", "extend_ignore")
    patterns: dict[str, tuple[str, ...]] = {key: getattr(settings, key) for key in keys}
    patterns["per_file_ignores"] = tuple(code for _, codes in settings.per_file_ignores for code in codes)
    return patterns


def _advice(wanted: str, known: list[tuple[str, str]]) -> str:
    """What may have been meant by a code that no rule has. Of a group such as GD9, no single rule is near."""
    if _GROUP.fullmatch(wanted.upper()):
        return f"the groups are {', '.join(sorted({code[:3] for code, _ in known if _GROUP.match(code)}))}"
    return hint(wanted, (word for rule in known for word in rule), "`graphdoctor rules` lists them")


def _check_codes(settings: Config, names: list[tuple[str, str]], lenient: bool) -> None:
    """``lenient``: codes that are not graphdoctor's may be those of a rule file that was not loaded."""
    known = [*RULELESS, *names]
    for key, codes in _patterns(settings).items():
        for code in codes:
            if any(matches(*rule, code) for rule in known) or (lenient and not code.upper().startswith("GD")):
                continue
            origin = f"{settings.origin[key]}: " if settings.origin.get(key) else ""
            advice = _advice(code, known)
            raise UsageError(f"{origin}{code!r} matches no rule; {advice}")
