"""Which sample-input convention a source text declares, without executing it."""

from __future__ import annotations

import ast
import re

_ATTRIBUTES = ("example_input_array", "dummy_inputs")
#: A function with our prefix; only these three are called.
_OURS = re.compile(r"^def (graphdoctor_(?!target\b|variants\b|loss\b)\w+)\(", re.MULTILINE)


def declares_sample(text: str) -> str | None:
    """The convention that ``text`` declares, in the order in which the run tries them, or None.

    "graphdoctor_target": a function of this name; "KernelBench": a class ``Model`` and a function ``get_inputs``;
    "example_input_array" and "dummy_inputs": a class that sets or defines the attribute. None also for a text that
    does not parse.
    """
    tree = _tree(text) if _names_one(text) else None
    if tree is None:
        return None
    names = {name for statement in tree.body for name in _bound(statement)}
    if "graphdoctor_target" in names:
        return "graphdoctor_target"
    if {"Model", "get_inputs"} <= names:
        return "KernelBench"
    declared = {name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for name in _attributes(node)}
    return next((name for name in _ATTRIBUTES if name in declared), None)


def is_broken_sample(text: str) -> bool:
    """Whether ``text`` names a convention and does not parse: its scan says where."""
    return _names_one(text) and _tree(text) is None


def _names_one(text: str) -> bool:
    return any(name in text for name in ("graphdoctor_target", "get_inputs", *_ATTRIBUTES))


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def misnamed(text: str) -> str:
    """The function of ``text`` that is probably meant to be ``graphdoctor_target``, or nothing."""
    found = _OURS.search(text)
    return found[1] if found else ""


def _bound(statement: ast.stmt) -> list[str]:
    """The names a statement binds by definition, import or plain assignment."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in statement.names]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []


def _attributes(cls: ast.ClassDef) -> set[str]:
    """The attributes a class sets: methods and properties, class variables, and ``self.x = ...`` in its methods."""
    found = {name for statement in cls.body for name in _bound(statement)}
    for node in ast.walk(cls):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                found.add(target.attr)
            elif isinstance(node, ast.AnnAssign) and isinstance(target, ast.Name):
                found.add(target.id)
    return found
