"""The formats of a report, by the names that the command line takes. Each is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.model import Diagnosis

FORMATS = (
    "text", "json", "markdown", "html", "sarif", "github", "github-review", "gitlab", "junit",
    "badge-json", "badge-svg",
)  # fmt: skip


#: The modules of formats that are not called as they are.
_MODULES = {"json": "as_json", "github-review": "review"}


def render(diagnosis: Diagnosis, name: str, color: bool = False, tree: bool = False) -> str:
    """``diagnosis`` in the format ``name``, which is one of FORMATS; only text has colour and, whole, the ``tree``."""
    if name == "text":
        from graphdoctor.report import text

        return text.render(diagnosis, color, tree)
    if name.startswith("badge"):
        from graphdoctor.report import badge

        return (badge.as_json if name == "badge-json" else badge.as_svg)(diagnosis.summary)
    module = importlib.import_module(f"graphdoctor.report.{_MODULES.get(name, name)}")
    rendered: str = module.render(diagnosis)
    return rendered
