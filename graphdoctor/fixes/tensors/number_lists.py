"""Python numbers that are made a tensor, and read from it again: the same with Python alone."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name, is_builtin
from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.analysis.types import assigned, latest
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.fixes.core.scope import names, parameters
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_MAKERS = ("torch.tensor", "torch.as_tensor", "torch.LongTensor", "torch.IntTensor")
_REDUCED = {"amax": "max", "amin": "min", "max": "max", "min": "min", "prod": "math.prod", "sum": "sum"}
#: Builtins that go over what they are given.
_GO_OVER = tuple(
    f"builtins.{name}" for name in ("enumerate", "list", "max", "min", "set", "sorted", "sum", "tuple", "zip")
)
_REASON = "The numbers stay those of Python; a tensor would round floats to its dtype."
_NEGATIVE = "A range of a negative count is empty, where `torch.arange` raises."


@dataclass(frozen=True)
class _Numbers:
    """``items`` is the code of the numbers that a tensor holds: of a list, or of one number.

    ``edits`` keep the list where the tensor is made.
    """

    items: str
    is_list: bool = True
    edits: tuple[Edit, ...] = ()


def stay_numbers(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.tensor(lengths).max().item()`` becomes ``max(lengths)``, ``.cumsum(0).tolist()`` a sum in Python.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call):
        return Refusal("No number is read here.")
    tensor = _read(call)
    numbers = _numbers(tensor, editor, 0) if tensor is not None else None
    if tensor is None or numbers is None:
        return Refusal("The tensor is not made of Python numbers here.")
    if numbers.is_list != (called(call) == "tolist"):
        raise Refuse("one number is read of more than one")
    is_plain = numbers.items.startswith(("list(", "["))
    is_list = is_plain or not numbers.is_list or _goes_over(call, editor)
    text = numbers.items if is_list else f"list({numbers.items})"
    edits: list[Edit] = [*numbers.edits, editor.replace(call, text)]
    for module in ("itertools", "math"):
        edits += import_edit(module, editor) if f"{module}." in text else ()
    for name in ("max", "min", "sum", "list"):
        if f"{name}(" in text and not is_builtin(name, editor):
            raise Refuse(f"the name {name} may stand for something else in this file")
    is_counted = any(called(inner) == "arange" for inner in calls(tensor))
    return FixPlan(tuple(edits), "unsafe", f"{_REASON} {_NEGATIVE}" if is_counted else _REASON)


def _goes_over(call: cst.Call, editor: Editor) -> bool:
    """Whether the list is only gone over, once: ``set(t.tolist())``."""
    user = editor.parent(call)
    outer = editor.parent(user) if isinstance(user, cst.Arg) else None
    is_loop = isinstance(user, (cst.For, cst.CompFor)) and user.iter is call
    return is_loop or (isinstance(outer, cst.Call) and dotted_name(outer.func, editor) in _GO_OVER)


def give_size(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.repeat_interleave(x, torch.tensor(counts), 0)`` gets ``output_size=sum(counts)``.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "repeat_interleave" or any(a.star for a in call.args):
        return Refusal("The size of what comes out is no sum of Python numbers.")
    is_method = dotted_name(call.func, editor) != "torch.repeat_interleave"
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    plain = (a.value for a in call.args if a.keyword is None)
    given |= dict(zip(("input", "repeats", "dim")[is_method:], plain, strict=False))
    repeated = call.func.value if is_method and isinstance(call.func, cst.Attribute) else given.get("input")
    numbers = _numbers(given["repeats"], editor, 0) if "repeats" in given else None
    if repeated is None or numbers is None or not numbers.is_list:
        return Refusal("The repeats are not made of Python numbers here.")
    if not is_builtin("sum", editor) or not is_builtin("len", editor):
        raise Refuse("the name sum or len may stand for something else in this file")
    if not numbers.items.isidentifier() and not numbers.items.startswith(("[", "(")):
        raise Refuse(f"`{numbers.items}` has no name, and would be computed more than once")
    # One number counts for all rows.
    rows = _rows(repeated, given.get("dim"), editor)
    size = f"sum({numbers.items}) * (1 if len({numbers.items}) > 1 else {rows})"
    labels = (f"{a.keyword.value}=" if a.keyword is not None else "" for a in call.args)
    arguments = [label + editor.code(a.value) for label, a in zip(labels, call.args, strict=True)]
    text = f"{editor.code(call.func)}({', '.join((*arguments, f'output_size={size}'))})"
    return FixPlan((*numbers.edits, editor.replace(call, text)), "unsafe", "The size is that of Python's numbers.")


def _rows(tensor: cst.BaseExpression, dim: cst.BaseExpression | None, editor: Editor) -> str:
    """How many rows ``tensor`` has along ``dim``, or elements; what has no name is not computed twice."""
    if isinstance(tensor, cst.Name):
        return f"{tensor.value}.shape[{editor.code(dim)}]" if dim is not None else f"{tensor.value}.numel()"
    if isinstance(tensor, cst.Call) and len(tensor.args) == 1 and _is_arange(tensor.func, editor):
        count = tensor.args[0]
        if count.keyword is None and not count.star and not isinstance(editor.value(count.value), Tensor):
            return editor.operand(count.value)
    raise Refuse(f"`{editor.code(tensor)}` has no name, so how many rows it has is not known before")


def _is_arange(function: cst.BaseExpression, editor: Editor) -> bool:
    """``torch.arange``, also where ``partial`` gives it a device."""
    made = assigned(function, editor)
    if isinstance(made, cst.Call) and dotted_name(made.func, editor) == "functools.partial" and made.args:
        is_plain = all(a.keyword is not None and a.keyword.value in ("device", "dtype") for a in made.args[1:])
        function = made.args[0].value if is_plain else function
    return dotted_name(function, editor) == "torch.arange"


def _read(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor that ``t.item()``, ``t.tolist()``, ``int(t)`` or ``float(t)`` reads."""
    name = called(call)
    if isinstance(call.func, cst.Attribute):
        return call.func.value if name in ("item", "tolist") and not call.args else None
    return call.args[0].value if name in ("int", "float") and len(call.args) == 1 else None


