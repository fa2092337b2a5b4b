"""The allow-list of a project: findings that may stay, each with a reason and up to a day. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from graphdoctor.model.findings import Finding
from graphdoctor.source.path_patterns import PathPattern
from graphdoctor.source.suppressions import matches

_KEYS = ("rule", "path", "reason", "expires")


@dataclass(frozen=True)
class Allowance:
    """Findings of ``rule`` (code, its beginning, or name) in the files of ``path`` may stay through ``expires``."""

    rule: str
    path: PathPattern
    reason: str
    expires: date


def allowances(value: object, base: Path) -> tuple[Allowance, ...]:
    """The entries of a configuration: a list of tables, with paths that start from ``base``.

    Raises ValueError with one line for the user.
    """
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        raise ValueError("allow must be a list of tables, each with rule, path, reason and expires")
    return tuple(_allowance(entry, number, base) for number, entry in enumerate(value, 1))


def with_allowed(
    findings: Iterable[Finding], entries: Sequence[Allowance], root: Path, today: date
) -> tuple[Finding, ...]:
    """``findings``, with the reason on those that an entry allows; entries that have expired allow nothing.

    The paths of the findings start from ``root``.
    """
    valid = [entry for entry in entries if entry.expires >= today]
    return tuple(_judged(finding, valid, root) for finding in findings)


def expired(entries: Iterable[Allowance], today: date) -> tuple[str, ...]:
    """One line for each entry that has expired."""
    return tuple(
        f"allow-list: the entry for {entry.rule} in {entry.path.text} ({entry.reason}) expired on {entry.expires} "
        "and allows nothing any more"
        for entry in entries
        if entry.expires < today
    )


def _allowance(entry: Mapping[str, Any], number: int, base: Path) -> Allowance:
    for key in entry:
        if key not in _KEYS:
            raise ValueError(f"allow entry {number}: unknown key {key!r}; known are {', '.join(_KEYS)}")
    for key in _KEYS:
        if not str(entry.get(key, "")).strip():
            raise ValueError(f"allow entry {number}: {key} is missing")
    rule, path, reason = (str(entry[key]).strip() for key in ("rule", "path", "reason"))
    try:
        return Allowance(rule, PathPattern(path, base), reason, date.fromisoformat(str(entry["expires"]).strip()))
    except ValueError:
        raise ValueError(
            f"allow entry {number}: expires must be a date such as 2027-01-31, not {entry['expires']!r}"
        ) from None


def _judged(finding: Finding, valid: Iterable[Allowance], root: Path) -> Finding:
    for entry in valid:
        if matches(finding.rule, finding.name, entry.rule) and entry.path.matches(root / finding.location.path):
            return replace(finding, allowed=f"{entry.reason} (until {entry.expires})")
    return finding
