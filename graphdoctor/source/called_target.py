"""``Net(4, hidden=8)``: a target with the arguments that it is made with."""

from __future__ import annotations

import ast
import re


def name_of(target: str) -> str:
    """``Net`` of ``Net(4)`` and of ``Net``."""
    return target.partition("(")[0]


def is_call(target: str) -> bool:
    """Whether ``target`` is one call of a name, and no other expression."""
    try:
        node: ast.expr = ast.parse(target, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not isinstance(node, ast.Call):
        return False
    node = node.func
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def problem(target: str) -> str:
    """Why ``target`` is neither a name nor a call of one; empty where it is."""
    if name_of(target) == target or is_call(target):
        return ""
    return f"--target {target!r} is no name and no call: give one, such as Net or 'Net(4, hidden=8)'"


def compiled_name(target: str, text: str) -> str | None:
    """The name in a file with this ``text`` that is compiled for ``target``; None where a function makes what is."""
    name = name_of(target)
    return name if name == target or re.search(rf"^class {re.escape(name)}\b", text, re.MULTILINE) else None
