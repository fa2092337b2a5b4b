"""Private names of torch that graphdoctor reads: the installed torch has each of them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

#: Names of other versions, which are asked for only there.
OTHER_VERSIONS: frozenset[str] = frozenset()


def names(tree: ast.AST) -> Iterator[str]:
    """``torch._dynamo.guards.x`` for each such expression or import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "torch":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("torch."))
        elif isinstance(node, ast.Attribute):
            yield dotted(node)


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return node.id if isinstance(node, ast.Name) and node.id == "torch" else ""


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def is_there(name: str) -> bool:
    found = torch
    path = "torch"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        found = getattr(found, part)
    return True


def test_the_installed_torch_has_every_private_name_that_is_read(root: Path) -> None:
    read = {
        name: file.relative_to(root).as_posix()
        for folder in ("graphdoctor", "rules")
        for file in sorted((root / folder).rglob("*.py"))
        if "torch" in (text := file.read_text())
        for name in names(ast.parse(text))
        if is_private(name)
    }
    assert len(read) > 20
    missing = {name: file for name, file in read.items() if name not in OTHER_VERSIONS and not is_there(name)}
    assert missing == {}
