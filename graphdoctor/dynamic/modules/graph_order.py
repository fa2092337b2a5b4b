"""The forward pass as graphs and the breaks between them, in the order of execution. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphdoctor.model.runs import Piece

#: A frame and the attempt to compile it.
Compilation = tuple[int, int]


def pieces(
    order: Sequence[tuple[Compilation, int | None]],
    sizes: Sequence[int],
    breaks: Mapping[int, int],
    dropped: Mapping[int, str],
) -> tuple[Piece, ...]:
    """``order`` as ``Recording.order`` has it; ``sizes`` are the operators of the graphs, and ``breaks`` the number of
    the break site of each event that has one, and ``dropped`` the function that was given up with an event. Empty where
    the graphs cannot be distinguished.

    Dynamo records a break before the graph that ends at it, and a function's last graph ends at no break. Functions are
    compiled when they are reached, so beside this the order is that of execution.
    """
    if sum(event is None for _, event in order) != len(sizes):
        return ()
    remaining = iter(sizes)
    found: list[tuple[Compilation, Piece]] = []
    for compilation, event in order:
        if event is not None:
            if event in breaks:
                found.append((compilation, Piece(break_at=breaks[event], dropped=dropped.get(event, ""))))
            continue
        graph = (compilation, Piece(operators=next(remaining)))
        last = next((n for n in reversed(range(len(found))) if found[n][0] == compilation), None)
        if last is not None and found[last][1].break_at is not None:
            found.insert(last, graph)
        else:
            found.append(graph)
    return tuple(piece for _, piece in found)
