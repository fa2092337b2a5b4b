"""Private names of torch that graphdoctor reads: the installed torch has each of them."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphdoctor.lint import catalog

torch = pytest.importorskip("torch")

#: Documented in spite of the name, and used anywhere.
DOCUMENTED = re.compile(r"torch\._dynamo(\.reset|\.config(\.patch)?)?")


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


@pytest.fixture(scope="module")
def read(root: Path) -> dict[str, set[str]]:
    """The files that name each private part of torch."""
    found: dict[str, set[str]] = {}
    for folder in ("graphdoctor", "rules"):
        for file in (root / folder).rglob("*.py"):
            for name in filter(is_private, names(ast.parse(file.read_text()))):
                found.setdefault(name, set()).add(file.relative_to(root).as_posix())
    assert len(found) > 20
    return found


def test_the_installed_torch_has_every_private_name_that_is_read(read: dict[str, set[str]]) -> None:
    assert {name: files for name, files in read.items() if not is_there(name)} == {}


def test_one_module_knows_private_names(read: dict[str, set[str]]) -> None:
    """Beside it the recorder, which runs in the user's program and imports nothing of graphdoctor."""
    files = set().union(*(files for name, files in read.items() if not DOCUMENTED.fullmatch(name)))
    assert files == {"graphdoctor/dynamic/tracing/private_torch.py", "graphdoctor/recorder/torch_hooks.py"}


def test_formulas_of_divergences_are_kept_where_they_are_forgotten() -> None:
    from torch.distributions import Normal, kl, kl_divergence

    from graphdoctor.dynamic.tracing.private_torch import forget_divergences

    kl_divergence(Normal(0.0, 1.0), Normal(0.0, 2.0))
    assert (Normal, Normal) in kl._KL_MEMOIZE
    forget_divergences()
    assert not kl._KL_MEMOIZE


def test_a_reentrant_checkpoint_asks_what_is_noted() -> None:
    from torch.utils.checkpoint import checkpoint

    from graphdoctor.dynamic.tracing.private_torch import checkpoints_without_gradients

    with checkpoints_without_gradients() as seen, pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint(torch.sin, torch.ones(2), use_reentrant=True)
    assert seen
    with checkpoints_without_gradients() as seen:
        checkpoint(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=True)
        checkpoint(torch.sin, torch.ones(2), use_reentrant=False)
    assert not seen


def test_the_functions_of_torch_whose_breaks_a_rule_explains_are_there() -> None:
    layers = "".join(file.read_text(encoding="utf-8") for file in (Path(torch.__file__).parent / "nn").rglob("*.py"))
    inside = [name for rule in catalog.rules() for name in rule.inside]
    assert inside and [name for name in inside if f"def {name}(" not in layers] == []
