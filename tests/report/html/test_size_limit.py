"""What is shown when there is less room than cards."""

from __future__ import annotations

from graphdoctor.report.html.size_limit import Card, fit

CARDS = {number: Card("f" * 1000, "b" * 100) for number in range(10)}
ORDER = [*range(9, -1, -1)]


def test_all_of_it_where_there_is_room() -> None:
    fitted = fit(CARDS, ORDER, 10_000)
    assert list(fitted.texts.values()) == [card.full for card in CARDS.values()]
    assert fitted.briefs == 0


def test_the_least_important_go_without_code_first() -> None:
    fitted = fit(CARDS, ORDER, 4_000)
    assert list(fitted.texts) == [*range(10)]
    assert [number for number, text in fitted.texts.items() if text == CARDS[number].full] == [7, 8, 9]
    assert fitted.briefs == 7


def test_then_they_are_left_out_and_some_room_is_kept_for_code() -> None:
    cards = {number: Card("f" * 150, "b" * 100) for number in range(10)}
    fitted = fit(cards, ORDER, 600)
    assert list(fitted.texts) == [5, 6, 7, 8, 9]
    assert fitted.texts[9] == cards[9].full
    assert sum(map(len, fitted.texts.values())) <= 600


def test_bytes_are_counted_not_characters() -> None:
    cards = {0: Card("é" * 100, "é" * 10)}
    assert fit(cards, [0], 199).texts == {0: "é" * 10}
    assert fit(cards, [0], 200).texts == {0: "é" * 100}


def test_a_card_without_code_is_not_counted_as_brief() -> None:
    cards = {0: Card("a" * 100, "a" * 100), 1: Card("f" * 1000, "b" * 100)}
    assert fit(cards, [0, 1], 300).briefs == 1
