"""A function that makes an array with numpy, made an operator of the graph: it runs as it is, and gives a tensor.

``mask = spans((b, t), p)`` / ``mask = torch.tensor(mask, device=d)`` calls the operator, which calls ``spans``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, parameters
from graphdoctor.fixes.proof.signatures import check_arguments, parameter_types
from graphdoctor.fixes.python.hoist import insert_above, top_statement
from graphdoctor.fixes.python.operators import definition
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_REASON = (
    "The function becomes an operator of its own, which the graph runs as it is, on the CPU; it has to give an array "
    "of the shape that it makes first, and to get arguments of the types that it names."
)
#: Functions that make an array of a given shape.
_MADE = ("numpy.empty", "numpy.full", "numpy.ones", "numpy.zeros")
#: The dtypes that an array is made of, and those of its tensor.
_DTYPES = {
    "bool": "bool", "float": "float64", "int": "int64", "numpy.bool_": "bool",
    "numpy.float32": "float32", "numpy.float64": "float64", "numpy.int32": "int32", "numpy.int64": "int64",
}  # fmt: skip
_CONVERSIONS = ("torch.as_tensor", "torch.from_numpy", "torch.tensor")


@dataclass(frozen=True)
class _Array:
    """What the function returns: its shape, in terms of its parameters, and the dtype of its tensor."""

    shape: str
    dtype: str


def array_as_operator(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The outermost function around the hit becomes such an operator. Raises Refuse where it does not fit."""
    function = top_statement(hit.place, editor)
    if not isinstance(function, cst.FunctionDef) or function.decorators or function.asynchronous is not None:
        return Refusal("This is no plain function that makes an array.")
    array = _array(function, editor)
    types = parameter_types(function, editor)
    name = function.name.value
    operator = editor.fresh(f"{name.lstrip('_')}_operator")
    used = [call for call in editor.every(cst.Call) if isinstance(call.func, cst.Name) and call.func.value == name]
    # The array has no gradient, and the operator has no backward pass for that of a tensor that it gets.
    suffix = ".detach()" if any(kind.startswith("torch.") for kind in types.values()) else ""
    for call in used:
        check_arguments(cst.ensure_type(editor.module.of(call), cst.Call), types, editor)
    edits = [edit for call in used for edit in _tensor_of(editor.module.of(call), operator, suffix, editor)]
    following = editor.following(function)
    if not used or following is None:
        raise Refuse(f"`{name}` is not called in this file")
    lines = _definition(function, operator, array, types, editor)
    edits = [*editor.torch_import(function), insert_above(following, lines, editor), *edits]
    return FixPlan(tuple(edits), "unsafe", _REASON)


def _array(function: cst.FunctionDef, editor: Editor) -> _Array:
    """The array that every return gives. Refuses where its shape does not follow from the arguments."""
    returned = {
        editor.code(r.value) if r.value is not None else ""
        for r in find(function, cst.Return)
        if _own(r, function, editor)
    }
    name = next(iter(returned), "")
    # ``out *= 2`` changes the array in place, and neither its shape nor its dtype.
    bound = [b for b in assignments(function, name) if not isinstance(b, cst.AugAssign)] if len(returned) == 1 else []
    made = bound[0].value if len(bound) == 1 and isinstance(bound[0], cst.Assign) else None
    if not isinstance(made, cst.Call) or dotted_name(made.func, editor) not in _MADE or not made.args:
        raise Refuse(f"`{function.name.value}` is not shown to give one array that numpy makes of a shape")
    given = {a.keyword.value: a.value for a in made.args if a.keyword is not None}
    plain = [a.value for a in made.args if a.keyword is None]
    order = ("shape", "fill_value", "dtype") if called(made) == "full" else ("shape", "dtype")
    given |= dict(zip(order, plain, strict=False))
    dtype = dotted_name(given["dtype"], editor).removeprefix("builtins.") if "dtype" in given else "float"
    if dtype not in _DTYPES or "shape" not in given or (called(made) == "full" and "dtype" not in given):
        raise Refuse(f"the shape and dtype of `{name}` are not given")
    return _Array(_shape(given["shape"], function, editor), _DTYPES[dtype])


