"""Expressions of Python that Dynamo does not trace, spelled in a form that it does: the value is the same."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import (
    dotted_name,
    is_always_global,
    is_builtin,
    is_global_at,
    is_read,
    normalised,
)
from graphdoctor.fixes.analysis.purity import PURE, called
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.parentheses import is_alone
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.values import Method, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: How a frame's function name is read: ``frame.f_code.co_name``, ``inspect.stack()[0].function``.
_OWN_FRAME = ("sys._getframe()", "sys._getframe(0)", "inspect.currentframe()")


def read_global(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``globals()["SCALE"]`` becomes ``SCALE``. Safe where the module always has the name."""
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call) != "globals()":
        return Refusal("This does not look up a global name.")
    user, edits = editor.parent(call), list[Edit]()
    reads: list[cst.BaseExpression] = [call]
    if isinstance(user, cst.Assign):
        reads = list(uses(user, editor))
        edits.append(editor.delete(user))
    names = [_global_name(read, editor) for read in reads]
    edits += [editor.replace(_looked_up(read, editor), name) for read, name in zip(reads, names, strict=True)]
    missing = sorted(name for name in names if not is_always_global(name, editor))
    if missing or not is_builtin("globals", editor):
        reason = f"Where the module has no `{missing[0] if missing else 'globals'}`, it is another error, or a builtin."
        return FixPlan(tuple(edits), "unsafe", reason)
    return FixPlan(tuple(edits), "safe", "The global is read by its name.")


