"""Calls: resolve the callee, follow it into scanned code as Dynamo inlines it, or use the models of libraries."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.decorators import DEFAULT_OF_LOOKUP
from graphdoctor.static.domain.events import ArgumentCall, Call, CompiledCall
from graphdoctor.static.domain.frames import Frame, Names
from graphdoctor.static.domain.held_objects import note_passed
from graphdoctor.static.domain.program import FunctionInfo, Scope
from graphdoctor.static.domain.tensor_methods import computes_with, is_reduction, takes_a_dimension
from graphdoctor.static.domain.value_functions import dense, holds_sparse, join, options, without_methods_of_none
from graphdoctor.static.domain.values import (
    CHILDREN,
    HOOKS,
    NONE,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    External,
    ExternalObject,
    Function,
    Instance,
    Method,
    OneOf,
    Partial,
    PythonValue,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import arguments, definitions, expressions, iteration, objects, predicates, statements
from graphdoctor.static.interp.interpreter import Budget, Interpreter
from graphdoctor.static.library_models import dispatch, methods, not_inlined, torch_functions, type_checkers, wrappers
from graphdoctor.static.library_models.made_anew import report_method
from graphdoctor.static.library_models.method_call import MethodCall
from graphdoctor.static.library_models.modules import duck_typed_modules, module_hooks, torch_layers
from graphdoctor.static.memo.summaries import call_key

Kwargs = dict[str, Value]


def call(interpreter: Interpreter, node: cst.Call) -> Value:
    """The value of a call expression."""
    used = interpreter.unused is not node
    interpreter.unused = None
    func = node.func
    if type(func) is cst.Name and func.value == "super" and len(node.args) in (0, 2):
        return _super(interpreter, node)
    callee = expressions.evaluate(interpreter, func)
    if type(func) is cst.Attribute:
        if type(callee) is Unknown or type(callee) is ExternalObject:
            callee = duck_typed_modules.called_module(interpreter, node, func) or callee
        elif type(callee) is OneOf:
            callee = without_methods_of_none(callee)
        if type(callee) is Unknown:
            return _call_unknown(interpreter, node, func, *arguments.passed(interpreter, node), used)
    if not interpreter.frame.compiled and torch_layers.is_layer(callee) and arguments.emit_nothing(node.args):
        return TorchModule(callee.qualname)
    frame = interpreter.frame
    if not used:
        frame.inner = []
    args, kwargs = arguments.passed(interpreter, node)
    if used and frame.inner is not None:
        frame.inner.append(ArgumentCall(node, callee, args, kwargs))
    if not isinstance(callee, OneOf):
        result = apply(interpreter, node, callee, args, kwargs, used)
    else:
        # Settings decide which of several objects is called; it is not assumed to be the one that a library made.
        unlikely = (*torch_functions.misfits(callee.options, args), *not_inlined.made_by_libraries(callee.options))
        results: list[Value] = []
        for option in callee.options:
            with interpreter.path(conditional=True, untaken=option in unlikely):
                if type(option) is Unknown and type(func) is cst.Attribute:
                    results.append(_call_unknown(interpreter, node, func, args, kwargs, used))
                else:
                    results.append(apply(interpreter, node, option, args, kwargs, used))
        result = join(*results)
    if not used:
        frame.inner = None
    return result


def _call_unknown(
    interpreter: Interpreter, node: cst.Call, func: cst.Attribute, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    """Call a method of an unknown object: rules may know its name (``optimizer.zero_grad()``)."""
    if interpreter.frame.compiled and is_reduction(func.attr.value, (*args, *kwargs)):
        return Tensor(ndim=0)
    if interpreter.frame.compiled and computes_with(func.attr.value, args):
        unknown = Tensor(is_known=False)
        return methods.call_method(interpreter, MethodCall(node, unknown, func.attr.value, args, kwargs, used))
    if takes_a_dimension(func.attr.value, kwargs):
        return methods.call_method(interpreter, MethodCall(node, UNKNOWN, func.attr.value, args, kwargs, used))
    interpreter.emit(Call, node, qualname=f"?.{func.attr.value}", args=args, kwargs=kwargs, receiver=UNKNOWN, used=used)
    if func.attr.value == "parameters" and not args:
        # Only modules have parameters.
        return Seq("iterator", None, Tensor("float", owned=True))
    if func.attr.value in torch_tables.FORWARD_HOOKS and not interpreter.frame.compiled:
        return module_hooks.on_unknown(interpreter, MethodCall(node, UNKNOWN, func.attr.value, args, kwargs, used))
    return UNKNOWN


def _call_partial(
    interpreter: Interpreter, node: cst.CSTNode, callee: Partial, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    given = {**dict(callee.kwargs), **kwargs}
    result = apply(interpreter, node, callee.function, (*callee.args, *args), given, used)
    return result if callee.result is None else callee.result


def _super(interpreter: Interpreter, node: cst.Call) -> Value:
    """``super()``, or ``super(Class, self)``."""
    function = interpreter.frame.function
    if node.args:
        after, receiver = (expressions.evaluate(interpreter, arg.value) for arg in node.args)
        return Super(receiver, after.info) if isinstance(after, Class) else UNKNOWN
    if function is not None and function.owner is not None:
        first = next(iter(definitions.parameters(function.node.params)), None)
        bound = interpreter.frame.scope.find(first.name.value) if first is not None else None
        return Super(bound or UNKNOWN, function.owner)
    return UNKNOWN


def apply(
    interpreter: Interpreter,
    node: cst.CSTNode,
    callee: Value,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool = True,
) -> Value:
    """Call ``callee``, one alternative, with values."""
    call = _CALLS.get(type(callee))
    given = arguments.for_callee(callee, kwargs)
    return UNKNOWN if call is None else call(interpreter, node, callee, args, given, used)


def _call_layer(
    interpreter: Interpreter,
    node: cst.CSTNode,
    callee: TorchModule,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    qualname = f"{callee.qualname}.forward"
    interpreter.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=callee, used=used)
    if not callee.hooks:
        return torch_layers.call_layer(interpreter, node, callee, args)
    args = module_hooks.before(interpreter, node, callee, args)
    result = torch_layers.call_layer(interpreter, node, callee, args)
    return module_hooks.after(interpreter, node, callee, args, result)


def _call_external_object(
    interpreter: Interpreter,
    node: cst.CSTNode,
    callee: ExternalObject,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    qualname = f"{callee.qualname}.__call__"
    interpreter.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=callee, used=used)
    return dispatch.call_returned(interpreter, node, callee, args, kwargs)


def call_instance(
    interpreter: Interpreter, node: cst.CSTNode, callee: Instance, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call an object: ``forward`` of a module, else ``__call__``."""
    layer = callee.info.recurrent_layer
    if layer is not None:
        interpreter.emit(Call, node, qualname=f"{layer}.forward", args=args, kwargs=kwargs, receiver=callee)
    named = ("__call__", "forward") if callee.info.has_own_call() else ("forward",)
    if any(name.startswith("torch.distributions.") for name in callee.info.externals):
        named = (*named, "_call")
    for name in named:
        if callee.info.lookup(name) is not None:
            if HOOKS not in callee.attrs:
                return call_method(interpreter, node, callee, name, args, kwargs)
            args = module_hooks.before(interpreter, node, callee, args)
            result = call_method(interpreter, node, callee, name, args, kwargs)
            return module_hooks.after(interpreter, node, callee, args, result)
    if CHILDREN in callee.attrs:
        return torch_layers.call_layer(
            interpreter, node, TorchModule("torch.nn.Sequential", callee.attrs[CHILDREN]), args
        )
    if layer is not None:
        return torch_layers.call_layer(interpreter, node, TorchModule(layer), args)
    return UNKNOWN


