"""GitHub-flavoured Markdown: text escaped once, and the few blocks that the report is made of."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from graphdoctor.report.escaping import one_line
from graphdoctor.report.wording import quoted

#: A list shows this many items.
_ITEMS = 50

#: Characters that Markdown or GitHub (mentions, issue numbers) would interpret; HTML is escaped separately.
_SPECIAL = re.compile(r"[\\`*_{}\[\]|~@#!]")


def escape(text: str, limit: int = 300) -> str:
    """``text`` as one line of at most ``limit`` characters that Markdown and tables show as it stands."""
    return _entities(_short(text, limit))


def code(text: str) -> str:
    """``text`` as inline code; HTML, because a backtick span cannot hold every text inside a table."""
    return f"<code>{escape(text)}</code>"


def prose(text: str, limit: int = 300) -> str:
    """``text`` as ``escape`` shows it, with the parts between backticks as code."""
    parts = quoted(_short(text, limit))
    return "".join(f"<code>{_entities(part)}</code>" if is_code else _entities(part) for part, is_code in parts)


def _short(text: str, limit: int) -> str:
    line = one_line(text)
    return line if len(line) <= limit else line[:limit] + "…"


def _entities(text: str) -> str:
    """The empty comment after an @ keeps GitHub from notifying whoever has the name of a decorator."""
    entities = _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", html.escape(text, quote=False))
    return entities.replace("&#64;", "&#64;<!-- -->")


def fence(text: str, language: str = "") -> str:
    """``text`` as a code block whose fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    bars = "`" * max(3, longest + 1)
    return f"{bars}{language}\n{text}\n{bars}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are escaped already; nothing when it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    heads = list(heads)
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines]) if lines else ""


def bullets(items: Iterable[str]) -> str:
    """A list of items that are escaped already; after ``_ITEMS`` it only counts."""
    lines = [f"- {item}" for item in items]
    more = [f"- and {len(lines) - _ITEMS} more"] if len(lines) > _ITEMS else []
    return "\n".join(lines[:_ITEMS] + more)


def titled(title: str, body: str) -> str:
    """A section, or nothing when ``body`` is empty."""
    return f"### {title}\n\n{body}" if body else ""


def folded(title: str, body: str) -> str:
    """``body`` after a ``title`` that is escaped already."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
