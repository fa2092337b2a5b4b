"""A badge: the JSON that shields.io reads from an address, and the same as a picture with no request."""

from __future__ import annotations

import html
import json

from graphdoctor.model.findings import Summary
from graphdoctor.report.wording import plural

LABEL = "graph breaks"

_GOOD, _BAD, _UNKNOWN = "brightgreen", "red", "lightgrey"
_COLORS = {_GOOD: "#3a7d0a", _BAD: "#c0392b", _UNKNOWN: "#6b6b6b"}

#: Widths of the characters of Verdana at 11 px, which is what badges are set in; others count as ``_WIDTH``.
_WIDTHS = {**dict.fromkeys("fijlrtI.,:;!'|() ", 4.3), **dict.fromkeys("mwMW%", 10.2)}
_WIDTH = 7.1


def as_json(summary: Summary) -> str:
    """The endpoint schema of shields.io, version 1."""
    message, color = _message(summary)
    return json.dumps({"schemaVersion": 1, "label": LABEL, "message": message, "color": color}, indent=2) + "\n"


def as_svg(summary: Summary) -> str:
    """An SVG of 20 pixels height; its title says the same as its text."""
    message, color = _message(summary)
    left, right = _pixels(LABEL), _pixels(message)
    title = html.escape(f"{LABEL}: {message}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">
  <title>{title}</title>
  <clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#round)">
    <rect width="{left}" height="20" fill="#444"/>
    <rect x="{left}" width="{right}" height="20" fill="{_COLORS[color]}"/>
  </g>
  <g fill="#fff" font-family="Verdana, Geneva, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">
    <text x="{left / 2}" y="14" textLength="{left - 12}">{LABEL}</text>
    <text x="{left + right / 2}" y="14" textLength="{right - 12}">{html.escape(message)}</text>
  </g>
</svg>
"""


def _message(summary: Summary) -> tuple[str, str]:
    """The text of the badge, and its colour; without a run it does not claim that there are no breaks."""
    if summary.verdict == "nothing-compiled":
        return "nothing compiled", _BAD
    if summary.verdict == "not-run":
        return "run failed", _UNKNOWN
    if summary.verdict == "static-only":
        if summary.failed and not summary.errors:
            return f"{plural(summary.failed, 'file')} not read", _UNKNOWN
        found = plural(summary.errors, "error") if summary.errors else "none found"
        return f"{found} in source", _BAD if summary.errors else _GOOD
    if summary.verdict == "ready":
        return "0", _GOOD
    return (f"{summary.breaks:,}" if summary.breaks else "not ready"), _BAD


def _pixels(text: str) -> int:
    """The width of ``text`` with six pixels on either side."""
    return round(sum(_WIDTHS.get(character, _WIDTH) for character in text)) + 12
