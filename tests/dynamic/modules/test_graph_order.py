"""The forward pass as graphs and the breaks between them."""

from __future__ import annotations

from graphdoctor.dynamic.modules.graph_order import pieces
from graphdoctor.model.runs import Piece

MAIN, HELPER, RESUMED = (0, 0), (1, 0), (2, 0)


def graph(operators: int) -> Piece:
    return Piece(operators=operators)


def cut(number: int) -> Piece:
    return Piece(break_at=number)


def test_a_graph_stands_before_the_break_that_ended_it() -> None:
    order = [(MAIN, 0), (MAIN, None), (RESUMED, None)]
    assert pieces(order, [5, 7], {0: 0}, {}) == (graph(5), cut(0), graph(7))


def test_a_break_before_any_operator_ends_no_graph() -> None:
    order = [(MAIN, 0), (RESUMED, None)]
    assert pieces(order, [7], {0: 0}, {}) == (cut(0), graph(7))


def test_a_break_in_an_inlined_function_cuts_its_caller_too() -> None:
    order = [(MAIN, 0), (MAIN, None), (HELPER, 1), (HELPER, None), (RESUMED, None)]
    assert pieces(order, [5, 2, 7], {0: 0, 1: 0}, {}) == (graph(5), cut(0), graph(2), cut(0), graph(7))


def test_where_graphs_cannot_be_told_apart_there_are_none() -> None:
    assert pieces([(MAIN, None)], [1, 2], {}, {}) == ()


def test_a_cut_says_which_function_was_given_up() -> None:
    order = [(MAIN, 0), (HELPER, 1), (HELPER, None)]
    found = pieces(order, [2], {0: 0, 1: 0}, {0: "Net.forward"})
    assert [piece.dropped for piece in found] == ["Net.forward", "", ""]