def call_compiled(
    interpreter: Interpreter, node: cst.CSTNode, callee: Compiled, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call a compiled object, which begins a region."""
    frame = interpreter.frame
    if frame.loops and not frame.compiled:
        around = {"loops": frame.loops, "loaders": iteration.loaders(interpreter, frame.loops)}
        given = {"target": callee.target, "args": args, "kwargs": kwargs}
        interpreter.emit(CompiledCall, node, **given, **around, dynamic=interpreter.region_facts.has_dynamic_sizes)
    saved = frame.compiled, frame.whole_frame, frame.conditional, frame.trying, frame.recovers, frame.entering
    fullgraph = callee.fullgraph and not frame.compiled
    if not frame.compiled:
        frame.entering = True
        interpreter.stores.assigned_first = set()
        # A loop, ``if`` or ``try`` around the call is not compiled.
        frame.compiled, frame.whole_frame, frame.conditional = True, None, False
        frame.trying = frame.recovers = False
        note_passed(callee.target, (*args, *kwargs.values()))
    try:
        with interpreter.sink.compiling(fullgraph):
            return join(*(apply(interpreter, node, option, args, kwargs) for option in options(callee.target)))
    finally:
        frame.compiled, frame.whole_frame, frame.conditional, frame.trying, frame.recovers, frame.entering = saved


def call_method(
    interpreter: Interpreter,
    node: cst.CSTNode,
    receiver: Instance,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs | None = None,
) -> Value:
    """Call the method ``name`` of an object of scanned code."""
    own = receiver.attrs.get(name)
    found = options(own if own is not None else receiver.info.lookup(name) or UNKNOWN)
    called = found if own is not None else [bind(option, receiver) for option in found]
    return join(*(apply(interpreter, node, option, args, kwargs or {}) for option in called))


def bind(value: Value, receiver: Value) -> Value:
    """A class attribute read through an object: functions become bound methods."""
    if isinstance(value, Function) and value.bound is None:
        if "staticmethod" in value.info.markers:
            return value
        if "classmethod" in value.info.markers:
            return value.to(Class(receiver.info) if isinstance(receiver, Instance) else receiver)
        # This includes functions that a decorator made, or that were assigned in the body of the class.
        return value.to(receiver)
    if isinstance(value, Compiled):
        return Compiled(bind(value.target, receiver), value.fullgraph)
    return value


def call_function(
    interpreter: Interpreter, node: cst.CSTNode, function: Function, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Follow a call into a function of the scanned code."""
    info = function.info
    layer = function.bound.info.recurrent_layer if isinstance(function.bound, Instance) else None
    if layer is not None and info.name not in ("forward", *objects.CONSTRUCTORS):
        interpreter.emit(Call, node, qualname=f"{layer}.{info.name}", args=args, kwargs=kwargs, receiver=function.bound)
    if function.bound is not None:
        args = (function.bound, *args)
    given = not_inlined.call(interpreter, node, function, args, kwargs)
    if given is not None:
        return given
    frame = interpreter.frame
    names = arguments.bound(interpreter, info, args, kwargs)
    if frame.compiled and type(function.bound) is Instance and function.bound.inside:
        report_method(interpreter, node, function, args, kwargs)
    if not (frame.compiled or frame.guessed or objects.may_matter(interpreter, info, args)):
        declared = arguments.declared_result(interpreter, info)
        return declared if type(declared) is Tensor else ExternalObject(f"{info.module.name}.{info.qualname}")
    names = _widened(interpreter, info, names)
    key = call_key(info, function, names, frame)
    called = interpreter.call_graph.add(info, names) if frame.compiled and not frame.muted else None
    built = function.bound if info.name in objects.CONSTRUCTORS and isinstance(function.bound, Instance) else None
    known = _recall(interpreter, key, built) if key is not None else None
    if known is not None:
        return known
    if interpreter.active.count(info) > 1 or len(interpreter.frames) > interpreter.MAX_DEPTH:
        return UNKNOWN
    graph_ends, mark = interpreter.graph_ends, interpreter.summaries.mark(interpreter.effect_counts())
    if frame.compiled:
        interpreter.reached.add(info, names, with_kinds=info.module is interpreter.main)
        wrappers.interpret_wrappers(interpreter, node, info)
    try:
        with interpreter.call_graph.running(called):
            result = _follow(interpreter, function, names)
    except Budget:
        if len(interpreter.frames) > 1:
            return UNKNOWN
        raise
    ends_graph = interpreter.graph_ends != graph_ends
    if key is not None:
        interpreter.summaries.keep(key, frame, result, mark, interpreter.effect_counts())
        if built is not None:
            interpreter.summaries.stored[key] = dict(built.attrs)
        if ends_graph:
            interpreter.summaries.ends_graph.add(key)
    if ends_graph:
        # The rest of the statement is in the next graph, too: ``masked(n).expand(n, -1)``.
        interpreter.continue_in_new_graph()
    return result


def _widened(interpreter: Interpreter, info: FunctionInfo, names: Names) -> Names:
    """``names``, the arguments of ``info``, widened where interpreting exactly these would be wrong or never end."""
    frame = interpreter.frame
    if frame.compiled and frame.function is not None and any(map(holds_sparse, names.values())):
        # The graph ended where the tensor was made sparse, and that is reported. Other callers may pass a dense one.
        names = {k: dense(v) for k, v in names.items()}
    if info in interpreter.active:
        # With a counter that changes at each level of a recursion, every call would be a new one.
        names = {
            k: PythonValue("int") if isinstance(v, Const) and type(v.value) is int else v for k, v in names.items()
        }
    return names


def _recall(interpreter: Interpreter, key: Hashable, built: Instance | None) -> Value | None:
    """What the same call gave before, or None. ``built``, the object of a constructor, gets what was stored then."""
    known = interpreter.summaries.find(key, interpreter.frame)
    if known is None:
        return None
    if key in interpreter.summaries.ends_graph:
        interpreter.start_new_graph(sure=False)
        interpreter.continue_in_new_graph()
    if built is not None:
        built.attrs.update(interpreter.summaries.stored.get(key, {}))
    return known


def _follow(interpreter: Interpreter, function: Function, names: Names) -> Value:
    """The result of a call: replayed from another file where that is possible, else by interpreting the body."""
    call = interpreter.call_cache.begin(interpreter, function, names)
    if call is None:
        return _interpret(interpreter, function, names)
    replayed = call.replayed()
    if replayed is not None:
        return replayed
    with interpreter.project.lookups.recording():
        result = _interpret(interpreter, function, names)
        call.keep(result)
    return result


def _interpret(interpreter: Interpreter, function: Function, names: Names) -> Value:
    """Interpret the body of a function whose parameters hold ``names``."""
    info, frame = function.info, interpreter.frame
    inner = Frame(
        function=info,
        module=info.module,
        scope=Scope("function", names, function.cells),
        statement=info.node,
        whole_frame=frame.whole_frame,
        conditional=frame.conditional,
        untaken=frame.untaken or DEFAULT_OF_LOOKUP in info.markers,
        muted=frame.muted or (frame.compiled and definitions.refuses(info)),
        trying=frame.trying,
        guessed=frame.guessed,
        recomputed=frame.recomputed,
        compiled=frame.compiled,
        training=frame.training,
        callers=frame.calling(),
    )
    interpreter.active.append(info)
    try:
        with interpreter.call(inner):
            return run_body(interpreter, inner, info)
    finally:
        interpreter.active.pop()


def run_body(interpreter: Interpreter, frame: Frame, info: FunctionInfo) -> Value:
    """Interpret a function body in ``frame`` and join what it returns."""
    if isinstance(info.node, cst.Lambda):
        return expressions.evaluate(interpreter, info.node.body)
    if frame.compiled and info.markers:
        type_checkers.at_start(interpreter, frame, info)
    falls = statements.run_block(interpreter, info.module.source.body(info.node))
    if "contextmanager" in info.markers:
        return ExternalObject("contextlib.contextmanager")
    if info.generator:
        return Seq("generator", None, join(*frame.yields) if frame.yields else UNKNOWN)
    results = frame.returns + ([NONE] if falls else [])
    result = join(*results) if results else UNKNOWN if definitions.is_abstract(info) else NONE
    if frame.compiled and type(result) is OneOf and predicates.says_compiling(interpreter, info, results):
        return Const(True)
    if isinstance(result, Unknown) and info.node.returns is not None:
        return definitions.annotation(interpreter, info.node.returns.annotation)
    return result


#: How a value is called, by its class. The result of calling any other value is unknown.
_CALLS: dict[type[Value], Callable[[Interpreter, cst.CSTNode, Any, tuple[Value, ...], Kwargs, bool], Value]] = {
    Function: lambda interpreter, node, callee, args, kwargs, _: call_function(interpreter, node, callee, args, kwargs),
    Class: lambda interpreter, node, callee, args, kwargs, _: objects.instantiate(
        interpreter, node, callee, args, kwargs
    ),
    Instance: lambda interpreter, node, callee, args, kwargs, _: call_instance(interpreter, node, callee, args, kwargs),
    Compiled: lambda interpreter, node, callee, args, kwargs, _: call_compiled(interpreter, node, callee, args, kwargs),
    TorchModule: _call_layer,
    External: lambda interpreter, node, callee, args, kwargs, used: dispatch.call_external(
        interpreter, node, callee.qualname, args, kwargs, used
    ),
    Method: lambda interpreter, node, callee, args, kwargs, used: methods.call_method(
        interpreter, MethodCall(node, callee.receiver, callee.name, args, kwargs, used)
    ),
    Partial: _call_partial,
    ExternalObject: _call_external_object,
}
