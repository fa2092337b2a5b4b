"""Layers and containers of torch: what their constructors make, and what calling them gives."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    STAR,
    UNKNOWN,
    External,
    Mapping,
    Seq,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import calls, iteration
from graphdoctor.static.interp.interpreter import Interpreter


def is_layer(value: Value) -> TypeGuard[External]:
    """Whether ``value`` is a class of torch's layers that hold none of their arguments."""
    return (
        type(value) is External
        and torch_tables.is_torch_module(value.qualname)
        and not value.qualname.endswith(("ModuleList", "Sequential", "ModuleDict"))
    )


def new_layer(qualname: str, args: tuple[Value, ...]) -> TorchModule:
    """A layer or container of torch, with the children that it was given."""
    name = qualname.rpartition(".")[2]
    if name == "ModuleList":
        return TorchModule(qualname, args[0] if args else Seq("list", None, UNKNOWN))
    if name == "Sequential":
        if len(args) == 1 and isinstance(args[0], Mapping):
            held, rest = tuple(value for _, value in args[0].items), args[0].rest
            return TorchModule(qualname, Seq("list", held) if rest is None else Seq("list", None, join(*held, rest)))
        unknown = any(isinstance(a, Seq) and a.kind == STAR for a in args)
        return TorchModule(
            qualname,
            Seq("list", None, join(*(a.element if isinstance(a, Seq) else a for a in args)))
            if unknown
            else Seq("list", args),
        )
    if name in ("ModuleDict", "ParameterDict"):
        return TorchModule(qualname, args[0] if args else Mapping((), UNKNOWN))
    return TorchModule(qualname)


def layer_by_name(kwargs: dict[str, Value]) -> Value:
    """What ``getattr(nn, kind)(**kwargs)`` makes: only recurrent layers are recognised, by their arguments."""
    return TorchModule("torch.nn.RNN") if not torch_tables.OF_RECURRENT.isdisjoint(kwargs) else UNKNOWN


def call_layer(interpreter: Interpreter, node: cst.CSTNode, module: TorchModule, args: tuple[Value, ...]) -> Value:
    """The result of calling one of torch's own modules; the children of a container are followed."""
    name = module.qualname.rpartition(".")[2]
    if name == "Sequential" and module.children is not None:
        items, element = iteration.elements(interpreter, None, module.children)
        value = args[0] if args else UNKNOWN
        for child in items if items is not None else [element]:
            value = join(*(calls.apply(interpreter, node, option, (value,), {}) for option in options(child)))
        return value
    if name == "Identity":
        return args[0] if args else UNKNOWN
    if name in torch_tables.TUPLE_MODULES:
        state = Tensor("float")
        return Seq("tuple", (state, Seq("tuple", (state, state)) if name == "LSTM" else state))
    if name in ("ModuleList", "ModuleDict", "Module"):
        return UNKNOWN
    return Tensor("float")
