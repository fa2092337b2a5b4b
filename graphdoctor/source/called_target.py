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


def example(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The last class with a ``forward`` in a file with this ``text``: a call with what it needs, and what its forward
    needs. ``("Net(config, depth)", ("ids",))``; None where there is no such class.
    """
    try:
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    methods = [(node.name, {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}) for node in classes]
    models = [(name, own) for name, own in methods if "forward" in own]
    if not models:
        return None
    name, own = models[-1]
    made_with = _needed(own["__init__"]) if "__init__" in own else ()
    return f"{name}({', '.join(made_with)})" if made_with else name, _needed(own["forward"])


def _needed(method: ast.FunctionDef) -> tuple[str, ...]:
    """The parameters of a method that have no default."""
    plain = [*method.args.posonlyargs, *method.args.args][1:]
    given = len(plain) - min(len(method.args.defaults), len(plain))
    keywords = zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True)
    return (*(a.arg for a in plain[:given]), *(f"{a.arg}={a.arg}" for a, default in keywords if default is None))
