"""The formats of a report, by the names that the command line takes. Each is imported when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from graphdoctor.report.text.look import PLAIN, Look

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

#: The function of each format, below ``graphdoctor.report``.
_FUNCTIONS = {
    "text": "text.terminal:render",
    "full": "text.terminal:render",
    "concise": "text.concise:concise",
    "grouped": "text.concise:grouped",
    "json": "json_format.writer:render",
    "markdown": "markdown.document:render",
    "html": "html.page:render",
    "sarif": "ci.sarif:render",
    "github": "ci.github:render",
    "github-review": "markdown.review:render",
    "gitlab": "ci.gitlab:render",
    "junit": "ci.junit:render",
    "badge-json": "ci.badge:as_json",
    "badge-svg": "ci.badge:as_svg",
}
FORMATS = tuple(_FUNCTIONS)
#: Formats for people, in the terminal; "full" is another name of "text".
TEXTS = ("text", "full", "concise", "grouped")
#: Formats whose readers know files and lines, but no cells of notebooks.
_BY_FILE = ("sarif", "github", "github-review", "gitlab", "junit")


def render(diagnosis: Diagnosis, name: str, look: Look = PLAIN) -> str:
    """``diagnosis`` in the format ``name``, which is one of FORMATS; ``look`` is for those in TEXTS."""
    if name in _BY_FILE and any(".ipynb:cell " in finding.location.path for finding in diagnosis.findings):
        from graphdoctor.report.ci.by_file import by_file

        diagnosis = by_file(diagnosis)
    module, _, function = _FUNCTIONS[name].partition(":")
    rendering = getattr(importlib.import_module(f"graphdoctor.report.{module}"), function)
    if name in TEXTS:
        text: str = rendering(diagnosis, look)
    else:
        text = rendering(diagnosis.summary if name.startswith("badge") else diagnosis)
    return text
