"""Methods that are not scanned code: of tensors, containers, modules, loggers and other objects of libraries."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static import (
    assignments,
    attributes,
    calls,
    expressions,
    facts,
    iterate,
    operators,
    subscripts,
    texts,
    torch_calls,
)
from graphdoctor.static.events import Call, Compile, Convert, Grow, Truth
from graphdoctor.static.machine import Machine
from graphdoctor.static.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Deferred,
    Function,
    Instance,
    Mapping,
    Py,
    Returned,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Value,
    is_sure_tensor,
    join,
    may_be_tensor,
    options,
    walk,
)  # fmt: skip

Kwargs = dict[str, Value]

#: Methods of a module that give the module back.
MODULE_CHAIN = facts.words(
    "to cuda cpu half float double bfloat16 eval train requires_grad_ to_empty type share_memory apply"
)


def call_method(
    machine: Machine, node: cst.CSTNode, receiver: Value, name: str, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    """Call ``receiver.name(...)``."""
    if isinstance(receiver, Tensor):
        return _tensor(machine, node, receiver, name, args, kwargs, used)
    if isinstance(receiver, Returned):
        return _returned(machine, node, receiver, name, args, kwargs, used)
    if isinstance(receiver, Seq):
        return _sequence(machine, node, receiver, name, args)
    if isinstance(receiver, Mapping):
        return _mapping(machine, node, receiver, name, args, kwargs)
    if isinstance(receiver, (Instance, TorchModule, Super, Class)):
        return _object(machine, node, receiver, name, args, kwargs, used)
    if name == "join" and args:
        for part in walk(args[0], 1):
            operators.use(machine, node, part, name)
    if isinstance(receiver, Const) and name == "format" and any(is_sure_tensor(v) for v in (*args, *kwargs.values())):
        return Deferred("str")
    if (isinstance(receiver, Const) and isinstance(receiver.value, str)) or (
        isinstance(receiver, Py) and receiver.kind == "str"
    ):
        return texts.joined(receiver, texts.parts(args[0])) if name == "join" and args else _string(name, args)
    if isinstance(receiver, Py):
        return Py("int", shape=receiver.shape) if name in ("numel", "item") else UNKNOWN
    return UNKNOWN


#: What the special methods of a tensor turn it into.
_CONVERSIONS = {
    "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex", "__index__": "index",
}  # fmt: skip


def _tensor(
    machine: Machine,
    node: cst.CSTNode,
    receiver: Tensor,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    family = "numpy.ndarray" if receiver.numpy else "torch.Tensor"
    machine.emit(Call, node, qualname=f"{family}.{name}", args=args, kwargs=kwargs, receiver=receiver, used=used)
    converted = _CONVERSIONS.get(name)
    if converted is not None:
        machine.emit(Convert, node, value=receiver, to=converted, how=name)
        return Py("int" if converted == "index" else converted)
    if name == "__contains__":
        machine.emit(Truth, node, value=receiver, context="in", branch=None)
        return Py("bool")
    if name in ("item", "tolist"):
        kind = {"bool": "bool", "int": "int", "float": "float"}.get(receiver.dtype or "", "number")
        number = operators.number_of(machine, receiver, kind)
        if name == "item" or receiver.ndim == 0:
            return number
        return Seq("list", None, number if receiver.ndim == 1 or number.read else UNKNOWN)
    if name in ("numpy", "__array__"):
        return Tensor(receiver.dtype, receiver.ndim, numpy=True, sure=receiver.sure, unbacked=receiver.unbacked)
    if (receiver.unbacked and name in ("numel", "nelement")) or (name == "size" and args == (Const(0),)):
        return attributes.rows_of(receiver)
    if name == "size":
        shape = attributes.read_attribute(machine, node, receiver, "shape")
        return subscripts.sequence_item(machine, node, shape, args[0]) if args else shape
    if name in ("type",):
        return Py("str") if not args else replace(receiver, dtype=_family(args, kwargs), owned=False)
    if name == "backward":
        return NONE
    if name == "new_tensor":
        return Tensor(receiver.dtype)
    if name in ("untyped_storage", "storage"):
        return Returned(f"torch.Tensor.{name}")
    if name in facts.META_METHODS:
        return Py(facts.META_METHODS[name])
    if name in (
        "to",
        "type_as",
        "requires_grad_",
        "copy_",
        "pin_memory",
        "cuda",
        "cpu",
        "apply_",
        "set_",
        "astype",
        "copy",
    ):
        dtype = (
            receiver.dtype
            if name in ("cuda", "cpu", "requires_grad_", "copy_", "pin_memory", "copy") or _device(args)
            else _family(args, kwargs)
        )
        return replace(receiver, dtype=dtype, owned=False, argument=False, constant=False, sparse=False)
    torch_calls.read_numbers(machine, node, f"torch.Tensor.{name}", args, kwargs, method=True)
    result = torch_calls.tensor_call(machine, name, (receiver, *args), kwargs, function=False)
    if receiver.numpy and isinstance(result, Tensor):
        return Tensor(result.dtype, result.ndim, numpy=True, sure=result.sure, unbacked=result.unbacked)
    return result


def _family(args: tuple[Value, ...], kwargs: Kwargs) -> str | None:
    """The kind of numbers that ``x.to(torch.bool)`` gives: that of a dtype, or of another tensor."""
    named = [v.dtype if isinstance(v, Tensor) else torch_calls.family(v) for v in (*args, *kwargs.values())]
    return next((dtype for dtype in named if dtype is not None), None)


def _device(args: tuple[Value, ...]) -> bool:
    """Whether ``x.to(...)`` is given a device and no dtype."""
    return len(args) == 1 and any(
        isinstance(o, Const) or (isinstance(o, Py) and o.kind == "device") for o in options(args[0])
    )


def _returned(
    machine: Machine,
    node: cst.CSTNode,
    receiver: Returned,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    qualname = f"{receiver.qualname}.{name}"
    machine.callees[id(node)] = qualname
    machine.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=receiver, used=used)
    if receiver.qualname.startswith("torch.distributions.") and name in (
        "sample",
        "rsample",
        "log_prob",
        "entropy",
        "mean",
    ):
        return Tensor("float")
    if receiver.build and name in MODULE_CHAIN:
        return receiver
    if receiver.qualname == "contextlib.ExitStack" and name == "enter_context" and args:
        return args[0]
    return UNKNOWN


def _sequence(machine: Machine, node: cst.CSTNode, receiver: Seq, name: str, args: tuple[Value, ...]) -> Value:
    if name in ("append", "extend", "insert", "add", "appendleft"):
        func = node.func if isinstance(node, cst.Call) else None
        if isinstance(func, cst.Attribute) and receiver.kind == "list" and _outlives(machine, func.value):
            machine.emit(Grow, node, container=func.value)
        _grow(machine, node, receiver, name, args)
        return NONE
    if name in ("pop", "popleft"):
        return join(*receiver.items) if receiver.items else receiver.element
    if name == "numel":
        return Py("int", shape=True)
    if name in ("index", "count", "remove"):
        held = receiver.items if receiver.items is not None else (receiver.element,)
        if args and may_be_tensor(args[0]) and any(may_be_tensor(v) for v in held):
            machine.emit(Truth, node, value=args[0], context="in", branch=None)
        return NONE if name == "remove" else Py("int")
    if name == "copy":
        return receiver
    return NONE if name in ("sort", "reverse", "clear", "discard", "update") else UNKNOWN


def _outlives(machine: Machine, node: cst.BaseExpression) -> bool:
    """Whether a list is still there when the call ends: an attribute of an object, or bound at module level."""
    if isinstance(node, cst.Attribute):
        return any(isinstance(o, (Instance, Class)) for o in options(expressions.evaluate(machine, node.value)))
    scope = machine.frame.scope
    return isinstance(node, cst.Name) and node.value not in scope.names and node.value in scope.module.names


def _grow(machine: Machine, node: cst.CSTNode, receiver: Seq, name: str, args: tuple[Value, ...]) -> None:
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)) or not args:
        return
    if name == "extend":
        items, element = iterate.elements(machine, None, args[0])
    else:
        items, element = [args[-1]], args[-1]
    known = receiver.items if receiver.items is not None else None
    if (
        known is not None
        and items is not None
        and name in ("append", "extend")
        and len(known) + len(items) <= 32
        and not machine.frame.whole_frame
    ):
        grown = Seq(receiver.kind, (*known, *items))
    elif known == () and not machine.frame.whole_frame:
        grown = Seq(receiver.kind, None, element)
    else:
        grown = Seq(receiver.kind, None, join(element, *(known if known is not None else (receiver.element,))))
    assignments.put_back(machine, node.func.value, grown)


def _mapping(
    machine: Machine, node: cst.CSTNode, receiver: Mapping, name: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    values = [v for _, v in receiver.items] + ([receiver.rest] if receiver.rest is not None else [])
    one = join(*values) if values else UNKNOWN
    if name in ("get", "pop", "setdefault"):
        default = args[1] if len(args) > 1 else NONE
        if args and isinstance(args[0], Const):
            found = receiver.get(args[0].value)
            if found is None:
                return default
            return found if any(k == args[0].value for k, _ in receiver.items) else join(found, default)
        return join(one, default)
    if name == "items":
        if receiver.rest is None:
            return Seq("list", tuple(Seq("tuple", (Const(k), v)) for k, v in receiver.items))
        return Seq("list", None, Seq("tuple", (Py("object"), one)))
    if name == "values":
        return Seq("list", tuple(values)) if receiver.rest is None else Seq("list", None, one)
    if name == "keys":
        return (
            Seq("list", tuple(Const(k) for k, _ in receiver.items))
            if receiver.rest is None
            else Seq("list", None, Py("object"))
        )
    if name == "copy":
        return receiver
    if name == "update" and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        items = dict(receiver.items)
        rest = receiver.rest
        for arg in args:
            if isinstance(arg, Mapping):
                items.update(arg.items)
                rest = arg.rest if rest is None else rest
            else:
                rest = UNKNOWN
        items.update(kwargs)
        assignments.put_back(machine, node.func.value, Mapping(tuple(items.items()), rest))
        return NONE
    return UNKNOWN


def _object(
    machine: Machine, node: cst.CSTNode, receiver: Value, name: str, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    target = receiver.instance if isinstance(receiver, Super) else receiver
    first = args[0] if args else kwargs.get("name", UNKNOWN)
    value = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("param", UNKNOWN))
    if isinstance(target, Instance):
        if name in ("register_buffer", "register_parameter", "add_module", "register_module") and isinstance(
            first, Const
        ):
            target.attrs[str(first.value)] = _owned(value)
            return NONE
        if name == "__setattr__" and isinstance(first, Const):
            target.attrs[str(first.value)] = value
            return NONE
        if name == "register_forward_hook" and not machine.frame.compiled:
            known = target.attrs.get("#hooks")
            target.attrs["#hooks"] = Seq("list", (*(known.items or () if isinstance(known, Seq) else ()), first))
        children = target.attrs.get("#children")
        if children is not None and isinstance(children, Seq) and name == "append":
            target.attrs["#children"] = Seq("list", None, join(first, *(children.items or (children.element,))))
            return NONE
    if name == "compile" and not isinstance(receiver, Super):
        machine.emit(Compile, node, form="method", target=receiver, kwargs=kwargs, used=True)
        return NONE
    if isinstance(receiver, TorchModule) and name == "register_forward_hook" and not machine.frame.compiled:
        func = node.func if isinstance(node, cst.Call) else None
        if isinstance(func, cst.Attribute):
            assignments.put_back(machine, func.value, replace(receiver, hooks=(*receiver.hooks, first)))
    if isinstance(receiver, TorchModule) and receiver.children is not None:
        inner = _container(machine, receiver, name, node, args)
        if inner is not None:
            return inner
    if (
        isinstance(receiver, Class)
        and name == "apply"
        and receiver.info.derives("torch.autograd.Function", "torch.autograd.function.Function")
    ):
        machine.emit(
            Call, node, qualname="torch.autograd.Function.apply", args=args, kwargs=kwargs, receiver=receiver, used=used
        )
        return _autograd_function(machine, node, receiver, args)
    if isinstance(receiver, (Instance, TorchModule, Super)):
        base = receiver.qualname if isinstance(receiver, TorchModule) else "torch.nn.Module"
        is_module = not isinstance(target, Instance) or target.info.is_module
        if is_module:
            machine.emit(Call, node, qualname=f"{base}.{name}", args=args, kwargs=kwargs, receiver=target, used=used)
            if name in MODULE_CHAIN:
                return target
            if name in ("parameters", "buffers"):
                return Seq("iterator", None, Tensor("float", owned=True))
            if name in ("named_parameters", "named_buffers"):
                return Seq("iterator", None, Seq("tuple", (Py("str"), Tensor("float", owned=True))))
    return UNKNOWN


def _owned(value: Value) -> Value:
    return join(*(
        Tensor(o.dtype, o.ndim, numpy=o.numpy, sure=o.sure, owned=True, sparse=o.sparse) if isinstance(o, Tensor) else o
        for o in options(value)
    ))  # fmt: skip


def _container(
    machine: Machine, receiver: TorchModule, name: str, node: cst.CSTNode, args: tuple[Value, ...]
) -> Value | None:
    children = receiver.children
    if isinstance(children, Mapping):
        return _mapping(machine, node, children, name, args, {}) if name in ("items", "values", "keys", "get") else None
    if isinstance(children, Seq) and name in ("append", "extend", "insert") and args:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            items = iterate.elements(machine, None, args[0])[1] if name == "extend" else args[-1]
            known = children.items if children.items is not None else (children.element,)
            grown = Seq("list", None, join(items, *known)) if known else Seq("list", None, items)
            assignments.put_back(machine, node.func.value, TorchModule(receiver.qualname, grown))
        return NONE
    return None


def _autograd_function(machine: Machine, node: cst.CSTNode, receiver: Class, args: tuple[Value, ...]) -> Value:
    forward = receiver.info.lookup("forward")
    if not isinstance(forward, Function):
        return Tensor()
    # What the forward stores in its context, the backward reads: Dynamo traces both.
    context = Instance(receiver.info)
    params = len(forward.info.node.params.params)
    given = (context, *args) if params == len(args) + 1 else args
    result = calls.apply(machine, node, forward, given, {})
    backward = receiver.info.lookup("backward")
    if isinstance(backward, Function):
        calls.apply(
            machine, node, backward, (context, *(Tensor("float") for _ in backward.info.node.params.params[1:])), {}
        )
    return result


def _string(name: str, _args: tuple[Value, ...]) -> Value:
    if name in ("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower"):
        return Py("bool")
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        return Seq("list", None, Py("str"))
    return Py("int") if name in ("find", "count", "index", "rfind") else Py("str")
