"""What compiled code reads from buffers that nothing changes, computed once in ``__init__``.

``x[:, self.keep]`` with a mask, ``self.sizes.tolist()``, ``if self.steps > 3``: the value never changes, and Dynamo
does not know it, because a buffer is data.
"""

from __future__ import annotations

from typing import Literal

import libcst as cst

from graphdoctor.fixes.analysis.attribute_writes import in_constructor, writes
from graphdoctor.fixes.analysis.purity import called, calls, is_own, is_pure, is_torch_function, root
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.python.layers import at_end_of_init
from graphdoctor.model.findings import Known
from graphdoctor.static.domain.events import Convert, Truth
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

#: What is kept: a tensor, a Python value, or a bool.
Kind = Literal["index", "value", "flag"]
#: Conversions of a buffer that give a Python value.
_NUMBERS = frozenset({"bool", "float", "int", "item", "tolist"})
_BUILTINS = frozenset({"bool", "float", "int"})
#: Calls whose result is a tensor with a shape that the data decides.
_INDICES = frozenset({"argwhere", "nonzero", "where"})
#: What a buffer holds that is turned on or off.
_SWITCHES = ("0", "0.0", "1", "1.0", "False", "True")
_REASON = (
    "It is computed once, when the module is made: what is loaded into the buffer or written to it later no longer "
    "counts there."
)


