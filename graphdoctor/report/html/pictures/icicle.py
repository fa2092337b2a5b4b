"""The tree of a model as an icicle: a row for each level, the width by operators, the colour by what is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.report.html.pictures.strip import WIDTHS
from graphdoctor.report.wording import plural, share

if TYPE_CHECKING:
    from graphdoctor.model.submodules import ModuleNode

ROW = 30
#: Levels and pixels that are drawn.
_LEVELS = 6
_THINNEST = 3.0
#: Width of a character of a label.
_CHARACTER = 7.5
#: Letters below which a label is left out.
_LEAST = 3


@dataclass(frozen=True)
class Cell:
    """A submodule in the drawing. ``label`` is empty where there is no room; ``title`` says all of it."""

    x: float
    y: float
    width: float
    state: str
    label: str
    title: str
    type: str


@dataclass(frozen=True)
class Icicle:
    """The cells for one width of the screen."""

    width: int
    height: float
    cells: tuple[Cell, ...]


def icicles(nodes: Sequence[ModuleNode]) -> tuple[Icicle, ...]:
    """One drawing for each width; none where no operators were counted."""
    if not nodes or not nodes[0].operators:
        return ()
    children: dict[str, list[ModuleNode]] = {}
    for node in nodes[1:]:
        children.setdefault(node.name.rpartition(".")[0], []).append(node)
    return tuple(_icicle(nodes[0], children, width) for width in WIDTHS)


def _icicle(root: ModuleNode, children: dict[str, list[ModuleNode]], width: int) -> Icicle:
    scale = width / root.operators
    cells = tuple(_cells(root, children, 0.0, 0, scale))
    return Icicle(width, max(cell.y for cell in cells) + ROW, cells)


def _cells(
    node: ModuleNode, children: dict[str, list[ModuleNode]], x: float, level: int, scale: float
) -> Iterator[Cell]:
    width = node.operators * scale
    yield Cell(round(x, 1), level * ROW, round(width, 1), _state(node), _label(node, width), describe(node), node.type)
    if level + 1 == _LEVELS:
        return
    for child in children.get(node.name, ()):
        if child.operators * scale >= _THINNEST:
            yield from _cells(child, children, x, level + 1, scale)
        x += child.operators * scale


def _state(node: ModuleNode) -> str:
    return node.state if node.state in ("compiled", "partly") else "eager"


def _label(node: ModuleNode, width: float) -> str:
    name = node.name.rpartition(".")[2] or node.type
    facts = f"{name}: {share(node.compiled_share)}" if node.state == "partly" else name
    room = int((width - 8) / _CHARACTER)
    if len(facts) <= room:
        return facts
    # A few letters tell submodules apart.
    return name if len(name) <= room else f"{name[: room - 1]}…" if room > _LEAST else ""


def describe(node: ModuleNode) -> str:
    """``embedding (Embedding): 88 % of 8 operators compiled, 2 graph breaks``."""
    compiled = f"{share(node.compiled_share)} of {plural(node.operators, 'operator')} compiled"
    breaks = f", {plural(node.breaks, 'graph break')}" if node.breaks else ""
    return f"{node.name or 'the model'} ({node.type}): {compiled}{breaks}"
