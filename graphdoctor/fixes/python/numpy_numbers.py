"""numpy on Python numbers, whose results are arrays to Dynamo: the same with ``math`` and builtins."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name, is_builtin
from graphdoctor.fixes.analysis.purity import called, words
from graphdoctor.fixes.analysis.types import assigned, is_number, is_tensor_like
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: Functions that ``math`` has under the same name, with as many arguments and the same kind of result.
_SAME = words("cos cosh exp expm1 isfinite isinf isnan log log10 log1p log2 sin sinh sqrt tan tanh")
_WHOLE = {"ceil": "math.ceil", "floor": "math.floor", "rint": "round", "round": "round", "trunc": "math.trunc"}
_OF_TWO = {"gcd": "math.gcd", "lcm": "math.lcm", "hypot": "math.hypot"}
_EXTREME = {"maximum": "max", "minimum": "min"}
_OF_LIST = {"amax": "max", "amin": "min", "max": "max", "min": "min", "prod": "math.prod", "sum": "sum"}
_ALONE = {"abs": "abs", "absolute": "abs", "int32": "int", "int64": "int"}
_NAMES = {*_SAME, *_WHOLE, *_OF_TWO, *_EXTREME, *_OF_LIST, *_ALONE, "cumsum"}
_DEPTH = 6
_ARRAYS = words("numpy.array numpy.asarray")
_REASON = "A Python number takes the place of a numpy one."
#: Arguments of ``astype``.
_INT = (["int"], ["'int'"], ['"int"'])
#: Methods that give an array or a tensor of the same shape.
_SAME_SHAPE = words("astype cpu detach numpy")


def python_math(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``np.lcm(a, b)`` of sizes becomes ``math.lcm(a, b)``, here or where the name that is used here is made."""
    found = list(dict.fromkeys(_calls(hit.place, editor, 0)))
    if not found:
        return Refusal("The number does not come from a function of numpy on Python numbers.")
    place = hit.place
    if isinstance(place, cst.Call) and place not in found and dotted_name(place.func, editor).startswith("numpy."):
        # What it gives is an array to Dynamo, whatever becomes of its arguments.
        return Refusal(f"`{editor.code(place)}` is not shown to get Python numbers alone.")
    edits: list[Edit] = []
    for call in found:
        outermost, text = _python(call, editor)
        edits += [] if _is_inside(call, found, editor) else [editor.replace(outermost, text)]
        for module in ("math", "itertools"):
            edits += [e for e in (import_edit(module, editor) if f"{module}." in text else ()) if e not in edits]
    return FixPlan(tuple(edits), "unsafe", _REASON)


