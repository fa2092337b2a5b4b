"""Joining and narrowing abstract values."""

from __future__ import annotations

from graphdoctor.static.domain.value_functions import (
    as_arguments,
    holds_tensor,
    is_tensor,
    join,
    may_be_tensor,
    narrowed_to,
    set_of,
)
from graphdoctor.static.domain.values import NONE, UNKNOWN, Const, Mapping, OneOf, PythonValue, Seq, Tensor


def test_join_of_equal_values_is_the_value():
    assert join(Tensor("bool"), Tensor("bool")) == Tensor("bool")
    assert join(Const(1), Const(1)) == Const(1)


def test_true_and_one_are_different_constants():
    assert Const(True) != Const(1) and isinstance(join(Const(True), Const(1)), OneOf)


def test_tensors_join_to_what_holds_of_both():
    assert join(Tensor("bool", 2), Tensor("int", 2)) == Tensor(None, 2)
    assert join(Tensor(is_known=True), Tensor(is_known=False)) == Tensor(is_known=False)


def test_a_tensor_or_none_may_be_a_tensor():
    value = join(Tensor(), NONE)
    assert may_be_tensor(value) and not is_tensor(value)
    assert is_tensor(narrowed_to(value, lambda v: v != NONE))


def test_a_dict_in_which_less_is_known_stands_for_the_one_in_which_more_is():
    one, other = Mapping((("flag", UNKNOWN), ("x", Tensor()))), Mapping((("flag", Tensor()), ("x", Tensor())))
    assert join(one, other) == join(other, one) == one
    apart = Mapping((("flag", UNKNOWN), ("x", NONE)))
    assert isinstance(join(other, apart), OneOf)


def test_many_constants_become_their_kind():
    assert join(*(Const(i) for i in range(5))) == PythonValue("int")


def test_too_many_alternatives_are_unknown():
    assert join(*(PythonValue(f"kind{i}") for i in range(9))) == UNKNOWN


def test_keep_never_empties_a_value():
    assert narrowed_to(NONE, lambda v: v != NONE) == NONE


def test_tensors_are_found_in_containers():
    assert holds_tensor(Seq("list", (Const(1), Mapping((("a", Tensor()),)))))
    assert not holds_tensor(Seq("list", (Const(1),)))


def test_equal_constants_count_once_in_a_set():
    assert set_of("set", [Const("a"), Const("b"), Const("a")]) == Seq("set", (Const("a"), Const("b")))


def test_how_many_different_values_a_set_has_is_not_known():
    assert set_of("set", [PythonValue("int"), PythonValue("str")]).items is None
    assert set_of("set", [Tensor()]).items == (Tensor(),)


def test_tensors_in_containers_become_arguments():
    given, made = Tensor(argument=True), Tensor(constant=True)
    assert as_arguments(join(Seq("list", (made,)), NONE)) == join(Seq("list", (given,)), NONE)
    assert as_arguments(Mapping((("a", made),), made)) == Mapping((("a", given),), given)
    assert as_arguments(Const(1)) == Const(1)
