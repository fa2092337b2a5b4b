"""The rows of a model's tree of submodules: what is compiled as a whole, or not at all, is one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.model.submodules import ModuleNode


@dataclass(frozen=True)
class Row:
    """One submodule: ``level`` below the model, ``label`` within its parent, how many more are ``folded`` into it."""

    node: ModuleNode
    level: int
    label: str
    folded: int = 0
    #: Whether a submodule of it is compiled as a frame of its own.
    holds_frames: bool = False

    @property
    def compilations(self) -> str:
        """How often its ``forward`` was compiled, or in which graphs it is."""
        if self.node.compilations:
            return str(self.node.compilations)
        if not self.node.operators or not self.node.compiled_share:
            return "none"
        return "its submodules by themselves" if self.holds_frames else "in graphs of other modules"


def rows(nodes: Sequence[ModuleNode], full: bool = False) -> tuple[Row, ...]:
    """``nodes`` in their order, parents first. Not ``full``: what is compiled as a whole or not at all is one row."""
    found: list[Row] = []
    parents = {parent for node in nodes if node.compilations for parent in _parents(node.name)}
    # The numbers of the rows that the next one may lie below.
    open_: list[int] = []
    for node in nodes:
        while open_ and not _below(node.name, found[open_[-1]].node.name):
            open_.pop()
        parent = found[open_[-1]] if open_ else None
        if parent and not full and _adds_nothing(node, parent.node):
            found[open_[-1]] = replace(parent, folded=parent.folded + 1)
            continue
        label = node.name[len(parent.node.name) if parent else 0 :].lstrip(".") or "the model"
        open_.append(len(found))
        found.append(Row(node, len(open_) - 1, label, holds_frames=node.name in parents))
    return tuple(found)


def _adds_nothing(node: ModuleNode, parent: ModuleNode) -> bool:
    """A container such as ModuleList is never called itself; the modules in it may be called, also in eager."""
    nothing = {"no-operators", "not-called"}
    in_eager = parent.state == "eager" and node.state in {"eager", *nothing} and not node.breaks
    return parent.state == "compiled" or in_eager or {node.state, parent.state} <= nothing


def _parents(name: str) -> list[str]:
    """The model and every submodule on the way to the one of that name."""
    return ["", *(name[:end] for end, letter in enumerate(name) if letter == ".")] if name else []


def _below(name: str, parent: str) -> bool:
    return not parent or name.startswith(f"{parent}.")
