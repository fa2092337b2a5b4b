"""The layout of the texts that ``graphdoctor explain`` prints: sections of wrapped paragraphs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

COLUMNS = 100


def joined(sections: Sequence[str]) -> str:
    """A page of those ``sections`` that are not empty."""
    return "\n\n".join(section for section in sections if section) + "\n"


def section(title: str, body: str) -> str:
    """``body`` under its title; empty where the body is."""
    return f"{title}\n{body}" if body.strip() else ""


def wrap(text: str, indent: str = "", hanging: str | None = None) -> str:
    """The paragraphs of ``text``, cut into lines; ``hanging`` is the indent of all lines but the first."""
    return "\n\n".join(
        textwrap.fill(
            paragraph,
            COLUMNS,
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_on_hyphens=False,
            break_long_words=False,
        )
        for paragraph in text.split("\n\n")
    )


def items(texts: Sequence[str]) -> str:
    """``texts`` as a list; a single one as a paragraph."""
    if len(texts) == 1:
        return wrap(texts[0], "  ")
    return "\n".join(wrap(text, "  - ", "    ") for text in texts)
