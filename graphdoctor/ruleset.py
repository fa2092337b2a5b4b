"""The rules that a scan asks: those that ship, those of the project, as far as they hold in the torch to be used."""

from __future__ import annotations

from dataclasses import dataclass

from graphdoctor import registry, versions
from graphdoctor.config import OLDEST_TORCH, Config
from graphdoctor.diagnosis import unused
from graphdoctor.dynamic import runner
from graphdoctor.nearest import hint
from graphdoctor.options import UsageError
from graphdoctor.source.suppress import matches
from graphdoctor.static import catalog, own_rules
from graphdoctor.static.rule import Rule

#: Codes without a rule: (code, name). A break that no rule expects, a comment that silences nothing.
RULELESS = (("GD000", "graph-break"), (unused.CODE, unused.NAME))


@dataclass(frozen=True)
class RuleSet:
    """``rules`` are all there are, ``active`` those to ask. ``problems``: one line for each rule file not used."""

    rules: tuple[Rule, ...]
    active: tuple[Rule, ...]
    problems: tuple[str, ...] = ()

    def known(self) -> tuple[unused.Known, ...]:
        """What a silencing comment may name. The run gives GD000, and whatever has graph-break ids."""
        own = (unused.Known(rule.code, rule.name, at_run=bool(rule.gb_ids)) for rule in self.rules)
        return (unused.Known(*RULELESS[0], at_run=True), *own)

    def is_active(self, code: str) -> bool:
        """Whether the rule ``code`` was asked; what has no rule always is."""
        return code in dict(RULELESS) or any(rule.code == code for rule in self.active)


def ruleset(settings: Config) -> RuleSet:
    """The rules for ``settings``; the rule files that they name are executed. Raises UsageError for unknown codes."""
    shipped = catalog.rules()
    own = own_rules.load_folders(settings.rules, shipped)
    rules = (*shipped, *own.rules)
    _check_codes(settings, rules, lenient=bool(own.problems))
    return RuleSet(rules, catalog.holding(rules, _torch(settings)), own.problems)


def _torch(settings: Config) -> str:
    """The version to ask for: of the settings, else the installed one, else the newest that the rules know."""
    if settings.target_torch is not None:
        return settings.target_torch
    installed = runner.torch_available()
    if installed is not None and versions.parse(installed) and versions.allows(f">={OLDEST_TORCH}", installed):
        return installed
    return next(iter(registry.bundled().values())).torch


def _check_codes(settings: Config, rules: tuple[Rule, ...], lenient: bool) -> None:
    """``lenient``: codes that are not graphdoctor's may be those of a rule file that could not be loaded."""
    known = [*RULELESS, *((rule.code, rule.name) for rule in rules)]
    patterns: dict[str, tuple[str, ...]] = {
        key: getattr(settings, key) for key in ("select", "ignore", "extend_select", "extend_ignore")
    }
    patterns["per_file_ignores"] = tuple(code for _, codes in settings.per_file_ignores for code in codes)
    for key, codes in patterns.items():
        for code in codes:
            if any(matches(*rule, code) for rule in known) or (lenient and not code.upper().startswith("GD")):
                continue
            origin = f"{settings.origin[key]}: " if settings.origin.get(key) else ""
            advice = hint(code, (word for rule in known for word in rule), "`graphdoctor rules` lists them")
            raise UsageError(f"{origin}{code!r} matches no rule; {advice}")
