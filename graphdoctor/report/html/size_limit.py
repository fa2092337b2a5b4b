"""A page under a size limit: the least important findings are shown without code, or, in need, left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

#: The part of the room that names of findings may take; the rest is for the code of the most important ones.
_NAMES = 0.9


@dataclass(frozen=True)
class Card:
    """One finding as it may be shown: with its source lines and its fix, or without."""

    full: str
    brief: str


@dataclass(frozen=True)
class Fitted:
    """What is shown of the cards that there is room for, by number; ``briefs`` counts those without their code."""

    texts: Mapping[int, str]
    briefs: int


def fit(cards: Mapping[int, Card], order: Sequence[int], budget: int) -> Fitted:
    """As much of ``cards``, in their order, as ``budget`` bytes hold. ``order`` has their numbers by importance."""
    texts = {number: card.full for number, card in cards.items()}
    if sum(map(_bytes, texts.values())) <= budget:
        return Fitted(texts, 0)
    names = {number: _bytes(card.brief) for number, card in cards.items()}
    code = {number: _bytes(card.full) - names[number] for number, card in cards.items()}
    listed = list(_while_there_is_room(order, names, _NAMES * budget))
    rest = budget - sum(names[number] for number in listed)
    full = set(_while_there_is_room(listed, code, rest))
    kept = set(listed)
    shown = {number: card.full if number in full else card.brief for number, card in cards.items() if number in kept}
    return Fitted(shown, sum(number not in full and code[number] > 0 for number in listed))


def _while_there_is_room(order: Sequence[int], sizes: Mapping[int, int], room: float) -> Iterator[int]:
    for number in order:
        room -= sizes[number]
        if room < 0:
            return
        yield number


def _bytes(text: str) -> int:
    return len(text.encode())
