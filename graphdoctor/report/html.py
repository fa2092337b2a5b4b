"""The report as one HTML file: styles and scripts inside, no request to anywhere, readable without JavaScript."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graphdoctor.model import Diagnosis, Finding
from graphdoctor.report import words
from graphdoctor.report.excerpt import source_lines
from graphdoctor.report.first import first_actions
from graphdoctor.report.numbers import Tone, numbers
from graphdoctor.report.visible import printable

#: A finding is found by these; the names are those of its data attributes in the page and of the keys in the URL.
_FILTERS = ("severity", "status", "owner", "rule")


@dataclass(frozen=True)
class Chip:
    """A filter button: findings whose ``key`` is ``value``, and how many they are."""

    key: str
    value: str
    label: str
    count: int


def render(diagnosis: Diagnosis) -> str:
    """The whole page. Jinja2 escapes every value, once; the scripts and styles come from ``templates/`` only."""
    shown = printable(diagnosis)
    assets = {name: _asset(name) for name in ("style.css", "theme.js", "report.js")}
    return (
        _environment()
        .get_template("report.html")
        .render(
            diagnosis=shown,
            assets=assets,
            policy=_policy(assets["style.css"], assets["theme.js"], assets["report.js"]),
            tone=_tone(shown),
            numbers=numbers(shown),
            actions=first_actions(shown),
            anchors={id(finding): f"finding-{number}" for number, finding in enumerate(shown.findings, 1)},
            chips={key: _chips(key, shown.findings) for key in _FILTERS},
            failed=[file for file in shown.files if file.status == "failed"],
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("graphdoctor.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = _prose
    environment.globals.update(words=words, source_lines=source_lines, identity=id)
    return environment


@cache
def _asset(name: str) -> Markup:
    """A file of ``templates/`` as it stands: ours, so not to be escaped."""
    loader = _environment().loader
    assert loader is not None
    return Markup(loader.get_source(_environment(), name)[0])


def _prose(text: str) -> Markup:
    """``text`` escaped, as a sentence, with what stands between backticks as code."""
    # A first word that is followed by a dot or a bracket is a name: torch.compile stays as it is.
    parts = words.quoted(re.sub(r"^[a-z](?=[a-z]*[ ,])", lambda match: match[0].upper(), text))
    return Markup().join(Markup("<code>{}</code>").format(part) if is_code else part for part, is_code in parts)


def _policy(style: Markup, *scripts: Markup) -> str:
    """A content security policy that lets in these scripts and styles, by their hashes, and nothing else."""
    allowed = " ".join(_digest(script) for script in scripts)
    return f"default-src 'none'; style-src {_digest(style)}; script-src {allowed}; img-src data:; base-uri 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _tone(diagnosis: Diagnosis) -> Tone:
    summary = diagnosis.summary
    if summary.verdict == "ready":
        return "good"
    return "neutral" if summary.verdict in ("static-only", "not-run") and not summary.errors else "bad"


def _chips(key: str, findings: tuple[Finding, ...]) -> tuple[Chip, ...]:
    """The values that occur, in order of first occurrence; none where there is nothing to choose from."""
    counts = Counter(str(getattr(finding, key)) for finding in findings)
    if len(counts) < 2:
        return ()
    labels = {"status": words.STATUS_LABELS, "owner": words.OWNERS}.get(key, {})
    return tuple(Chip(key, value, labels.get(value, value), count) for value, count in counts.items())
