"""Expressions of Python that Dynamo does not trace, spelled in a form that it does: the value is the same."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.purity import called
from graphdoctor.fixes.scope import bound_names
from graphdoctor.fixes.uses import uses
from graphdoctor.model import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: How a frame's function name is read: ``frame.f_code.co_name``, ``inspect.stack()[0].function``.
_OWN_FRAME = ("sys._getframe()", "sys._getframe(0)", "inspect.currentframe()")


def read_global(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``globals()["SCALE"]`` becomes ``SCALE``."""
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call) != "globals()":
        return Refusal("This does not look up a global name.")
    user = editor.parent(call)
    if not isinstance(user, cst.Assign):
        return FixPlan((_global_name(call, editor),), "safe", "The global is read by its name.")
    edits = [_global_name(use, editor) for use in uses(user, editor)]
    return FixPlan((*edits, editor.delete(user)), "safe", "The global is read by its name.")


def own_name(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``sys._getframe().f_code.co_name`` becomes the name of the function, as a string."""
    function = editor.function_of(hit.place)
    code, outer = editor.code(hit.place), list(editor.ancestors(hit.place))[:2]
    reads = outer[1] if len(outer) == 2 else None
    is_frame = code in _OWN_FRAME and reads is not None and editor.code(reads) == f"{code}.f_code.co_name"
    is_stack = code == "inspect.stack()" and reads is not None and editor.code(reads) == f"{code}[0].function"
    if function is None or reads is None or not (is_frame or is_stack):
        return Refusal("This does not read the name of the function that it stands in.")
    return FixPlan((editor.replace(reads, f'"{function.name.value}"'),), "safe", "The name is the same.")


def power(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``pow(x, 2)`` becomes ``x ** 2``."""
    call = hit.place
    is_pow = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and called(call) == "pow"
    if not isinstance(call, cst.Call) or not is_pow or len(call.args) != 2 or any(a.keyword for a in call.args):
        return Refusal("This is no call of pow with two arguments.")
    base, exponent = (a.value for a in call.args)
    is_number = isinstance(exponent, (cst.Integer, cst.Float))
    text = f"({editor.operand(base)} ** {editor.code(exponent) if is_number else editor.operand(exponent)})"
    return FixPlan((editor.replace(call, text),), "safe", "Both call `__pow__` of the base.")


def always_callable(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``callable(x.relu)`` of a method of a tensor becomes ``True``."""
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call.func) != "callable" or len(call.args) != 1:
        return Refusal("This does not ask whether a method can be called.")
    return FixPlan((editor.replace(call, "True"),), "safe", "A method of a tensor can always be called.")


def _global_name(read: cst.CSTNode, editor: Editor) -> Edit:
    outer, function = editor.parent(read), editor.function_of(read)
    index = outer.slice[0].slice if isinstance(outer, cst.Subscript) and outer.value is read else None
    literal = index.value if isinstance(index, cst.Index) else None
    key = literal.evaluated_value if isinstance(literal, cst.SimpleString) else ""
    if outer is None or not isinstance(key, str) or not key.isidentifier():
        raise Refuse(f"line {editor.location(read).line} does more with the globals than read one by its name")
    if function is None or key in bound_names(function):
        raise Refuse(f"`{key}` is also a local name of this function")
    return editor.replace(outer, key)
