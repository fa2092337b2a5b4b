"""Evidence in a function body that an unannotated parameter is a tensor, or a number."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.torch_tables import TENSOR_EVIDENCE, words
from graphdoctor.syntax.walk import walk


def uses(body: cst.BaseSuite | cst.BaseExpression) -> tuple[set[str], set[str]]:
    """Names in a function's ``body`` that are used as only tensors are: ``x.shape``, ``x.view()``, ``torch.f(x)``;
    and those that are used as numbers are, such as ``n`` of ``range(n)`` and ``x[:n]``.
    """
    found: set[str] = set()
    against: set[str] = set()
    bounds: set[str] = set()
    for child in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(child) is cst.Attribute and type(child.value) is cst.Name:
            if child.attr.value in TENSOR_EVIDENCE:
                found.add(child.value.value)
        elif type(child) is cst.Call:
            _call(child, found, against)
        elif type(child) is cst.Slice:
            for bound in (child.lower, child.upper):
                bounds.update(_terms(bound))
    return found - against, against | bounds


def _terms(node: cst.BaseExpression | None) -> Iterator[str]:
    """The names in a name, or in what is computed of names alone."""
    if type(node) is cst.Name:
        yield node.value
    elif type(node) is cst.BinaryOperation:
        yield from _terms(node.left)
        yield from _terms(node.right)


def _call(node: cst.Call, found: set[str], against: set[str]) -> None:
    first = node.args[0].value if node.args and not node.args[0].star else None
    if type(first) is not cst.Name:
        return
    root = node.func
    while type(root) is cst.Attribute:
        root = root.value
    if type(root) is cst.Name and type(node.func) is cst.Attribute:
        if root.value in ("torch", "F"):
            if node.func.attr.value not in (
                "arange",
                "zeros",
                "ones",
                "full",
                "empty",
                "rand",
                "randn",
                "is_tensor",
                "tensor",
                "as_tensor",
                "from_numpy",
                "cat",
                "stack",
                "device",
            ):
                found.add(first.value)
        elif root.value == "self" and len(node.args) == 1 and node.func.attr.value in _LAYERS:
            found.add(first.value)
    elif type(node.func) is cst.Name and node.func.value in ("range", "str"):
        against.add(first.value)


#: Names under which layers are kept by custom.
_LAYERS = words(
    """
    fc fc1 fc2 linear lin proj conv conv1 conv2 embedding embed norm layer net model encoder decoder head backbone
    """
)