def shape_alone(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``a = x.numpy().astype(object)`` becomes ``a = x`` where only the shape of ``a`` is read."""
    call = hit.place
    tensor: cst.CSTNode = call
    while isinstance(tensor, cst.Call) and isinstance(tensor.func, cst.Attribute) and called(tensor) in _SAME_SHAPE:
        tensor = tensor.func.value
    assign = editor.parent(call)
    if not isinstance(assign, cst.Assign) or not isinstance(tensor, cst.BaseExpression) or tensor is call:
        return Refusal("This keeps no array of a tensor in a name.")
    if not is_tensor_like(tensor, editor):
        return Refusal(f"`{editor.code(tensor)}` is not known to be a tensor.")
    for use in uses(assign, editor):
        outer = editor.parent(use)
        if not isinstance(outer, cst.Attribute) or outer.value is not use or outer.attr.value not in ("ndim", "shape"):
            raise Refuse(f"line {editor.location(use).line} reads more of the array than its shape")
    reason = "The tensor has the same shape; no array is made, which would fail for one that needs a gradient."
    return FixPlan((editor.replace(call, editor.code(tensor)),), "unsafe", reason)


def _calls(node: cst.CSTNode, editor: Editor, depth: int) -> Iterator[cst.Call]:
    """The calls of numpy with Python numbers in ``node``, and in what its names are given."""
    for inner in walk(node):
        if isinstance(inner, cst.Call) and _function(inner, editor):
            yield inner
        elif isinstance(inner, cst.Name) and depth < _DEPTH and not editor.is_label(inner):
            value = assigned(inner, editor)
            found = list(_calls(value, editor, depth + 1)) if value is not None else []
            if value is not None and found:
                _refuse_arrays(editor.parent(value), editor)
            yield from found


def _refuse_arrays(made: cst.CSTNode | None, editor: Editor) -> None:
    """Raises Refuse where an attribute or method of an array is used of the name that ``made`` gives a value."""
    for use in uses(made, editor) if isinstance(made, cst.Assign) else ():
        if isinstance(editor.parent(use), cst.Attribute):
            raise Refuse(f"`{editor.code(use)}` needs to be an array in line {editor.location(use).line}")


def _function(call: cst.Call, editor: Editor, depth: int = 0) -> str:
    """The name of a function of numpy that has a form in Python, where all arguments are Python numbers."""
    if not isinstance(call.func, cst.Attribute) or called(call) not in _NAMES:
        return ""
    package, _, name = dotted_name(call.func, editor).rpartition(".")
    if package != "numpy" or not call.args or any(a.star or a.keyword for a in call.args):
        return ""
    values = [a.value for a in call.args]
    if name in _OF_LIST or name == "cumsum":
        return name if len(values) == 1 and _are_numbers(editor.value(values[0])) else ""
    wanted = 2 if name in _OF_TWO or name in _EXTREME else 1
    return name if len(values) == wanted and all(_is_python(value, editor, depth) for value in values) else ""


def _is_python(node: cst.BaseExpression, editor: Editor, depth: int) -> bool:
    """A Python number, or one that becomes one: arithmetic of numbers and of calls that are rewritten too."""
    if isinstance(node, cst.Call) and _function(node, editor, depth):
        return True
    if isinstance(node, cst.BinaryOperation):
        return _is_python(node.left, editor, depth) and _is_python(node.right, editor, depth)
    if isinstance(node, cst.UnaryOperation):
        return _is_python(node.expression, editor, depth)
    if is_number(node, editor):
        return True
    value = assigned(node, editor) if depth < _DEPTH else None
    return value is not None and _is_python(value, editor, depth + 1)


def _are_numbers(value: Value) -> bool:
    """A list, tuple or size of Python numbers."""
    return all(
        (isinstance(o, PythonValue) and o.kind == "size")
        or (isinstance(o, Seq) and o.kind in ("list", "tuple", "size") and all(map(_is_one, _elements(o))))
        for o in options(value)
    )


def _elements(sequence: Seq) -> tuple[Value, ...]:
    return sequence.items if sequence.items is not None else (sequence.element,)


def _is_one(value: Value) -> bool:
    return all(
        (isinstance(o, Const) and type(o.value) in (int, float))
        or (isinstance(o, PythonValue) and o.kind in ("int", "float", "number"))
        for o in options(value)
    )


def _python(call: cst.Call, editor: Editor) -> tuple[cst.BaseExpression, str]:
    """What is replaced, ``call`` with a conversion around it, and by what."""
    name = called(call)
    code = ", ".join(_written(a.value, editor) for a in call.args)
    outer, converted = _converted(call, editor)
    if name == "cumsum":
        if converted != "tolist":
            raise Refuse("the sums are kept as an array")
        return outer, f"list(itertools.accumulate({code}))"
    if name in _WHOLE:
        text = f"{_WHOLE[name]}({code})"
        return outer, text if converted in ("int", "astype") else f"float({text})"
    target = _SAME_AS.get(name, f"math.{name}")
    if "." not in target and not is_builtin(target, editor):
        raise Refuse(f"the name {target} may stand for something else in this file")
    text = f"{target}({code})"
    return outer, f"int({text})" if converted in ("int", "astype") and name in _SAME else text


_SAME_AS = {**_OF_TWO, **_EXTREME, **_OF_LIST, **_ALONE}


def _written(node: cst.BaseExpression, editor: Editor) -> str:
    """The code of ``node`` with the calls in it rewritten."""
    code = editor.code(node)
    for inner in walk(node):
        if isinstance(inner, cst.Call) and _function(inner, editor):
            outer, text = _python(inner, editor)
            return code.replace(editor.code(outer), text)
    return code


def _converted(call: cst.Call, editor: Editor) -> tuple[cst.BaseExpression, str]:
    """``call`` with what makes a number or a list of it around it, and the name of the first that is.

    These are ``int(...)``, ``.item()``, ``.tolist()`` and ``.astype(int)``, after which there may be another.
    """
    outer, name = _conversion(call, editor)
    if name == "astype" and isinstance(outer, cst.Call):
        outer, _ = _conversion(outer, editor)
    return outer, name


def _conversion(call: cst.Call, editor: Editor) -> tuple[cst.BaseExpression, str]:
    outer = editor.parent(call)
    method = editor.parent(outer) if isinstance(outer, cst.Attribute) else None
    if isinstance(outer, cst.Attribute) and isinstance(method, cst.Call) and method.func is outer:
        name, arguments = outer.attr.value, [editor.code(a.value) for a in method.args]
        if (name in ("item", "tolist") and not arguments) or (name == "astype" and arguments in _INT):
            return method, name
        raise Refuse(f"`{editor.code(method)}` needs an array")
    conversion = editor.parent(outer) if isinstance(outer, cst.Arg) else None
    if isinstance(conversion, cst.Call) and editor.code(conversion.func) == "int" and len(conversion.args) == 1:
        return conversion, "int"
    return call, ""


def _is_inside(call: cst.Call, others: list[cst.Call], editor: Editor) -> bool:
    """Whether ``call`` is an operand of another that is rewritten with it."""
    return any(other is outer for outer in editor.ancestors(call) for other in others)


def element_itself(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``np.array(x.shape)[1]`` becomes ``x.shape[1]``, here or where the name that is used here is made."""
    found = list(dict.fromkeys(_taken(hit.place, editor, 0)))
    if not found:
        return Refusal("The number is not an element of an array that is made of Python numbers.")
    return FixPlan(tuple(edit for element in found for edit in _edits(element, editor)), "unsafe", _REASON)


def _edits(element: cst.Subscript, editor: Editor) -> Iterator[Edit]:
    """The array is left out, and ``.item()`` after its element."""
    array = cst.ensure_type(element.value, cst.Call)
    code = editor.code(array.args[0].value)
    plain = f"{code}{editor.code(element).removeprefix(editor.code(array))}"
    outer = editor.parent(element)
    method = editor.parent(outer) if isinstance(outer, cst.Attribute) else None
    if isinstance(outer, cst.Attribute):
        if not isinstance(method, cst.Call) or outer.attr.value != "item" or method.args:
            raise Refuse(f"`{editor.code(method or outer)}` needs an array")
        yield editor.replace(method, plain)
        return
    made = next((node for node in editor.ancestors(element) if isinstance(node, cst.Assign)), None)
    _refuse_arrays(made, editor)
    yield editor.replace(element, plain)


def _taken(node: cst.CSTNode, editor: Editor, depth: int) -> Iterator[cst.Subscript]:
    """Where ``node``, or what its names are given, takes one element of an array of Python numbers."""
    for inner in walk(node):
        if isinstance(inner, cst.Subscript) and isinstance(inner.value, cst.Call):
            if _is_one_index(inner) and _is_array_of_numbers(inner.value, editor):
                yield inner
        elif isinstance(inner, cst.Name) and depth < _DEPTH and not editor.is_label(inner):
            value = assigned(inner, editor)
            if value is not None:
                yield from _taken(value, editor, depth + 1)


def _is_one_index(node: cst.Subscript) -> bool:
    """Whether the index is one whole number that is written in it."""
    index = node.slice[0].slice
    if len(node.slice) != 1 or not isinstance(index, cst.Index):
        return False
    number = index.value
    if isinstance(number, cst.UnaryOperation) and isinstance(number.operator, cst.Minus):
        number = number.expression
    return isinstance(number, cst.Integer)


def _is_array_of_numbers(call: cst.Call, editor: Editor) -> bool:
    if len(call.args) != 1 or call.args[0].star or call.args[0].keyword:
        return False
    if dotted_name(call.func, editor) not in _ARRAYS:
        return False
    return all(map(_are_of_one_type, options(editor.value(call.args[0].value))))


def _are_of_one_type(value: Value) -> bool:
    """A list, tuple or size of Python numbers of one type: an array makes all of them one."""
    if isinstance(value, PythonValue):
        return value.kind == "size"
    if not isinstance(value, Seq) or value.kind not in ("list", "tuple", "size"):
        return False
    return {_type(option) for item in _elements(value) for option in options(item)} in ({"int"}, {"float"})


def _type(value: Value) -> str:
    if isinstance(value, Const):
        return type(value.value).__name__
    return value.kind if isinstance(value, PythonValue) else ""