def _numbers(tensor: cst.BaseExpression, editor: Editor, depth: int) -> _Numbers | None:
    """What ``tensor`` holds, in Python; None where it is not made of Python numbers in this function."""
    if isinstance(tensor, cst.Name) and depth < 4:
        value = latest(tensor, editor)
        return _numbers(value, editor, depth + 1) if value is not None and not _written(tensor, editor) else None
    if not isinstance(tensor, cst.Call):
        return None
    name = dotted_name(tensor.func, editor)
    if name in _MAKERS:
        counted = tensor.args[0].value if tensor.args else None
        if isinstance(counted, cst.Call) and dotted_name(counted.func, editor) == "builtins.range":
            return _counted(counted, editor, is_here=depth == 0) if len(tensor.args) == 1 else None
        return _listed(tensor, editor, is_here=depth == 0)
    if name == "torch.arange":
        return _counted(tensor, editor, is_here=depth == 0)
    return _reduced(tensor, editor, depth) if isinstance(tensor.func, cst.Attribute) else None


def _listed(call: cst.Call, editor: Editor, is_here: bool) -> _Numbers | None:
    """The list that a tensor is made of; where that is not here, one that holds the same here."""
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return None
    if any(a.keyword is None or a.keyword.value not in ("device", "dtype") for a in call.args[1:]):
        return None
    items = call.args[0].value
    is_dtype_kept = all(editor.code(a.value) in ("torch.long", "torch.int64") for a in call.args[1:] if _is_dtype(a))
    if not is_dtype_kept or not _are_whole(editor.value(items)):
        return None
    return _Numbers(editor.code(items)) if is_here or _lasts(items, editor) else _kept(items, editor)


def _counted(call: cst.Call, editor: Editor, is_here: bool) -> _Numbers | None:
    """The ``range`` that ``torch.arange(n)`` or a tensor of a range holds, where its bounds are the same here."""
    bounds = [a.value for a in call.args if a.keyword is None and not a.star]
    if len(bounds) < len(call.args) or not all(_is_whole(editor.value(bound)) for bound in bounds):
        return None
    if not is_builtin("range", editor) or not (is_here or all(_stays(bound, editor) for bound in bounds)):
        return None
    return _Numbers(f"range({', '.join(map(editor.code, bounds))})")


