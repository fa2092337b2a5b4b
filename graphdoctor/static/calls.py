"""Calls: resolve the callee, follow it into scanned code as Dynamo inlines it, or ask what is known of libraries."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static import (
    arguments,
    definitions,
    expressions,
    factories,
    library,
    methods,
    objects,
    statements,
    torch_calls,
)
from graphdoctor.static.decorators import DEFAULT_OF_LOOKUP
from graphdoctor.static.events import ArgumentCall, Build, Call, CompiledCall
from graphdoctor.static.index import FunctionInfo, Scope
from graphdoctor.static.machine import Budget, Frame, Machine, Names
from graphdoctor.static.summaries import call_key
from graphdoctor.static.values import (
    NONE,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    Either,
    External,
    Function,
    Instance,
    Method,
    Partial,
    Py,
    Returned,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    holds_tensor,
    join,
    options,
)  # fmt: skip

Kwargs = dict[str, Value]


def call(machine: Machine, node: cst.Call) -> Value:
    """The value of a call expression."""
    used = machine.unused is not node
    machine.unused = None
    func = node.func
    if type(func) is cst.Name and func.value == "super" and not node.args:
        return _super(machine)
    callee = expressions.evaluate(machine, func)
    if type(func) is cst.Attribute:
        if type(callee) is Unknown or type(callee) is Returned:
            callee = factories.called_module(machine, node, func) or callee
        if type(callee) is Unknown:
            return _call_unknown(machine, node, func, used)
    if not machine.frame.compiled and torch_calls.is_layer(callee) and arguments.say_nothing(node.args):
        return TorchModule(callee.qualname)
    frame = machine.frame
    if not used:
        frame.inner = []
    args, kwargs = arguments.passed(machine, node)
    if used and frame.inner is not None:
        frame.inner.append(ArgumentCall(node, callee, args, kwargs))
    if not isinstance(callee, Either):
        result = apply(machine, node, callee, args, kwargs, used)
    else:
        result = join(*(apply(machine, node, option, args, kwargs, used) for option in callee.options))
    if not used:
        frame.inner = None
    return result


def _call_unknown(machine: Machine, node: cst.Call, func: cst.Attribute, used: bool) -> Value:
    """A method of an object nothing is known of: rules may still know the name (``optimizer.zero_grad()``)."""
    args, kwargs = arguments.passed(machine, node)
    machine.emit(Call, node, qualname=f"?.{func.attr.value}", args=args, kwargs=kwargs, receiver=UNKNOWN, used=used)
    if func.attr.value == "parameters" and not args:
        # Only modules are asked for their parameters.
        return Seq("iterator", None, Tensor("float", owned=True))
    return UNKNOWN


def _super(machine: Machine) -> Value:
    function = machine.frame.function
    if function is not None and function.owner is not None:
        first = next(iter(definitions.parameters(function.node.params)), None)
        bound = machine.frame.scope.find(first.name.value) if first is not None else None
        return Super(bound or UNKNOWN, function.owner)
    return UNKNOWN


def apply(
    machine: Machine, node: cst.CSTNode, callee: Value, args: tuple[Value, ...], kwargs: Kwargs, used: bool = True
) -> Value:
    """Call ``callee``, one alternative, with values."""
    if isinstance(callee, Function):
        return call_function(machine, node, callee, args, kwargs)
    if isinstance(callee, Class):
        return objects.instantiate(machine, node, callee, args, kwargs)
    if isinstance(callee, Instance):
        return call_instance(machine, node, callee, args, kwargs)
    if isinstance(callee, Compiled):
        return call_compiled(machine, node, callee, args, kwargs)
    if isinstance(callee, TorchModule):
        machine.emit(
            Call, node, qualname=f"{callee.qualname}.forward", args=args, kwargs=kwargs, receiver=callee, used=used
        )
        result = torch_calls.call_module(machine, node, callee, args, kwargs)
        return _hooked(machine, node, callee, callee.hooks, args, result)
    if isinstance(callee, External):
        machine.callees[id(node)] = callee.qualname
        return library.call_external(machine, node, callee.qualname, args, kwargs, used)
    if isinstance(callee, Method):
        return methods.call_method(machine, node, callee.receiver, callee.name, args, kwargs, used)
    if isinstance(callee, Partial):
        return apply(machine, node, callee.function, (*callee.args, *args), {**dict(callee.kwargs), **kwargs}, used)
    if isinstance(callee, Returned):
        machine.emit(
            Call, node, qualname=f"{callee.qualname}.__call__", args=args, kwargs=kwargs, receiver=callee, used=used
        )
        return library.call_returned(machine, node, callee, args, kwargs)
    return UNKNOWN


def call_instance(
    machine: Machine, node: cst.CSTNode, callee: Instance, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call an object: ``forward`` of a module, else ``__call__``."""
    for name in ("__call__", "forward") if callee.info.lookup("__call__") else ("forward",):
        if callee.info.lookup(name) is not None:
            result = call_method(machine, node, callee, name, args, kwargs)
            hooks = callee.attrs.get("#hooks")
            return _hooked(machine, node, callee, hooks.items or () if isinstance(hooks, Seq) else (), args, result)
    if "#children" in callee.attrs:
        return torch_calls.call_module(
            machine, node, TorchModule("torch.nn.Sequential", callee.attrs["#children"]), args, kwargs
        )
    return UNKNOWN


