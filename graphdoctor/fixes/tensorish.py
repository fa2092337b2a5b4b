"""Whether an operand is a tensor rather than a Python number, as far as the source shows it."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.purity import called, is_torch_function, words

#: Methods and attributes of tensors that give Python values.
_PYTHON = words("""
    data_ptr device dim dtype element_size get_device is_contiguous is_cuda is_floating_point item itemsize layout
    nbytes ndim ndimension numel requires_grad shape size stride tolist
""")
_PYTHON_CALLS = words("abs bool enumerate float int len list max min range round str sum tuple zip")


def is_tensor_like(node: cst.CSTNode, editor: Editor, depth: int = 0) -> bool:
    """True for an argument without a number's annotation or default, for what torch gives, and what is made of such."""
    if depth > 8:
        return False
    if isinstance(node, cst.Name):
        return _name(node, editor, depth)
    if isinstance(node, cst.Attribute):
        return node.attr.value not in _PYTHON and is_tensor_like(node.value, editor, depth + 1)
    if isinstance(node, cst.Subscript):
        return is_tensor_like(node.value, editor, depth + 1)
    if isinstance(node, cst.UnaryOperation):
        return is_tensor_like(node.expression, editor, depth + 1)
    if isinstance(node, cst.BinaryOperation):
        return is_tensor_like(node.left, editor, depth + 1) or is_tensor_like(node.right, editor, depth + 1)
    if isinstance(node, cst.Call):
        return _call(node, editor, depth)
    return False


def _call(node: cst.Call, editor: Editor, depth: int) -> bool:
    if is_torch_function(node, editor):
        return called(node) not in _PYTHON
    if isinstance(node.func, cst.Name) and node.func.value in _PYTHON_CALLS:
        return False
    if isinstance(node.func, cst.Attribute) and is_tensor_like(node.func.value, editor, depth + 1):
        return called(node) not in _PYTHON
    return any(is_tensor_like(a.value, editor, depth + 1) for a in node.args)


def _name(node: cst.Name, editor: Editor, depth: int) -> bool:
    function = editor.function_of(node)
    if function is None or node.value in ("self", "cls"):
        return False
    bound = [n for n in editor.assignments(function, node.value) if not isinstance(n, cst.AugAssign)]
    param = _parameter(function, node.value)
    if param is not None and _is_number(param, editor):
        return False
    if param is not None:
        return True
    return any(isinstance(b, cst.Assign) and is_tensor_like(b.value, editor, depth + 1) for b in bound)


def _parameter(function: cst.FunctionDef, name: str) -> cst.Param | None:
    params = function.params
    every = (*params.posonly_params, *params.params, *params.kwonly_params)
    return next((p for p in every if p.name.value == name), None)


def _is_number(param: cst.Param, editor: Editor) -> bool:
    """An annotation or a default shows that the argument is no tensor."""
    if param.annotation is not None and "Tensor" not in editor.module.tree.code_for_node(param.annotation.annotation):
        return True
    default = param.default
    return default is not None and not (isinstance(default, cst.Name) and default.value == "None")
