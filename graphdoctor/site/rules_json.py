"""The rules as JSON, the contract ``graphdoctor-rules/1``: fields may be added, never renamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphdoctor import __version__

if TYPE_CHECKING:
    from graphdoctor.static.rule import Rule

SCHEMA = "graphdoctor-rules/1"


def render(rules: Sequence[Rule]) -> str:
    """All of the rules' documentation, in the order of their codes."""
    data = {
        "schema": SCHEMA,
        "tool": {"name": "graphdoctor", "version": __version__},
        "rules": [_rule(rule) for rule in rules],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "torch": rule.torch,
        "gb_ids": list(rule.gb_ids),
        "summary": rule.summary,
        "what": rule.what,
        "why": rule.why,
        "fix": rule.how,
        "fixable": rule.fix is not None,
        "examples": {"breaks": list(rule.breaks), "clean": list(rule.clean)},
    }
