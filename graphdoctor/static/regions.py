"""Regions: what will be compiled, and with what arguments it is entered.

In order: what ``graphdoctor_target()`` returns; the KernelBench pair ``Model`` and ``get_inputs()``; what is given to
``torch.compile``; else every ``nn.Module.forward`` of the file. Code outside the regions has no graph-break finding.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static import arguments, calls, definitions, imports, objects
from graphdoctor.static.events import Compile, Event
from graphdoctor.static.evidence import uses
from graphdoctor.static.facts import words
from graphdoctor.static.index import ClassInfo, FunctionInfo, ModuleInfo
from graphdoctor.static.machine import Frame, Machine
from graphdoctor.static.rebound import rebound_names
from graphdoctor.static.values import (
    NONE,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    Function,
    Instance,
    Mapping,
    Py,
    Returned,
    Seq,
    Tensor,
    Unknown,
    Value,
    as_arguments,
    join,
    kinds,
    options,
)  # fmt: skip


def interpret(machine: Machine, module: ModuleInfo, compiles: list[Event], target: str | None = None) -> None:
    """Interpret the top level of ``module``, then its regions. ``compiles`` collects the ``Compile`` events seen.

    ``target`` names the function, class or object that is compiled, where the user says so.
    """
    machine.rebound = rebound_names(module.source)
    machine.main = module
    imports.run_module(machine, module)
    _regions(machine, module, compiles, target)
    machine.finish()


def _regions(machine: Machine, module: ModuleInfo, compiles: list[Event], target: str | None) -> None:
    frame = Frame(function=None, module=module, scope=module.scope, statement=module.source.top)
    with machine.call(frame):
        named = module.scope.names.get(target, UNKNOWN) if target is not None else UNKNOWN
        entered = [_enter(machine, module, option) for option in options(named)]
        if any(entered):
            return
        if _sample(machine, module) or _kernelbench(machine, module):
            return
        mentions = "compile" in module.source.text
        if mentions:
            _run_uncalled(machine, module)
        targets = [e.target for e in compiles if isinstance(e, Compile)]
        resolved = [o for t in targets for o in options(t) if _enter(machine, module, o)]
        if not resolved:
            _forwards(machine, module)


def _sample(machine: Machine, module: ModuleInfo) -> bool:
    """Enter what ``graphdoctor_target()`` returns, with the arguments it returns."""
    declared = module.scope.names.get("graphdoctor_target")
    if not isinstance(declared, Function):
        return False
    result = calls.apply(machine, declared.info.node, declared, (), {})
    if not isinstance(result, Seq) or not result.items or len(result.items) < 2:
        return False
    machine.fresh = True
    target = result.items[0]
    inputs = result.items[1]
    machine.dynamic = machine.dynamic or _sizes_vary(machine, module)
    positional = inputs.items if isinstance(inputs, Seq) and inputs.items is not None else None
    keywords = result.items[2] if len(result.items) > 2 else Mapping()
    kwargs = {str(k): v for k, v in keywords.items} if isinstance(keywords, Mapping) else {}
    if positional is not None:
        positional = tuple(as_arguments(value) for value in positional)
    kwargs = {name: as_arguments(value) for name, value in kwargs.items()}
    for option in options(target):
        if isinstance(option, Returned):
            calls.apply(machine, declared.info.node, option, positional or (), kwargs)
    entered = [_enter(machine, module, option, positional, kwargs) for option in options(target)]
    return any(entered)


def _sizes_vary(machine: Machine, module: ModuleInfo) -> bool:
    """Whether ``graphdoctor_variants()`` calls the target with tensors of several sizes."""
    declared = module.scope.names.get("graphdoctor_variants")
    if not isinstance(declared, Function):
        return False
    calls_made = calls.apply(machine, declared.info.node, declared, (), {})
    rows = calls_made.items if isinstance(calls_made, Seq) and calls_made.items is not None else ()
    columns = zip(*(row.items for row in rows if isinstance(row, Seq) and row.items is not None), strict=False)
    sizes = [{value.sizes for value in column if isinstance(value, Tensor)} for column in columns]
    return any(len(found) > 1 and None not in found for found in sizes)


def _kernelbench(machine: Machine, module: ModuleInfo) -> bool:
    """Enter ``Model(*get_init_inputs())`` with ``get_inputs()``."""
    names = module.scope.names
    model, inputs = names.get("Model"), names.get("get_inputs")
    if not (isinstance(model, Class) and isinstance(inputs, Function)):
        return False
    machine.fresh = True
    init = names.get("get_init_inputs")
    made = calls.apply(machine, model.info.node, init, (), {}) if isinstance(init, Function) else Seq("list", ())
    given = calls.apply(machine, model.info.node, inputs, (), {})
    built = objects.instantiate(machine, model.info.node, model, _spread(made), {})
    return _enter(machine, module, built, _spread(given) or None)


def _spread(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Seq):
        return value.items if value.items is not None else (Seq("star", None, value.element),)
    return ()


def _run_uncalled(machine: Machine, module: ModuleInfo) -> None:
    """Interpret functions that nothing at the top level calls: scripts compile their model inside ``main()``."""
    for value in list(module.scope.names.values()):
        if isinstance(value, Function) and value.info.module is module and not value.info.generator:
            calls.apply(machine, value.info.node, value, (), {})


def _enter(
    machine: Machine,
    module: ModuleInfo,
    target: Value,
    args: tuple[Value, ...] | None = None,
    kwargs: dict[str, Value] | None = None,
    anew: bool = False,
) -> bool:
    """Interpret ``target`` as a compiled region. False when it is not scanned code.

    Where no arguments are given, what other regions called is not entered again, but ``anew``.
    """
    if isinstance(target, Compiled):
        return any(_enter(machine, module, option, args, kwargs) for option in options(target.target))
    if isinstance(target, Class) and target.info.is_module:
        return _enter(machine, module, default_module(machine, target.info), args, kwargs)
    function = entry_function(target)
    if function is None:
        return False
    if args is None and not anew and id(function.info) in machine.reached:
        return True
    frame = Frame(function=None, module=module, scope=module.scope, statement=function.info.node, compiled=True)
    with machine.call(frame):
        if args is None:
            args, kwargs = (), assumed_arguments(machine, function)
        calls.call_function(machine, function.info.node, function, args, kwargs or {})
    return True


def entry_function(target: Value) -> Function | None:
    """The function that runs when ``target`` is called."""
    if isinstance(target, Function):
        return target
    if isinstance(target, Instance):
        for name in ("forward", "__call__"):
            found = target.info.lookup(name)
            for option in options(found) if found is not None else ():
                if isinstance(option, Compiled):
                    option = options(option.target)[0]
                if isinstance(option, Function):
                    return option.to(target)
    return None


def default_module(machine: Machine, info: ClassInfo) -> Instance:
    """An object of a module class made with unknown arguments (what their annotations and defaults say)."""
    made = objects.instantiate(machine, info.node, Class(info), (), _optional(machine, info))
    return made if isinstance(made, Instance) else Instance(info)


def _optional(machine: Machine, info: ClassInfo) -> dict[str, Value]:
    """The arguments that a constructor does without: None, or what their annotation says."""
    init = info.lookup("__init__")
    if not isinstance(init, Function):
        return {}
    given: dict[str, Value] = {}
    for param in definitions.parameters(init.info.node.params):
        if param.annotation is not None and init.info.defaults.get(param.name.value) == NONE:
            declared = arguments.annotated_value(machine, init.info, param.annotation.annotation)
            if not isinstance(declared, Unknown):
                given[param.name.value] = join(declared, NONE)
    return given


def _forwards(machine: Machine, module: ModuleInfo) -> None:
    """Enter the forward of every module class: first those that no other class builds, then what they did not reach."""
    classes = [value.info for value in _classes(module) if value.info.module is module and _is_region_class(value.info)]
    instances: dict[int, Instance] = {}
    held: set[int] = set()
    # What is made of others stands behind them; of what it holds, little is known before it is made.
    for info in reversed(classes):
        if id(info) not in held:
            instances[id(info)] = made = default_module(machine, info)
            held |= {id(part.info) for part in _held(made) if part is not made}
    public = _exported(module)
    for info in sorted(classes, key=lambda one: id(one) in held):
        anew = info.name in public and _hears_more(machine, info)
        if anew or not _reached(machine, info):
            _enter(machine, module, instances.get(id(info)) or default_module(machine, info), anew=anew)


def _hears_more(machine: Machine, info: ClassInfo) -> bool:
    """Whether users may give a module that was called a kind of argument that no class of the file gives it."""
    function = entry_function(Instance(info))
    heard = machine.reached.get(id(function.info)) if function is not None else None
    if function is None or heard is None:
        return False
    assumed = assumed_arguments(machine, function)
    return any(not kinds(value) - {Unknown} <= heard.get(name, set()) for name, value in assumed.items())


def _exported(module: ModuleInfo) -> set[str]:
    """The names in ``__all__``."""
    named = module.scope.names.get("__all__")
    return {str(v.value) for v in named.items or () if isinstance(v, Const)} if isinstance(named, Seq) else set()


def _reached(machine: Machine, info: ClassInfo) -> bool:
    """Whether the forward of a module class was interpreted."""
    function = entry_function(Instance(info))
    return function is not None and id(function.info) in machine.reached


def _classes(module: ModuleInfo) -> list[Class]:
    return [v for v in module.scope.names.values() if isinstance(v, Class)]


def _is_region_class(info: ClassInfo) -> bool:
    forward = info.lookup("forward")
    if not any(isinstance(option, (Function, Compiled)) for option in options(forward or UNKNOWN)):
        return False
    if info.is_module:
        return True
    # A base that cannot be seen: a class with a forward(self, ...) is a module unless it is an autograd function.
    bases = info.externals
    return any(b.rpartition(".")[2] not in _NOT_MODULES for b in bases)


_NOT_MODULES = frozenset({"object", "Function", "ABC", "Protocol", "NamedTuple", "Enum", "InplaceFunction", "Generic"})


def _held(instance: Instance) -> list[Instance]:
    from graphdoctor.static.values import TorchModule, walk

    found: list[Instance] = []
    stack: list[Value] = list(instance.attrs.values())
    while stack:
        for value in walk(stack.pop(), 4):
            if isinstance(value, Instance) and value not in found:
                found.append(value)
            elif isinstance(value, TorchModule) and value.children is not None:
                stack.append(value.children)
    return found


def assumed_arguments(machine: Machine, function: Function) -> dict[str, Value]:
    """What the parameters of an entry hold when no call says it: annotations, then defaults, then how they are used."""
    info = function.info
    params = definitions.parameters(info.node.params)
    if function.bound is not None:
        params = params[1:]
    names = [p.name.value for p in params]
    # Only what is not annotated is judged by its use.
    tensors, numbers = uses(info.body) if any(p.annotation is None for p in params) else (set[str](), set[str]())
    by_custom: set[str] = set()
    if info.name == "forward":
        heard = machine.reached.get(id(info), {})
        numbers |= {name for name in names if _is_number(name) or not heard.get(name, set()) <= _NO_NUMBERS}
        by_custom = set(names) - numbers
    return {
        name: _assumed(machine, info, p, name in tensors, name in by_custom)
        for name, p in zip(names, params, strict=True)
    }


def _assumed(machine: Machine, info: FunctionInfo, param: cst.Param, evident: bool, by_custom: bool) -> Value:
    name = param.name.value
    default = info.defaults.get(name)
    if param.annotation is not None:
        declared = arguments.annotated_value(machine, info, param.annotation.annotation)
        if not isinstance(declared, Unknown):
            given = as_arguments(declared)
            return join(given, NONE) if default == NONE else given
        return UNKNOWN
    if default is None:
        return Tensor(sure=evident, argument=True) if evident or by_custom else UNKNOWN
    if default == NONE:
        return join(Tensor(argument=True), NONE) if evident else UNKNOWN
    if isinstance(default, Const):
        return Py(type(default.value).__name__)
    return UNKNOWN


#: Kinds of values beside which an argument may be a tensor.
_NO_NUMBERS = {Tensor, Unknown, type(None)}

#: Names of forward's arguments that are Python values by custom.
_NOT_TENSORS = words(
    """
    config mode return_dict kwargs args idx name step batch_idx size shape
    """
)


def _is_number(name: str) -> bool:
    return name in _NOT_TENSORS or name.endswith(("_size", "_shape"))
