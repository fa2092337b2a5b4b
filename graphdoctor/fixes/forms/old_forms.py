"""Old ways to make or change a tensor, in a form that Dynamo traces."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name, is_builtin
from graphdoctor.fixes.analysis.purity import called, calls, words
from graphdoctor.fixes.analysis.types import assigned
from graphdoctor.fixes.analysis.uses import is_elsewhere
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.guards import EAGER_ONLY
from graphdoctor.static.domain.events import Call, SetAttr
from graphdoctor.static.domain.value_functions import is_tensor, may_be_tensor, tensor_of
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: Functions and methods that make a new tensor, which nothing else holds yet.
_NEW = words("""
    clone empty empty_like empty_strided full full_like new new_empty new_full new_ones new_zeros ones ones_like rand
    rand_like randn randn_like tensor zeros zeros_like
""")
#: Functions of torch that make a tensor of numbers, the old constructors, methods of a tensor that make another one of
#: numbers, and methods that give back what they are called on, or the same numbers in another form.
_MAKERS = words("""
    arange empty empty_like eye from_numpy full full_like linspace logspace ones ones_like rand rand_like randint
    randint_like randn randn_like randperm tensor zeros zeros_like
""")
_CONSTRUCTORS = words("BoolTensor ByteTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor Tensor")
_NEW_METHODS = words("new_empty new_full new_ones new_tensor new_zeros")
_SAME_NUMBERS = words("""
    bool byte clone contiguous cpu cuda double expand float half int long permute repeat reshape squeeze t to transpose
    type unsqueeze view zero_
""")
#: Options with which what is made requires a gradient, or is another tensor.
_OPTIONS = words("out requires_grad")
_NO_GRADIENT = "In eager nothing changes; under compile `{name}` does not require gradients of its own."


def plain_variable(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``Variable(x)`` becomes ``x.detach()``, which it has been since torch 0.4."""
    call = hit.place
    name = hit.event.qualname if isinstance(hit.event, Call) else ""
    if not isinstance(call, cst.Call) or name not in ("torch.autograd.Variable", "torch.autograd.variable.Variable"):
        return Refusal("This is no call of Variable.")
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return Refusal("The tensor is not the first argument of Variable.")
    options = {a.keyword.value if a.keyword is not None else "requires_grad": a.value for a in call.args[1:]}
    if set(options) - {"requires_grad"} or any(a.star for a in call.args):
        return Refusal("Variable gets more than a tensor and `requires_grad`.")
    tensor, flag = editor.operand(call.args[0].value), options.get("requires_grad")
    is_plain = flag is None or editor.code(flag) == "False"
    if is_plain and _requires_no_gradient(call.args[0].value, editor):
        text = f"({tensor})" if editor.newline in tensor else tensor
        return FixPlan(
            (editor.replace(call, text),), "safe", "What is made here requires no gradient without it either."
        )
    # The parentheses of the call let it go over several lines.
    text = f"({tensor}).detach()" if editor.newline in tensor else f"{tensor}.detach()"
    if is_plain:
        return FixPlan((editor.replace(call, text),), "unsafe", "`detach` shares the memory and the values as well.")
    text = f"({text} if torch.compiler.is_compiling() else {editor.code(call)})"
    edits = (*editor.torch_import(call), editor.replace(call, text))
    return FixPlan(edits, "unsafe", _NO_GRADIENT.format(name=editor.code(call.args[0].value)), ("requires_grad",))