def read_once(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``self.sizes.tolist()`` of a buffer that only ``__init__`` writes. Raises Refuse where it does not fit."""
    owner = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.ClassDef)), None)
    function = editor.function_of(hit.place)
    if owner is None or function is None or function.name.value == "__init__":
        return Refusal("This is no code of a module.")
    if any(isinstance(d.decorator, cst.Name) for d in function.decorators):
        raise Refuse("the code is no plain method")
    place = hit.place
    if isinstance(place, cst.Subscript):
        mask, read, value, wanted = _mask(place, owner, editor)
        kind: Kind = "index"
    else:
        read, value, kind = _expression(hit, owner, editor)
        mask, wanted = read, "{}"
    name = editor.fresh(f"_{_label(mask)}_{kind}")
    line = f"self.{name} = {value}"
    known: tuple[Known, ...] = ("once",)
    if kind == "index":
        # Moved with the module, and in no state_dict, which stays as it was.
        line = f'self.register_buffer("{name}", {value}, persistent=False)'
        known = ("once", "unsaved")
    new = editor.replace(read, wanted.format(f"self.{name}"))
    edits = (*editor.torch_import(read), at_end_of_init(owner, line, editor), new)
    return FixPlan(edits, "unsafe", _REASON, known=known)


def _expression(hit: Hit, owner: cst.ClassDef, editor: Editor) -> tuple[cst.BaseExpression, str, Kind]:
    """What is read of buffers around the hit, the code that computes it, and what it gives."""
    place = hit.place
    if not isinstance(place, cst.BaseExpression) or not _is_constant(place, owner, editor):
        raise Refuse("it depends on more than buffers that nothing changes")
    read: cst.BaseExpression = place
    while True:
        outer = editor.parent(read)
        if isinstance(outer, (cst.Arg, cst.ComparisonTarget)):
            outer = editor.parent(outer)
        grows = isinstance(outer, (cst.Attribute, cst.Call, cst.Comparison, cst.UnaryOperation, cst.BooleanOperation))
        if not grows or not isinstance(outer, cst.BaseExpression) or not _is_constant(outer, owner, editor):
            break
        read = outer
    text = on_one_line(read, editor)
    is_truth = isinstance(hit.event, Truth) or branch_of(read, editor) is not None
    numbers = [c for c in calls(read) if called(c) in _NUMBERS]
    if is_truth:
        if all(_is_switch(n.attr.value, owner, editor) for n in walk(read) if is_own(n)):
            raise Refuse("the buffer is a switch, which code outside of the file is to turn on or off")
        return read, f"bool({text})", "flag"
    if isinstance(hit.event, Convert) and not numbers:
        return read, f"{text}.tolist()", "value"
    return read, text, "value" if numbers else "index"


def _is_switch(name: str, owner: cst.ClassDef, editor: Editor) -> bool:
    """Whether the buffer ``name`` is 0 or 1 in each new module: nobody asks for that but who changes it later."""
    for call in calls(owner):
        if called(call) == "register_buffer" and editor.code(call.args[0].value).strip("\"'") == name:
            made = call.args[1].value if len(call.args) > 1 else None
            value = made.args[0].value if isinstance(made, cst.Call) and made.args else None
            while isinstance(value, cst.List) and len(value.elements) == 1:
                value = value.elements[0].value
            one = isinstance(made, cst.Call) and called(made) in ("ones", "zeros")
            return one or (value is not None and editor.code(value) in _SWITCHES)
    return False


def _mask(
    place: cst.Subscript, owner: cst.ClassDef, editor: Editor
) -> tuple[cst.BaseExpression, cst.BaseExpression, str, str]:
    """The mask in ``x[:, self.keep]``, what is replaced, the code of the indices that select the same, and the text
    with ``{}`` in their place.
    """
    for element in place.slice:
        index = element.slice
        tensor = tensor_of(editor.value(index.value)) if isinstance(index, cst.Index) else None
        if tensor is None or tensor.dtype != "bool" or not isinstance(index, cst.Index):
            continue
        mask = index.value
        if not _is_constant(mask, owner, editor, or_plain=True):
            raise Refuse("the mask depends on more than buffers that nothing changes")
        if tensor.ndim == 1:
            return mask, mask, f"{editor.operand(mask)}.nonzero().squeeze(1)", "{}"
        if len(place.slice) == 1 and tensor.ndim is not None:
            flat = f"{editor.operand(place.value)}.flatten(0, {tensor.ndim - 1})[{{}}]"
            return mask, place, f"{editor.operand(mask)}.flatten().nonzero().squeeze(1)", flat
        raise Refuse("how many dimensions the mask has is not known, or it stands among other indices")
    raise Refuse("no mask is among the indices")


def _is_constant(node: cst.BaseExpression, owner: cst.ClassDef, editor: Editor, or_plain: bool = False) -> bool:
    """Whether ``node`` reads buffers of the module that nothing changes, and computes a value of them alone.

    ``or_plain``: or other attributes that the constructor alone sets.
    """
    if any(isinstance(n, (cst.Lambda, cst.BaseComp, cst.NamedExpr, cst.Await, cst.Yield)) for n in walk(node)):
        return False
    for call in calls(node):
        known = called(call) in _NUMBERS or called(call) in _INDICES
        if not known and not is_pure(call, editor):
            return False
    labels = {n.attr for n in walk(node) if isinstance(n, cst.Attribute)}
    read = {n.attr.value for n in walk(node) if is_own(n)}
    loose = {n.value for n in walk(node) if isinstance(n, cst.Name) and n not in labels} - {"self"}
    functions = {root(c.func) for c in calls(node) if is_torch_function(c, editor) or called(c) in _BUILTINS}
    known_names = (is_buffer(n, owner, editor) or (or_plain and _is_set_once(n, owner, editor)) for n in read)
    return bool(read) and loose <= functions and all(known_names)


def _is_set_once(name: str, owner: cst.ClassDef, editor: Editor) -> bool:
    """Whether ``self.name = ...`` in the constructor of ``owner`` is all that the file writes to such an attribute."""
    written = [node for node, _ in writes(name, editor)]
    if len(written) != 1 or not isinstance(written[0], cst.Assign) or not in_constructor(written[0], editor):
        return False
    return owner in editor.ancestors(written[0]) and [editor.code(t.target) for t in written[0].targets] == [
        f"self.{name}"
    ]


def is_buffer(name: str, owner: cst.ClassDef, editor: Editor) -> bool:
    """Whether ``__init__`` makes the buffer ``name``, and nothing else in the file writes to one of that name."""
    if not may_be_buffer(name, editor):
        return False
    made: list[cst.CSTNode] = [
        c for c in calls(owner)
        if called(c) == "register_buffer" and c.args and editor.code(c.args[0].value).strip("\"'") == name
    ]  # fmt: skip
    if editor.has_word("Buffer"):
        made += [assign for assign in find(owner, cst.Assign) if _makes_buffer(assign, name, editor)]
    if len(made) != 1 or not in_constructor(made[0], editor):
        return False
    return all(in_constructor(node, editor) for node, _ in writes(name, editor) if node is not made[0])


def may_be_buffer(name: str, editor: Editor) -> bool:
    """False where the text shows that the file makes no buffer ``name``: that is most names.

    To look for plain text is much faster than to look at each call.
    """
    text = editor.module.text
    return f'"{name}"' in text or f"'{name}'" in text or editor.has_word("Buffer")


def _makes_buffer(node: cst.Assign, name: str, editor: Editor) -> bool:
    """``self.name = nn.Buffer(...)``."""
    makes = isinstance(node.value, cst.Call) and called(node.value) == "Buffer"
    return makes and [editor.code(t.target) for t in node.targets] == [f"self.{name}"]


def _label(read: cst.BaseExpression) -> str:
    """The name of the buffer that is read first."""
    return next(n.attr.value for n in walk(read) if is_own(n))
