"""Literals are worth what Python says."""

from __future__ import annotations

import ast

import pytest

from graphdoctor.syntax.literals import value_of


@pytest.mark.parametrize(
    "text",
    ["0", "12", "1_000", "0x1f", "1.5", "1e-5", "2j", "'a'", '"b"', "''", "'''c'''", '"""d\n"""', r"'\n'", r"r'\d'", "b'e'",
     "'it\"s'", "\"it's\"", "'a' 'b'",
     "1.", ".5", "1E-3", "2.e+5", '""', '""""""', '"""a\'b"c"""', '"""a""" """b"""', '"""a\r\nb"""', r'"""\n"""'],
)  # fmt: skip
def test_value(text: str) -> None:
    value = value_of(text)
    assert value == ast.literal_eval(text)
    assert type(value) is type(ast.literal_eval(text))