def _requires_no_gradient(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` makes a tensor of numbers, as ``torch.zeros(8).float()`` does, or is ``x.data``."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "data" and tensor_of(editor.value(node.value)) is not None
    if not isinstance(node, cst.Call) or any(a.keyword and a.keyword.value in _OPTIONS for a in node.args):
        return False
    name = dotted_name(node.func, editor).removeprefix("torch.")
    if name in _MAKERS:
        return True
    # Of a tensor, a constructor makes one with the same memory.
    given = [editor.value(a.value) for a in node.args]
    has_tensor = any(value == UNKNOWN or may_be_tensor(value) for value in given)
    if name in _CONSTRUCTORS:
        return not has_tensor
    owner = node.func.value if isinstance(node.func, cst.Attribute) else None
    if owner is None or tensor_of(editor.value(owner)) is None:
        return False
    is_new = called(node) in _NEW_METHODS or (called(node) == "new" and not has_tensor)
    return is_new or (called(node) in _SAME_NUMBERS and _requires_no_gradient(owner, editor))


def saved_tensors(hit: Hit, editor: Editor) -> FixPlan:
    """``ctx.saved_variables`` becomes ``ctx.saved_tensors``."""
    name = cst.ensure_type(hit.place, cst.Attribute).attr
    return FixPlan(
        (editor.replace(name, "saved_tensors"),), "safe", "They are the same tensors; only the old name warns."
    )


def constant_without_gradient(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.zeros(3, requires_grad=True)`` in compiled code asks for gradients in eager only."""
    call = hit.place
    if not isinstance(call, cst.Call):
        return Refusal("No tensor is made here.")
    flag = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "requires_grad"), None)
    if flag is None:
        return Refusal("`requires_grad` is not given by its name.")
    test = EAGER_ONLY if editor.code(flag) == "True" else f"{editor.operand(flag)} and {EAGER_ONLY}"
    edits = (*editor.torch_import(call), editor.replace(flag, test))
    return FixPlan(edits, "unsafe", _NO_GRADIENT.format(name=editor.code(call.func)), ("requires_grad",))


def drawn_integers(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.empty(3).random_(0, 2)`` becomes ``torch.randint_like(torch.empty(3), 0, 2)``: the same numbers."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "random_" or not isinstance(call.func, cst.Attribute):
        return Refusal("This is no call of random_.")
    if any(a.star or a.keyword for a in call.args):
        return Refusal("The bounds of random_ are not its first arguments.")
    tensor, bounds = call.func.value, [editor.code(a.value) for a in call.args]
    reason = "The same numbers are drawn."
    if not bounds:
        known = (
            tensor_of(hit.event.receiver) if isinstance(hit.event, Call) and hit.event.receiver is not None else None
        )
        if known is None or known.dtype != "float":
            return Refusal("Without bounds each dtype has a range of its own: give `random_` its bounds.")
        bounds = ["0", "16777217"]
        reason = "The same numbers are drawn for float32; another dtype has another range, and uint8 and bool raise."
    drawn = f"torch.randint_like({editor.code(tensor)}, {', '.join(bounds)})"
    if not (isinstance(tensor, cst.Call) and called(tensor) in _NEW):
        if not isinstance(editor.parent(call), cst.Expr):
            return Refusal(f"`{editor.code(tensor)}` may be read by other code, which sees the numbers too.")
        drawn = f"{editor.operand(tensor)}.copy_({drawn})"
    return FixPlan((*editor.torch_import(call), editor.replace(call, drawn)), "unsafe", reason)


def written_data(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y.data = z`` of a tensor made here becomes ``y.data.copy_(z)``."""
    statement = editor.statement_of(hit.place)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    if not isinstance(statement, cst.Assign) or target is not hit.place or not isinstance(target, cst.Attribute):
        return Refusal("This does not store into the data of one tensor.")
    if target.attr.value != "data":
        return Refusal("This does not store into the data of one tensor.")
    stored = tensor_of(hit.event.receiver) if isinstance(hit.event, SetAttr) else None
    if stored is not None and stored.numpy:
        return Refusal("This does not store into the data of one tensor.")
    text = f"{editor.code(target)}.copy_({editor.code(statement.value)})"
    reason = "The values are copied: the shape and dtype must be the same, and what shares the old memory sees them."
    return FixPlan((editor.replace(statement, text),), "unsafe", reason)


def detached(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``target.requires_grad = False`` of a name of the function becomes ``target = target.detach()``."""
    statement, place = editor.statement_of(hit.place), hit.place
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1 or not isinstance(place, cst.Attribute):
        return Refusal("This does not set the flag of one tensor.")
    is_flag = statement.targets[0].target is place and place.attr.value == "requires_grad"
    if not is_flag or editor.code(statement.value) != "False":
        return Refusal("This does not turn off the gradient of one tensor.")
    if not isinstance(place.value, cst.Name) or is_elsewhere(place.value.value, statement, editor):
        return Refusal("The tensor is no name of the function, so other code may read its flag.")
    name = place.value.value
    if _has_other_name(place.value, editor):
        return Refusal(f"`{name}` may have another name, under which it would still require gradients.")
    reason = "Values and memory are the same; the tensor that the caller has keeps its own flag."
    return FixPlan((editor.replace(statement, f"{name} = {name}.detach()"),), "unsafe", reason, known=("flag",))


def _has_other_name(name: cst.Name, editor: Editor) -> bool:
    """Whether the function may have kept the tensor elsewhere before it is read here: in a name or a list."""
    function, here = editor.function_of(name), editor.location(name)
    uses = editor.mentions(function, name.value) if function is not None else ()
    reads = [use for use in uses if editor.location(use) < here]
    outer = [editor.parent(use) for use in reads]
    called_with = [editor.parent(each) for each in outer if isinstance(each, cst.Arg)]
    return any(
        isinstance(each, (cst.Assign, cst.BaseElement, cst.BaseDictElement, cst.NamedExpr)) for each in outer
    ) or any(isinstance(call, cst.Call) and called(call) in _KEEPING for call in called_with)


#: Methods that keep what they are given.
_KEEPING = words("add append appendleft extend insert setattr setdefault update")


def identity(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``hash(x)`` of a tensor becomes ``id(x)``, which it is, where it is used or where its name is made."""
    values = [assigned(n, editor) for n in walk(hit.place) if isinstance(n, cst.Name)]
    places = [hit.place, *(value for value in values if value is not None)]
    found = dict.fromkeys(call.func for place in places for call in calls(place) if _is_hash(call, editor))
    if not found:
        return Refusal("This does not compute the hash of a tensor.")
    if not (is_builtin("hash", editor) and is_builtin("id", editor)):
        return Refusal("The name hash or id may stand for something else in this file.")
    reason = "The hash of a tensor is its id; for another tensor the code is compiled again."
    return FixPlan(tuple(editor.replace(name, "id") for name in found), "unsafe", reason)


def _is_hash(call: cst.Call, editor: Editor) -> bool:
    is_hash = isinstance(call.func, cst.Name) and called(call) == "hash" and len(call.args) == 1
    return is_hash and is_tensor(editor.value(call.args[0].value))