def _hooked(
    machine: Machine,
    node: cst.CSTNode,
    module: Value,
    hooks: tuple[Value, ...],
    args: tuple[Value, ...],
    result: Value,
) -> Value:
    """What a module gives once its forward hooks ran; what a hook returns replaces the result."""
    for hook in hooks:
        given = module, Seq("tuple", args), result
        returned = join(*(apply(machine, node, option, given, {}) for option in options(hook)))
        result = result if returned == NONE else returned
    return result


def call_compiled(
    machine: Machine, node: cst.CSTNode, callee: Compiled, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call a compiled object: what it runs is a region."""
    frame = machine.frame
    if frame.loops and not frame.compiled:
        machine.emit(
            CompiledCall,
            node,
            target=callee.target,
            args=args,
            kwargs=kwargs,
            loops=frame.loops,
            loaders=_loaders(machine, frame.loops),
            dynamic=machine.dynamic,
        )
    saved = frame.compiled, frame.whole_frame, frame.conditional, frame.trying
    if not frame.compiled:
        # A loop, an if or a try around the call is not in the graph.
        frame.compiled, frame.whole_frame, frame.conditional, frame.trying = True, "", False, False
    try:
        return join(*(apply(machine, node, option, args, kwargs) for option in options(callee.target)))
    finally:
        frame.compiled, frame.whole_frame, frame.conditional, frame.trying = saved


def _loaders(machine: Machine, loops: tuple[cst.For | cst.While, ...]) -> tuple[Build, ...]:
    """The data loaders that ``loops`` iterate, directly or through ``enumerate`` and the like."""
    found: list[Build] = []
    for loop in loops:
        if type(loop) is cst.For:
            with machine.path(muted=True):
                values = [expressions.evaluate(machine, n) for n in walk(loop.iter) if type(n) is cst.Name]
            built = [machine.built(option) for value in values for option in options(value)]
            found += [b for b in built if b is not None and b.qualname.rpartition(".")[2] == "DataLoader"]
    return tuple(replace(b, args=tuple(_data(machine, a) for a in b.args)) for b in found)


def _data(machine: Machine, value: Value) -> Value:
    """The tensor in a ``TensorDataset``, else ``value``."""
    made = machine.built(value)
    return made.args[0] if made is not None and made.args and made.qualname.endswith(".TensorDataset") else value


def call_method(
    machine: Machine,
    node: cst.CSTNode,
    receiver: Instance,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs | None = None,
) -> Value:
    """Call the method ``name`` of an object of scanned code."""
    found = receiver.attrs.get(name) or receiver.info.lookup(name)
    results = [apply(machine, node, bind(option, receiver), args, kwargs or {}) for option in options(found or UNKNOWN)]
    return join(*results)


def bind(value: Value, receiver: Value) -> Value:
    """A class attribute seen through an object: functions become bound methods."""
    if isinstance(value, Function) and value.bound is None:
        if "staticmethod" in value.info.markers:
            return value
        if "classmethod" in value.info.markers:
            return value.to(Class(receiver.info) if isinstance(receiver, Instance) else receiver)
        return value.to(receiver) if value.info.owner is not None else value
    if isinstance(value, Compiled):
        return Compiled(bind(value.target, receiver))
    return value


def call_function(
    machine: Machine, node: cst.CSTNode, function: Function, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Follow a call into a function of the scanned code."""
    info = function.info
    if function.bound is not None:
        args = (function.bound, *args)
    if "disable" in info.markers and machine.frame.compiled:
        machine.emit(
            Call, node, qualname="torch.compiler.disable.__call__", args=args, kwargs=kwargs, receiver=function
        )
        return UNKNOWN
    frame = machine.frame
    names = arguments.bound(machine, info, args, kwargs)
    if info.markers & OPAQUE:
        return _opaque_result(machine, info, args)
    if not frame.compiled and not _worth_following(machine, info):
        return Returned(f"{info.module.name}.{info.qualname}")
    if info in machine.active:
        # A counter that changes with each level of a recursion would be a new call each time.
        names = {k: Py("int") if isinstance(v, Const) and type(v.value) is int else v for k, v in names.items()}
    key = call_key(info, function, names, frame.compiled)
    known = machine.summaries.find(key, frame) if key is not None else None
    if known is not None:
        if key in machine.restarting:
            machine.restart()
        return known
    restarts, mark = machine.restarts, machine.asked.mark()
    depth = sum(1 for active in machine.active if active is info)
    if depth > 1 or len(machine.frames) > machine.MAX_DEPTH:
        return UNKNOWN
    if frame.compiled:
        machine.reach(info, names)
    try:
        result = _follow(machine, function, names)
    except Budget:
        if len(machine.frames) > 1:
            return UNKNOWN
        raise
    if key is not None:
        machine.summaries.keep(key, frame, result, mark)
        if machine.restarts != restarts:
            machine.restarting.add(key)
    return result


def _follow(machine: Machine, function: Function, names: Names) -> Value:
    """What a call gives: what it gave another file, else what interpreting the body gives."""
    call = machine.shared.begin(machine, function, names)
    if call is None:
        return _interpret(machine, function, names)
    told = call.told()
    if told is not None:
        return told
    with machine.asked.listening():
        result = _interpret(machine, function, names)
        call.keep(result)
    return result


def _interpret(machine: Machine, function: Function, names: Names) -> Value:
    """Interpret the body of a function whose parameters hold ``names``."""
    info, frame = function.info, machine.frame
    inner = Frame(
        function=info,
        module=info.module,
        scope=Scope("function", names, function.cells),
        statement=info.node,
        whole_frame=frame.whole_frame,
        conditional=frame.conditional,
        untaken=frame.untaken or DEFAULT_OF_LOOKUP in info.markers,
        muted=frame.muted,
        trying=frame.trying,
        compiled=frame.compiled,
    )
    machine.active.append(info)
    try:
        with machine.call(inner):
            return run_body(machine, inner, info)
    finally:
        machine.active.pop()


#: Decorators after which Dynamo puts the call in the graph without looking inside.
OPAQUE = frozenset((
    "custom_op", "triton_op", "nonstrict_trace", "allow_in_graph", "leaf_function", "register_fake",
    "assume_constant_result",
))  # fmt: skip


def _opaque_result(machine: Machine, info: FunctionInfo, args: tuple[Value, ...]) -> Value:
    returns = None if isinstance(info.node, cst.Lambda) else info.node.returns
    if returns is not None:
        return arguments.annotated_value(machine, info, returns.annotation)
    return Tensor() if any(holds_tensor(a) for a in args) else UNKNOWN


def _worth_following(machine: Machine, info: FunctionInfo) -> bool:
    """Outside regions calls are followed for what they build: in the scanned file, and constructors anywhere."""
    return info.module is machine.main or info.name in ("__init__", "__post_init__")


def run_body(machine: Machine, frame: Frame, info: FunctionInfo) -> Value:
    """Interpret a function body in ``frame`` and join what it returns."""
    if isinstance(info.node, cst.Lambda):
        return expressions.evaluate(machine, info.node.body)
    falls = statements.run_block(machine, info.module.source.body(info.node))
    if "contextmanager" in info.markers:
        return Returned("contextlib.contextmanager")
    if info.generator:
        return Seq("generator", None, join(*frame.yields) if frame.yields else UNKNOWN)
    results = frame.returns + ([NONE] if falls else [])
    if not results:
        return NONE
    result = join(*results)
    if isinstance(result, Unknown) and info.node.returns is not None:
        return definitions.annotation(machine, info.node.returns.annotation)
    return result
