"""The formats of a report, by the names that the command line takes. Each is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.model import Diagnosis

FORMATS = (
    "text", "json", "markdown", "html", "sarif", "github", "github-review", "gitlab", "junit",
    "badge-json", "badge-svg",
)  # fmt: skip


def render(diagnosis: Diagnosis, name: str, color: bool = False, tree: bool = False) -> str:
    """``diagnosis`` in the format ``name``, which is one of FORMATS; only text has colour and, whole, the ``tree``."""
    if name == "text":
        from graphdoctor.report import text

        return text.render(diagnosis, color, tree)
    if name.startswith("badge"):
        from graphdoctor.report import badge

        return (badge.as_json if name == "badge-json" else badge.as_svg)(diagnosis.summary)
    from graphdoctor.report import as_json, github, gitlab, html, junit, markdown, review, sarif

    renderers = {
        "json": as_json.render,
        "markdown": markdown.render,
        "html": html.render,
        "sarif": sarif.render,
        "github": github.render,
        "github-review": review.render,
        "gitlab": gitlab.render,
        "junit": junit.render,
    }
    return renderers[name](diagnosis)