def _own(node: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> bool:
    """Whether ``node`` stands in ``function`` and in no function in it."""
    return editor.function_of(node) in (function, editor.module.of(function))


def _shape(shape: cst.BaseExpression, function: cst.FunctionDef, editor: Editor) -> str:
    """The code of ``shape`` in terms of the parameters. Refuses where it needs more than they say."""
    elements = [e.value for e in shape.elements] if isinstance(shape, (cst.List, cst.Tuple)) else [shape]
    texts = [_size(element, function, editor) for element in elements]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})" if isinstance(shape, (cst.List, cst.Tuple)) else texts[0]


def _size(node: cst.BaseExpression, function: cst.FunctionDef, editor: Editor) -> str:
    if isinstance(node, cst.Integer):
        return node.value
    bound = assignments(function, node.value) if isinstance(node, cst.Name) else []
    if isinstance(node, cst.Name) and node.value in parameters(function) and not bound:
        return node.value
    assign = bound[0] if len(bound) == 1 else None
    if isinstance(assign, cst.Assign) and isinstance(node, cst.Name) and isinstance(assign.value, cst.Name):
        target, whole = assign.targets[0].target, assign.value.value
        if isinstance(target, cst.Tuple) and whole in parameters(function) and not assignments(function, whole):
            return f"{whole}[{[editor.code(e.value) for e in target.elements].index(node.value)}]"
    raise Refuse(f"`{editor.code(node)}` does not follow from the arguments alone")


def _tensor_of(call: cst.CSTNode, operator: str, suffix: str, editor: Editor) -> Iterator[Edit]:
    """The edits where ``call`` gives an array of which the next statement makes a tensor, which gets the ``suffix``.

    Refuses other calls.
    """
    assert isinstance(call, cst.Call)
    assign, around = editor.parent(call), editor.parent(editor.parent(call) or call)
    refused = Refuse(f"line {editor.location(call).line} does more with the array than make a tensor of it")
    conversion: cst.CSTNode | None = around
    if isinstance(assign, cst.Assign):
        target, line = assign.targets[0].target, editor.parent(assign)
        following = _next(line, editor) if line is not None else None
        conversion = following.value if isinstance(following, cst.Assign) else None
        is_same = isinstance(following, cst.Assign) and [editor.code(t.target) for t in following.targets] == [
            editor.code(target)
        ]
        if not isinstance(target, cst.Name) or len(assign.targets) != 1 or not is_same:
            raise refused
    if not isinstance(conversion, cst.Call) or dotted_name(conversion.func, editor) not in _CONVERSIONS:
        raise refused
    first, *rest = conversion.args
    if any(a.keyword is None or a.keyword.value not in ("device", "dtype") for a in rest):
        raise refused
    if isinstance(assign, cst.Assign) and editor.code(first.value) != editor.code(assign.targets[0].target):
        raise refused
    yield editor.replace(call.func, operator)
    arguments = ", ".join(editor.code(a).rstrip(", ") for a in rest)
    inner, end = editor.location(first.value), editor.location(conversion)
    start = editor.location(conversion)
    yield Edit(editor.path, (start.line, start.column), (inner.line, inner.column), "")
    text = suffix + (f".to({arguments})" if arguments else "")
    yield Edit(editor.path, (inner.end_line, inner.end_column), (end.end_line, end.end_column), text)


def _next(line: cst.CSTNode, editor: Editor) -> cst.CSTNode | None:
    """The one small statement in the line after ``line``."""
    block = editor.parent(line)
    body = list(block.body) if isinstance(block, (cst.IndentedBlock, cst.Module)) else []
    at = next((number for number, other in enumerate(body) if other is line), len(body))
    following = body[at + 1] if at + 1 < len(body) else None
    return following.body[0] if isinstance(following, cst.SimpleStatementLine) and len(following.body) == 1 else None


def _definition(
    function: cst.FunctionDef, operator: str, array: _Array, types: Mapping[str, str], editor: Editor
) -> str:
    defaults = parameters(function)
    typed = [f"{p}: {kind}" + _default(defaults[p], editor) for p, kind in types.items()]
    plain = [p + _default(defaults[p], editor).replace(" = ", "=") for p in types]
    passed = [f"{p}=tuple({p})" if kind.startswith("list") else f"{p}={p}" for p, kind in types.items()]
    result = f"torch.from_numpy({function.name.value}({', '.join(passed)}))"
    fake = f'torch.empty({array.shape}, dtype=torch.{array.dtype}, device="cpu")'
    return definition(operator, typed, plain, result, fake, editor)


def _default(value: cst.BaseExpression | None, editor: Editor) -> str:
    return "" if value is None else f" = {editor.code(value)}"
