"""The choice among counted placements. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from graphdoctor.model.advice import Kind, Placement

#: Fewer blocks than this compile so fast together that compiling one of them for all saves little.
_MANY_BLOCKS = 4


def choose(placements: Sequence[Placement], sizes_vary: bool = False) -> tuple[tuple[int, ...], str]:
    """The indices of the proposed placements, and why in one or two sentences.

    A model without breaks is compiled as a whole: the compiler sees most of it. Where it breaks, the submodules that do
    not are compiled instead. The optimizer and the loss come on top where they compile. ``sizes_vary``: the inputs of
    the calls have other sizes.
    """
    number, reason = _main(placements, "other sizes" if sizes_vary else "later calls")
    if number is None:
        return (), reason
    extra = [i for i, p in enumerate(placements) if p.kind in ("loss", "optimizer") and _usable(p)]
    return (number, *extra), reason


def _main(placements: Sequence[Placement], others: str) -> tuple[int | None, str]:
    whole = _first(placements, "model")
    blocks = _first(placements, "blocks")
    parts = _first(placements, "submodules")
    if whole is not None and _usable(placements[whole]) and not placements[whole].breaks:
        return whole, "The whole model compiles without a graph break." + _regional(placements, others)
    breaks = placements[whole].breaks if whole is not None else 0
    broken = f"The whole model has {breaks} graph break{'s' if breaks != 1 else ''}"
    if whole is not None and placements[whole].failure:
        broken = "The whole model raises under torch.compile"
    for number in (blocks, parts):
        if number is not None and _usable(placements[number]) and not placements[number].breaks:
            return number, f"{broken}; these parts have none. `graphdoctor scan` shows what breaks the rest."
    if whole is not None and _usable(placements[whole]):
        return whole, f"{broken}, and so has each part that was tried: mend them first, `graphdoctor scan` shows how."
    return None, f"{broken}, and nothing of it runs compiled: leave it in eager, or mend it with `graphdoctor scan`."


def _regional(placements: Sequence[Placement], others: str) -> str:
    """A sentence on the repeated blocks of a model that compiles as a whole.

    Only the first call shows what the blocks share: what the ``others`` compile is compiled for all blocks again.
    """
    found = [p for p in placements if p.kind == "blocks" and len(p.names) >= _MANY_BLOCKS]
    reason = ""
    for blocks in found:
        count = len(blocks.names)
        if blocks.at_limit:
            reason += (
                f" Not block by block: the {count} blocks reached the recompile limit after {blocks.compilations} "
                "compilations, and the rest runs in eager."
            )
        elif _usable(blocks) and (first := blocks.compilations - blocks.later) < count:
            setting = f" with `{blocks.setting}`," if blocks.setting else ""
            shared = "one compilation serves" if first == 1 else f"{first} compilations serve"
            more = f" ({others} take {blocks.later} more)" if blocks.later else ""
            reason += f" Block by block,{setting} {shared} all {count} blocks{more}: try it where compiling takes long."
            break
    return reason


def _usable(placement: Placement) -> bool:
    return placement.compilations > 0 and not placement.failure and not placement.at_limit and placement.share != 0


def _first(placements: Sequence[Placement], kind: Kind) -> int | None:
    """The best of a kind: usable ones first, then those that need no setting."""
    found = [(not _usable(p), bool(p.setting), i) for i, p in enumerate(placements) if p.kind == kind]
    return min(found)[2] if found else None
