"""Evidence in a function body that an unannotated parameter is a tensor."""

from __future__ import annotations

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static.facts import TENSOR_EVIDENCE, words


def tensor_parameters(body: cst.BaseSuite | cst.BaseExpression) -> set[str]:
    """Names in a function's ``body`` that are used as only tensors are: ``x.shape``, ``x.view()``, ``torch.f(x)``."""
    found: set[str] = set()
    against: set[str] = set()
    for child in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(child) is cst.Attribute and type(child.value) is cst.Name:
            if child.attr.value in TENSOR_EVIDENCE:
                found.add(child.value.value)
        elif type(child) is cst.Call:
            _call(child, found, against)
    return found - against


def _call(node: cst.Call, found: set[str], against: set[str]) -> None:
    first = node.args[0].value if node.args and not node.args[0].star else None
    if not isinstance(first, cst.Name):
        return
    root = node.func
    while isinstance(root, cst.Attribute):
        root = root.value
    if isinstance(root, cst.Name) and isinstance(node.func, cst.Attribute):
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
    elif isinstance(node.func, cst.Name) and node.func.value in ("range", "str"):
        against.add(first.value)


#: Names under which layers are kept by custom.
_LAYERS = words(
    """
    fc fc1 fc2 linear lin proj conv conv1 conv2 embedding embed norm layer net model encoder decoder head backbone
    """
)
