"""Defaults that depend on tensor data, or that only eager code makes."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import names, parameters, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def default_for_none(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y or torch.ones(1)`` becomes ``y if y is not None else torch.ones(1)`` for an argument that may be None."""
    operation = editor.parent(hit.place)
    is_or = isinstance(operation, cst.BooleanOperation) and isinstance(operation.operator, cst.Or)
    if not isinstance(operation, cst.BooleanOperation) or not is_or or operation.left is not hit.place:
        return Refusal("This is no `or` that gives a default.")
    function, name = editor.function_of(operation), editor.code(operation.left)
    default = parameters(function).get(name) if function is not None else None
    if not isinstance(default, cst.Name) or default.value != "None":
        return Refusal(f"`{name}` is no argument that is None by default.")
    text = f"{name} if {name} is not None else {editor.code(operation.right)}"
    if not operation.lpar and not isinstance(editor.parent(operation), (cst.Assign, cst.Arg, cst.Return)):
        text = f"({text})"
    reason = "A tensor that is zero counts as given; before, it got the default."
    return FixPlan((editor.replace(operation, text),), "unsafe", reason, known=("zeros",))


def make_default(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if mask is None and not is_compiling(): mask = ...`` loses its second half."""
    wanted = names(hit.place)
    found = [n for n in editor.every(cst.If) if _skips_default(n)]
    in_function = [n for n in found if _assigned(n) & wanted and editor.function_of(n) is editor.function_of(hit.place)]
    chosen = in_function or found
    if not chosen:
        return Refusal("The test that leaves the default out is in another file.")
    edits = tuple(_drop(n, editor) for n in chosen)
    return FixPlan(edits, "unsafe", "The default is also made under compile, as in eager.")


def _skips_default(node: cst.If) -> bool:
    test = node.test
    if not isinstance(test, cst.BooleanOperation) or not isinstance(test.operator, cst.And) or node.orelse is not None:
        return False
    return _is_none(test.left) and _not_compiling(test.right) and bool(_assigned(node) & names(test.left))


def _is_none(test: cst.BaseExpression) -> bool:
    """``x is None``."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    part = test.comparisons[0]
    return (
        isinstance(part.operator, cst.Is) and isinstance(part.comparator, cst.Name) and part.comparator.value == "None"
    )


def _not_compiling(test: cst.BaseExpression) -> bool:
    """``not is_compiling()`` or the like."""
    if not isinstance(test, cst.UnaryOperation) or not isinstance(test.operator, cst.Not):
        return False
    function = test.expression.func if isinstance(test.expression, cst.Call) else None
    name = function.attr if isinstance(function, cst.Attribute) else function
    return isinstance(name, cst.Name) and name.value.startswith("is_") and name.value.endswith("compiling")


def _assigned(node: cst.If) -> frozenset[str]:
    assigned = (n for n in walk(node.body) if isinstance(n, cst.Assign))
    return frozenset(name for n in assigned for t in n.targets for name in target_names(t.target))


def _drop(node: cst.If, editor: Editor) -> Edit:
    assert isinstance(node.test, cst.BooleanOperation)
    return editor.replace(node.test, editor.code(node.test.left))
