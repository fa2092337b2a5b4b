"""The transforms of ``torch.func``, which Dynamo traces together with the function that they transform."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import UNKNOWN, Const, Mapping, Partial, Seq, Value
from graphdoctor.static.interp import calls, iteration
from graphdoctor.static.interp.interpreter import Interpreter

Kwargs = dict[str, Value]


def _vectorised(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    """``vmap(function)``."""
    return Partial(args[0])


def _derivative(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    """``grad(function)`` and the like: calling it runs the function, and gives something like its arguments."""
    return Partial(args[0], result=UNKNOWN)


def _product(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    """``vjp(function, *inputs)`` or ``jvp(function, inputs, tangents)``, which run the function at once."""
    given = args[1:]
    if qualname.endswith(".jvp"):
        given = tuple(iteration.elements(interpreter, None, given[0])[0] or ()) if given else ()
    return Seq("tuple", (_called(interpreter, node, args[0], given, {}), UNKNOWN))


def _functional_call(
    interpreter: Interpreter, node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """``functional_call(module, parameters, args, kwargs)``: the forward of the module, with other parameters."""
    given = args[2] if len(args) > 2 else kwargs.get("args", Seq("tuple", ()))
    named = args[3] if len(args) > 3 else kwargs.get("kwargs", Mapping(()))
    if isinstance(given, Seq):
        positional = given.items
    else:
        positional = () if given == Const(None) else (given,)
    if positional is None or not isinstance(named, (Mapping, Const)):
        return UNKNOWN
    by_name = {str(name): value for name, value in named.items} if isinstance(named, Mapping) else {}
    return _called(interpreter, node, args[0], positional, by_name)


def _called(
    interpreter: Interpreter, node: cst.CSTNode, function: Value, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    return join(*(calls.apply(interpreter, node, option, args, kwargs) for option in options(function)))


#: By the name of the function, for calls with at least one argument.
TRANSFORMS: dict[str, Callable[[Interpreter, cst.CSTNode, str, tuple[Value, ...], Kwargs], Value]] = {
    **dict.fromkeys(("torch.vmap", "torch.func.vmap"), _vectorised),
    **dict.fromkeys((f"torch.func.{name}" for name in ("grad", "jacrev", "jacfwd", "hessian")), _derivative),
    **dict.fromkeys(("torch.func.vjp", "torch.func.jvp"), _product),
    **dict.fromkeys(("torch.func.functional_call", "torch.nn.utils.stateless.functional_call"), _functional_call),
}
