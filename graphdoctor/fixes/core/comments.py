"""The comments of code that is written anew: each at the statement that it stands above or beside."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.core.editor import Editor


class Comments:
    """Those in a statement that are written nowhere yet. What stands behind its end stays there."""

    def __init__(self, statement: cst.CSTNode, editor: Editor) -> None:
        place = editor.location(statement)
        self.editor = editor
        self._begin = place.line
        self._left = [(at.line, text) for at, text in editor.module.comments(statement) if at.line <= place.end_line]

    def left(self) -> list[str]:
        """The comments that belong to no statement inside."""
        return [text for _, text in self._left]

    def take(self, inner: cst.CSTNode) -> Iterator[str]:
        """The comments above and beside ``inner``, but not those of the line that the whole statement begins with."""
        place = self.editor.location(inner)
        last = place.line if isinstance(inner, cst.If) else place.end_line
        for line, text in [*self._left]:
            if self._begin < line <= last and self._begin < place.line:
                self._left.remove((line, text))
                yield text
