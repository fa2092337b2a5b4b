"""How a text report looks: by the options and by the terminal."""

from __future__ import annotations

from dataclasses import dataclass

#: Columns of what is not written to a terminal.
COLUMNS = 100


@dataclass(frozen=True)
class Look:
    """``columns`` is the width of the terminal; None where the text goes elsewhere. ``tree`` asks for the whole tree of
    the model, ``verbose`` for all that is known: diffs, submodules, and messages about the tool itself."""

    color: bool = False
    columns: int | None = None
    tree: bool = False
    verbose: bool = False

    @property
    def width(self) -> int:
        """Columns that prose and source lines may take."""
        return COLUMNS if self.columns is None else max(self.columns, 40)


PLAIN = Look()