def own_name(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``sys._getframe().f_code.co_name`` becomes the name of the function, as a string.

    Raises Refuse where it does not fit.
    """
    function = editor.function_of(hit.place)
    code, outer = editor.code(hit.place), list(editor.ancestors(hit.place))[:2]
    reads = outer[1] if len(outer) == 2 else None
    is_frame = code in _OWN_FRAME and reads is not None and editor.code(reads) == f"{code}.f_code.co_name"
    is_stack = code == "inspect.stack()" and reads is not None and editor.code(reads) == f"{code}[0].function"
    if function is None or reads is None or not (is_frame or is_stack):
        return Refusal("This does not read the name of the function that it stands in.")
    inner: cst.CSTNode = hit.place
    quotes = set[str]()
    for node in editor.ancestors(hit.place):
        if isinstance(node, (cst.Lambda, cst.BaseComp, cst.ClassDef)):
            raise Refuse("a lambda, a comprehension or a class body has a frame of its own")
        if isinstance(node, cst.FormattedString):
            quotes.add(node.start[-1])
        if node is function:
            break
        inner = node
    if inner is not function.body:
        raise Refuse("it is read where the function is defined, not in it")
    if len(quotes) > 1:
        raise Refuse("no quotes are left for the name in this text")
    quote = "'" if '"' in quotes else '"'
    text = f"{quote}{normalised(function.name.value)}{quote}"
    return FixPlan((editor.replace(reads, text),), "safe", "The name is the same.")


def known_parameter(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``"b" in inspect.signature(f).parameters`` of a function that is defined beside it becomes True or False.

    Raises Refuse where it does not fit.
    """
    call, outer = hit.place, list(editor.ancestors(hit.place))[:3]
    asks = outer[-1] if len(outer) == 3 else None
    name = asks.left if isinstance(asks, cst.Comparison) and len(asks.comparisons) == 1 else None
    operator = asks.comparisons[0].operator if isinstance(asks, cst.Comparison) else None
    argument = call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None
    is_asked = isinstance(operator, (cst.In, cst.NotIn)) and editor.code(outer[0]) == f"{editor.code(call)}.parameters"
    if asks is None or not is_asked or not isinstance(name, cst.SimpleString) or not isinstance(argument, cst.Name):
        return Refusal("This does not ask whether a function has a parameter of one name.")
    function = editor.function_of(call)
    found = [
        node
        for node in (walk(function) if function is not None else ())
        if isinstance(node, cst.FunctionDef) and node is not function and node.name.value == argument.value
    ]
    if function is None or len(found) != 1 or editor.assignments(function, argument.value):
        raise Refuse(f"`{argument.value}` is not shown to be one function that is defined here")
    if editor.parent(found[0]) is not function.body or found[0].decorators or not _is_before(found[0], call, editor):
        raise Refuse(f"`{argument.value}` may be another function where it is asked for its parameters")
    is_there = name.evaluated_value in _every_parameter(found[0])
    text = str(is_there == isinstance(operator, cst.In))
    return FixPlan((editor.replace(asks, text),), "unsafe", f"`{argument.value}` is defined in this function.")


def _is_before(node: cst.CSTNode, other: cst.CSTNode, editor: Editor) -> bool:
    return editor.location(node) < editor.location(other)


def _every_parameter(function: cst.FunctionDef) -> set[str]:
    """The names of all parameters, ``*args`` and ``**kwargs`` included."""
    collecting = (function.params.star_arg, function.params.star_kwarg)
    return {*parameters(function), *(p.name.value for p in collecting if isinstance(p, cst.Param))}


def power(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``pow(x, 2)`` becomes ``x ** 2``."""
    call = hit.place
    is_pow = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and called(call) == "pow"
    if (
        not isinstance(call, cst.Call)
        or not is_pow
        or len(call.args) != 2
        or any(a.keyword or a.star for a in call.args)
    ):
        return Refusal("This is no call of pow with two arguments.")
    if not is_builtin("pow", editor):
        return Refusal("The name pow may stand for something else in this file.")
    return FixPlan(_as_operator(call, editor), "safe", "Both call `__pow__` of the base.")


def _as_operator(call: cst.Call, editor: Editor) -> tuple[Edit, ...]:
    """``pow(a, b)`` as ``a ** b``: only what is around the operands, so that these can be rewritten too."""
    base, exponent = (a.value for a in call.args)
    numbers = (cst.Integer, cst.Float)
    texts = [editor.code(v) if isinstance(v, numbers) else editor.operand(v) for v in (base, exponent)]
    if base.lpar or exponent.lpar:
        return (editor.replace(call, f"({texts[0]} ** {texts[1]})"),)
    (before, after), (left, right) = (
        text.split(editor.code(v), 1) for text, v in zip(texts, (base, exponent), strict=True)
    )
    whole, first, second = editor.location(call), editor.location(base), editor.location(exponent)
    # What goes over several lines needs its parentheses, and so does an argument of a call that is rewritten too.
    parent = editor.parent(call)
    is_plain = is_alone(call, parent) and not isinstance(parent, cst.Arg) and whole.line == whole.end_line
    before, right = (before, right) if is_plain else (f"({before}", f"{right})")
    return (
        Edit(editor.path, (whole.line, whole.column), (first.line, first.column), before),
        Edit(editor.path, (first.end_line, first.end_column), (second.line, second.column), f"{after} ** {left}"),
        Edit(editor.path, (second.end_line, second.end_column), (whole.end_line, whole.end_column), right),
    )


def plain_isinstance(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.jit.isinstance(x, torch.Tensor)`` becomes ``isinstance(x, torch.Tensor)``."""
    call = hit.place
    name = hit.event.qualname if isinstance(hit.event, Call) else ""
    is_plain = isinstance(call, cst.Call) and len(call.args) == 2 and not any(a.keyword or a.star for a in call.args)
    if not isinstance(call, cst.Call) or not is_plain or name != "torch.jit.isinstance":
        return Refusal("This is no call of `torch.jit.isinstance` with an object and a type.")
    kinds = call.args[1].value
    every = [element.value for element in kinds.elements] if isinstance(kinds, cst.Tuple) else [kinds]
    if not every or not all(_is_plain_class(kind, editor) for kind in every):
        return Refusal("`torch.jit.isinstance` also looks at what is in a container, which `isinstance` does not.")
    if not is_builtin("isinstance", editor):
        return Refusal("The name isinstance may stand for something else in this file.")
    return FixPlan(
        (editor.replace(call.func, "isinstance"),), "safe", "For a class that holds nothing both ask the same."
    )


def _is_plain_class(node: cst.BaseExpression, editor: Editor) -> bool:
    """A tensor, or a number or text of Python."""
    if isinstance(node, cst.Name) and node.value in ("bool", "complex", "float", "int", "str"):
        return is_builtin(node.value, editor)
    return dotted_name(node, editor) == "torch.Tensor"


def always_callable(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``callable(x.relu)`` of a method of a tensor becomes ``True``."""
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call.func) != "callable" or len(call.args) != 1:
        return Refusal("This does not ask whether a method can be called.")
    function = call.args[0].value
    if call.args[0].star or not all(isinstance(n, (cst.Name, cst.Attribute)) for n in walk(function) if _is_code(n)):
        return Refusal("What is asked is computed here, which must still be done.")
    edits = (editor.replace(call, "True"),)
    values = hit.event.args if isinstance(hit.event, Call) else ()
    method = values[0] if len(values) == 1 else None
    receiver = method.receiver if isinstance(method, Method) else None
    if isinstance(method, Method) and method.name in PURE and _is_result(receiver):
        return FixPlan(edits, "safe", "A method of a tensor can always be called.")
    return FixPlan(edits, "unsafe", f"`{editor.code(function)}` must be a method of a tensor.")


def _is_result(value: Value | None) -> bool:
    """A tensor that an operator gave; an argument may be something else in another call."""
    return isinstance(value, Tensor) and value.is_known and not value.argument


def _is_code(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseExpression)


def _looked_up(read: cst.CSTNode, editor: Editor) -> cst.Subscript:
    """``globals()["SCALE"]`` around the ``globals()`` at ``read``."""
    outer = editor.parent(read)
    if not isinstance(outer, cst.Subscript) or outer.value is not read or not is_read(outer, editor):
        raise Refuse(f"line {editor.location(read).line} does more with the globals than read one by its name")
    return outer


def _global_name(read: cst.CSTNode, editor: Editor) -> str:
    outer = _looked_up(read, editor)
    index = outer.slice[0].slice if len(outer.slice) == 1 else None
    literal = index.value if isinstance(index, cst.Index) and not index.star else None
    key = literal.evaluated_value if isinstance(literal, cst.SimpleString) else ""
    if not isinstance(key, str) or not key.isidentifier():
        raise Refuse(f"line {editor.location(read).line} does more with the globals than read one by its name")
    if not is_global_at(key, outer, editor):
        raise Refuse(f"`{key}` means something else in this function")
    return key


def as_list(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``math.prod([n for n in shape])``, with a list in place of a generator or iterator."""
    call = hit.place
    given = call.args[0].value if isinstance(call, cst.Call) and call.args and not call.args[0].star else None
    if given is None:
        return Refusal("What is given does not stand in the call.")
    text = editor.code(given)
    if isinstance(given, cst.GeneratorExp):
        listed = f"[{text[1:-1] if given.lpar else text}]"
    elif is_builtin("list", editor):
        listed = f"list({text})"
    else:
        return Refusal("`list` has another meaning in this file.")
    return FixPlan((editor.replace_whole(given, listed),), "safe", "The same numbers are multiplied or added.")