def _stays(number: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``number`` is arithmetic of names that the function binds once."""
    function = editor.function_of(number)
    parts = (cst.Name, cst.Integer, cst.BinaryOperation, cst.UnaryOperation, cst.BaseBinaryOp, cst.BaseUnaryOp)
    if function is None or not all(
        isinstance(node, (*parts, cst.BaseParenthesizableWhitespace)) for node in walk(number)
    ):
        return False
    return _are_bound_once(number, function, editor)


def _kept(items: cst.BaseExpression, editor: Editor) -> _Numbers | None:
    """The list under a name of its own, bound where the tensor is made: by then it may be another."""
    statement = editor.statement_of(items)
    if not isinstance(statement, cst.Assign) or not is_builtin("list", editor):
        return None
    name = editor.fresh(f"{editor.code(statement.targets[0].target)}_list")
    text = editor.code(items) if isinstance(items, cst.ListComp) else f"list({editor.code(items)})"
    line = editor.lines(editor.indent_of(statement), f"{name} = {text}", "")
    return _Numbers(name, edits=(editor.insert_before(statement, line), editor.replace(items, name)))


def _written(tensor: cst.Name, editor: Editor) -> bool:
    """Whether the function writes to elements of the tensor, or calls a method of it that does."""
    function = editor.function_of(tensor)
    for use in editor.mentions(function, tensor.value) if function is not None else ():
        outer = editor.parent(use)
        if isinstance(outer, cst.Attribute) and outer.attr.value.endswith("_"):
            return True
        if isinstance(outer, cst.Subscript) and isinstance(editor.parent(outer), (cst.AssignTarget, cst.AugAssign)):
            return True
    return False


def _lasts(items: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``items``, evaluated later in the function, is the same: written out, of names that are bound once."""
    function = editor.function_of(items)
    if function is None or not isinstance(items, (cst.List, cst.Tuple, cst.Attribute)):
        return False
    return _are_bound_once(items, function, editor)


def _are_bound_once(node: cst.BaseExpression, function: cst.FunctionDef, editor: Editor) -> bool:
    """Whether each name in ``node`` has one value in a call: a loop may bind it anew after the tensor is made."""
    loops = (cst.For, cst.While)
    return all(
        len(bound := editor.assignments(function, name)) <= (name not in parameters(function))
        and not any(isinstance(outer, loops) for b in bound for outer in (b, *editor.ancestors(b)))
        for name in names(node)
    )


def _is_dtype(argument: cst.Arg) -> bool:
    return argument.keyword is not None and argument.keyword.value == "dtype"


def _are_whole(value: Value) -> bool:
    """A list, tuple or size of whole numbers: which a tensor holds exactly."""
    return all(
        (isinstance(o, PythonValue) and o.kind == "size")
        or (
            isinstance(o, Seq)
            and o.kind in ("list", "tuple", "size")
            and all(map(_is_whole, o.items if o.items is not None else (o.element,)))
        )
        for o in options(value)
    )


def _is_whole(value: Value) -> bool:
    return all(
        (isinstance(o, Const) and type(o.value) is int) or (isinstance(o, PythonValue) and o.kind in ("int", "number"))
        for o in options(value)
    )


def _reduced(call: cst.Call, editor: Editor, depth: int) -> _Numbers | None:
    """``t.max()``, ``torch.max(t)`` and ``t.cumsum(0)`` of such a tensor."""
    assert isinstance(call.func, cst.Attribute)
    name, tensor, given = called(call), call.func.value, call.args
    if dotted_name(call.func, editor) == f"torch.{name}" and given and not given[0].star and given[0].keyword is None:
        tensor, given = given[0].value, given[1:]
    inner = _numbers(tensor, editor, depth)
    if inner is None or not inner.is_list:
        return None
    arguments = [editor.code(a.value) for a in given]
    if name in _REDUCED and not arguments:
        return _Numbers(f"{_REDUCED[name]}({inner.items})", is_list=False, edits=inner.edits)
    if name == "cumsum" and arguments in (["0"], ["-1"]):
        return _Numbers(f"list(itertools.accumulate({inner.items}))", edits=inner.edits)
    return inner if name in ("cpu", "long", "clone", "detach") and not arguments else None
