"""What a graph break costs, which the message of its finding ends with: what the source predicts, or what a run saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["split", "whole", "rest", "left", "fails", "recorded", "later", "waits", "nothing", "passes"]


@dataclass(frozen=True)
class Block:
    """A loop or block that Dynamo cannot split; ``line`` is 0 where it stands in another file, which ``file`` names."""

    keyword: str
    line: int = 0
    file: str = ""

    def __str__(self) -> str:
        kind = "loop" if self.keyword in ("for", "while") else "block"
        at = f" at line {self.line}" if self.line else f" in {self.file}" if self.file else ""
        return f"`{self.keyword}` {kind}{at}"


@dataclass(frozen=True)
class Consequence:
    """What a graph break costs. By ``kind``:

    * "split": the graph is split, at ``places`` places.
    * "whole": ``function`` is not compiled at all, because of ``block`` where that is known.
    * "rest": what follows in ``function`` is not compiled.
    * "left": what an earlier break left of ``function`` is not compiled.
    * "fails": compiling with ``fullgraph=True`` fails.
    * "recorded": only that fails, and ``by_default`` says what happens otherwise.
    * "later": the graph is split once compiling gets past ``line``.
    * "waits": this is no break, and is seen only then.
    * "nothing": the run compiled nothing.
    * "passes": the run with the fixes came there, and nothing broke.

    ``line`` is the one that compiling ended at before it came to the finding; 0 where it came there. ``behind`` is the
    line before, from which on the source shows that nothing of the function is compiled; 0 where there is none.
    """

    kind: Kind = "split"
    function: str = ""
    block: Block | None = None
    places: int = 1
    line: int = 0
    by_default: str = ""
    behind: int = 0

    @property
    def ending(self) -> str:
        """The end of the message, with what separates it from the rest."""
        past = f"once compiling gets past line {self.line}"
        if self.kind == "later":
            return f": a graph break {past}"
        said = "" if self.kind == "waits" else f": {self._clause()}"
        said += f", once line {self.behind} no longer ends compiling" if self.behind else ""
        return f"{said} ({past})" if self.line else said

    def _clause(self) -> str:
        match self.kind:
            case "whole":
                because = f", because Dynamo cannot split its {self.block}" if self.block is not None else ""
                return f"`{self.function}` runs uncompiled as a whole{because}"
            case "rest":
                return f"`{self.function}` runs uncompiled from here on"
            case "left":
                return f"what an earlier graph break left of `{self.function}` runs uncompiled"
            case "fails":
                return "with `fullgraph=True` compiling fails here"
            case "recorded":
                return f"{self.by_default}, and `fullgraph=True` fails"
            case "nothing":
                return "would break the graph"
            case "passes":
                return "with the fixes applied, the line ran and nothing broke"
        return "this splits the graph" + (f" {self.places} times" if self.places > 1 else "")


SPLIT = Consequence()
FAILS = Consequence("fails")
NOTHING = Consequence("nothing")
PASSES = Consequence("passes")
