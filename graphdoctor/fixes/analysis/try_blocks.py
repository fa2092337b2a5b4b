"""Code in a ``try``: what fails inside a graph is raised when the graph runs, where no handler of the code sees it."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse


def unhandled(place: cst.CSTNode, editor: Editor) -> None:
    """Refuse a ``place`` that stands in the body of a ``try`` with handlers, in its own function."""
    inner = place
    for outer in editor.ancestors(place):
        if isinstance(outer, (cst.Try, cst.TryStar)) and outer.body is inner and outer.handlers:
            raise Refuse("it stands in a try, whose handlers do not see what fails inside the graph")
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return
        inner = outer
