"""Copies that Dynamo does not trace, in a form that it does: of tensors, modules, dicts and dataclasses."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.held_before import plain_value
from graphdoctor.fixes.analysis.uses import is_elsewhere, uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import is_tensor, options
from graphdoctor.static.domain.values import Const, Instance, Mapping, PythonValue, Seq, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_NOT_PLAIN = Refusal("The copy is not a plain call with one argument.")


def clone_tensor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``copy.deepcopy(t)`` of a tensor becomes ``t.clone()``."""
    copied = _copied(hit)
    if copied is None:
        return _NOT_PLAIN
    call, value = copied
    if not is_tensor(value):
        return Refusal("What is copied is not known to be a tensor; copy it outside the compiled code.")
    text = f"{editor.operand(call.args[0].value)}.clone()"
    reason = "The values are the same; gradients flow through the clone, and it is no leaf of its own."
    return FixPlan((editor.replace(call, text),), "unsafe", reason, known=("gradients",))


def call_with_copies(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``twin = copy.deepcopy(self.layer)`` that is only called runs ``self.layer`` on copies of its parameters.

    Raises Refuse where it does not fit.
    """
    copied = _copied(hit)
    if copied is None:
        return _NOT_PLAIN
    call, value = copied
    if not isinstance(value, TorchModule) and not (isinstance(value, Instance) and value.info.is_module):
        return Refusal("What is copied is not known to be a module.")
    assign = editor.parent(call)
    if not isinstance(assign, cst.Assign):
        return Refusal("The copy of the module is not given a name of its own.")
    module, name = editor.code(call.args[0].value), editor.code(assign.targets[0].target)
    state = f"*{module}.named_parameters(), *{module}.named_buffers()"
    edits = [editor.replace(call, f"{{name: value.detach().clone() for name, value in ({state})}}")]
    for use in uses(assign, editor):
        user = editor.parent(use)
        if not isinstance(user, cst.Call) or user.func is not use or any(a.star for a in user.args):
            raise Refuse(f"line {editor.location(use).line} does more with the copy than call it")
        edits.append(editor.replace(user, _functional_call(module, name, user, editor)))
    reason = "The module runs on copies of its parameters and buffers, which require no gradient of their own."
    return FixPlan((*editor.torch_import(call), *edits), "unsafe", reason, known=("requires_grad",))


def plain_copy(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``copy.copy(d)`` of a dict, list or set becomes ``d.copy()``; ``asdict`` and ``astuple`` read the attributes."""
    copied = _copied(hit)
    if copied is None:
        return _NOT_PLAIN
    call, value = copied
    operand = call.args[0].value
    assert isinstance(hit.event, Call)
    if hit.event.qualname == "copy.copy" and isinstance(value, (Mapping, Seq)):
        kind = "dict" if isinstance(value, Mapping) else value.kind
        text = f"{editor.operand(operand)}.copy()"
        edits = (editor.replace(call, text),)
        if _is_written_out(operand, editor):
            return FixPlan(edits, "safe", f"The method of the {kind} makes the same copy.")
        reason = f"The same for a {kind}; an object of a class of its own may be copied otherwise."
        return FixPlan(edits, "unsafe", reason)
    if hit.event.qualname not in ("dataclasses.asdict", "dataclasses.astuple") or not isinstance(value, Instance):
        return Refusal("What is copied is not known to be a dict, list, set or dataclass.")
    attributes = f"vars({editor.code(operand)})"
    text = f"dict({attributes})" if hit.event.qualname == "dataclasses.asdict" else f"tuple({attributes}.values())"
    reason = "The values are not copied, and a dataclass, list or dict among them stays as it is."
    return FixPlan((editor.replace(call, text),), "unsafe", reason)


def copied_items(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``copy.deepcopy([a, b])`` of tensors becomes a new list of clones; of a dict, a new dict."""
    copied = _copied(hit)
    if copied is None:
        return _NOT_PLAIN
    call, value = copied
    if not isinstance(hit.event, Call) or hit.event.qualname != "copy.deepcopy":
        return Refusal("This is no deep copy.")
    operand = call.args[0].value
    code, item = editor.operand(operand), editor.fresh("value")
    if isinstance(value, Seq) and value.kind in ("list", "tuple"):
        clone = _cloned(value.items if value.items is not None else (value.element,), item)
        text = f"[{clone} for {item} in {code}]"
        text = text if value.kind == "list" else f"tuple({text})"
    elif isinstance(value, Mapping):
        every = [v for _, v in value.items] + ([value.rest] if value.rest is not None else [])
        key = editor.fresh("key")
        text = f"{{{key}: {_cloned(every, item)} for {key}, {item} in {code}.items()}}"
    else:
        return Refusal("What is copied is not known to be a list or dict of tensors.")
    reason = "Each tensor is cloned: gradients flow through the clones, and a tensor held twice is cloned twice."
    return FixPlan((*editor.torch_import(call), editor.replace(call, text)), "unsafe", reason, known=("gradients",))


def _cloned(values: Sequence[Value], name: str) -> str:
    """The copy of an element ``name``, of which there are ``values``. Refuses containers and other objects."""
    every = [option for value in values for option in options(value)]
    if not every or not all(is_tensor(o) or isinstance(o, (Const, PythonValue)) for o in every):
        raise Refuse("what is copied holds more than tensors and numbers")
    clone = f"{name}.clone()"
    return clone if all(map(is_tensor, every)) else f"{clone} if isinstance({name}, torch.Tensor) else {name}"


#: A dict, list or set that is written out.
_DISPLAYS = (cst.Dict, cst.DictComp, cst.List, cst.ListComp, cst.Set, cst.SetComp)


def _is_written_out(node: cst.BaseExpression, editor: Editor) -> bool:
    """A dict, list or set that is written out: here, or where the one name that it is given is bound."""
    function = editor.function_of(node)
    if isinstance(node, cst.Name) and function is not None and node.value not in parameters(function):
        bound = editor.assignments(function, node.value)
        if is_elsewhere(node.value, node, editor) or not bound:
            return False
        return all(isinstance(plain_value(b), _DISPLAYS) for b in bound)
    return isinstance(node, _DISPLAYS)


def _copied(hit: Hit) -> tuple[cst.Call, Value] | None:
    """The call and what it copies, where it has one argument and no other."""
    call, event = hit.place, hit.event
    if not isinstance(call, cst.Call) or not isinstance(event, Call) or len(call.args) != 1 or call.args[0].star:
        return None
    return (call, event.args[0]) if len(event.args) == 1 else None


def _functional_call(module: str, state: str, call: cst.Call, editor: Editor) -> str:
    positional = [editor.code(a.value) for a in call.args if a.keyword is None]
    keywords = [f'"{a.keyword.value}": {editor.code(a.value)}' for a in call.args if a.keyword is not None]
    arguments = f"({', '.join(positional)}{',' if len(positional) == 1 else ''})"
    rest = f", {{{', '.join(keywords)}}}" if keywords else ""
    return f"torch.func.functional_call({module}, {state}, {arguments}{rest})"
