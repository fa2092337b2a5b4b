"""Objects of classes of the scanned code: what their constructors make of the arguments."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static import calls
from graphdoctor.static.events import Call
from graphdoctor.static.index import ClassInfo
from graphdoctor.static.machine import Machine
from graphdoctor.static.summaries import object_key
from graphdoctor.static.values import UNKNOWN, Class, Function, Instance, Py, Seq, Value


def instantiate(
    machine: Machine, node: cst.CSTNode, value: Class, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """Make an object of a class of scanned code: run ``__init__`` outside the compiled region."""
    info = value.info
    if info.derives("enum.Enum", "enum.IntEnum", "enum.StrEnum"):
        return Py("object")
    key = None if machine.frame.compiled else object_key(info, args, kwargs)
    known = machine.summaries.find(key, machine.frame) if key is not None else None
    if known is not None:
        return known
    foreign = info.module is not machine.main and not info.is_module
    instance = Instance(info, shared=machine.main is None, many=key is not None, promised=foreign)
    if key is not None:
        machine.summaries.keep(key, machine.frame, instance)
    init = None if _made_by_dataclass(info) else info.lookup("__init__")
    if isinstance(init, Function):
        calls.call_function(machine, node, init.to(instance), args, kwargs)
    elif info.fields:
        for position, name in enumerate(info.fields):
            given = args[position] if position < len(args) else kwargs.get(name)
            default = info.lookup(name)
            instance.attrs[name] = given if given is not None else default if default is not None else UNKNOWN
        post = info.lookup("__post_init__")
        # What a base of another module does for all its subclasses is to check the fields; that is not worth its price.
        if isinstance(post, Function) and post.info.module is info.module:
            calls.call_function(machine, node, post.to(instance), (), {})
    if info.is_module and machine.frame.compiled:
        machine.emit(Call, node, qualname="torch.nn.Module.__init__", args=args, kwargs=kwargs, receiver=instance)
    _children(info, instance, args)
    return instance


def _made_by_dataclass(info: ClassInfo) -> bool:
    """Whether ``__init__`` is what the dataclass decorator makes: it hides one that a base defines."""
    nearest = next((known for known in info.mro if known.dataclass or "__init__" in known.attrs), None)
    return nearest is not None and "__init__" not in nearest.attrs


def _children(info: ClassInfo, instance: Instance, args: tuple[Value, ...]) -> None:
    """Subclasses of ModuleList and Sequential hold children like their base."""
    for name in info.externals:
        last = name.rpartition(".")[2]
        if last in ("ModuleList", "Sequential") and "#children" not in instance.attrs:
            instance.attrs["#children"] = args[0] if args and last == "ModuleList" else Seq("list", args)
