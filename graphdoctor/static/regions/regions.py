"""Regions: what will be compiled, and with what arguments it is entered.

In order: what ``graphdoctor_target()`` returns; the KernelBench pair ``Model`` and ``get_inputs()``; what is given to
``torch.compile``; else every ``nn.Module.forward`` of the file. Code outside the regions has no graph-break finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from itertools import chain

from graphdoctor.static.domain.events import Compile, Event
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.held_objects import held_objects
from graphdoctor.static.domain.other_frameworks import is_for_other_framework, is_of_other_framework
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.torch_tables import SCRIPT_MODULE
from graphdoctor.static.domain.value_functions import as_arguments, kinds, options, tensor_of
from graphdoctor.static.domain.values import (
    STAR,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    ExternalObject,
    Function,
    Instance,
    Mapping,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.interp import calls, definitions, imports, objects
from graphdoctor.static.interp.interpreter import Budget, Interpreter
from graphdoctor.static.regions.assumed_arguments import assumed_arguments
from graphdoctor.static.regions.counterparts import enter_counterparts
from graphdoctor.static.regions.data_transforms import is_around_a_model, takes_arrays_alone
from graphdoctor.static.regions.declared import functions_of_tensors, may_give_tensors, promises_a_tensor
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.entering import (
    compiled_steps,
    default_module,
    enter,
    enter_sequences,
    entry_function,
    was_called,
)
from graphdoctor.static.regions.mutable_globals import rebound_names
from graphdoctor.static.regions.offered import (
    NO_METHODS,
    NOT_MODULES,
    autograd_functions,
    forward_parts,
    methods_of_modules,
    methods_of_objects,
    objects_to_call,
    public_functions,
    takes_tensors,
    works_on_the_host,
)
from graphdoctor.static.regions.public_names import public_names
from graphdoctor.static.regions.tensor_objects import parts_of_tensor_objects
from graphdoctor.static.regions.unbuilt import build_unbuilt, is_around
from graphdoctor.static.regions.updates import metrics, steps
from graphdoctor.static.regions.wrapped import arguments_for, innermost


def interpret(interpreter: Interpreter, module: ModuleInfo, compiles: list[Event], target: str | None = None) -> None:
    """Interpret the top level of ``module``, then its regions. ``compiles`` collects the ``Compile`` events seen.

    ``target`` names the function, class or object that is compiled, where the user names one.
    """
    interpreter.rebound_names = rebound_names(module.source)
    interpreter.main = module
    imports.run_module(interpreter, module)
    _regions(interpreter, module, compiles, target)
    _compiled_by_the_run(interpreter, module)
    interpreter.finish()


def _regions(interpreter: Interpreter, module: ModuleInfo, compiles: list[Event], target: str | None) -> None:
    frame = Frame(function=None, module=module, scope=module.scope, statement=module.source.top)
    with interpreter.call(frame):
        chosen = [made for option in _named(interpreter, module, target) for made in _made(interpreter, option)]
        entered = [enter(interpreter, module, made) for made in chosen]
        if any(entered):
            return
        if _sample(interpreter, module) or _kernelbench(interpreter, module):
            return
        mentions = "compile" in module.source.text
        if mentions:
            _run_uncalled(interpreter, module)
        resolved = _enter_compiled(interpreter, module, compiles)
        if mentions:
            # Where only classes that nothing builds compile something, it is still open how users compile the rest of a
            # library.
            known = len(compiles)
            interpreter.region_facts.around = build_unbuilt(interpreter, module, compiles)
            _enter_compiled(interpreter, module, compiles[known:])
        if not resolved and not is_for_other_framework(module.source.text):
            interpreter.region_facts.assumed = True
            _forwards(interpreter, module)
        _hooks_on_parts(interpreter, module)


def _named(interpreter: Interpreter, module: ModuleInfo, target: str | None) -> Iterable[Value]:
    """What ``target`` names in ``module``: ``generate``, ``Net``, or a method of an object, ``Net.generate``."""
    if target is None:
        return
    owner, _, method = target.rpartition(".")
    for option in options(module.scope.names.get(owner or target, UNKNOWN)):
        if not owner:
            yield option
        elif isinstance(option, (Class, Instance)):
            made = default_module(interpreter, option.info) if isinstance(option, Class) else option
            for found in options(made.info.lookup(method) or UNKNOWN):
                if isinstance(found, Function):
                    yield found if found.info.markers & NO_METHODS else found.to(made)


def _made(interpreter: Interpreter, target: Value) -> Iterable[Value]:
    """The modules that ``target`` makes, where it is a function that needs no argument; else ``target`` itself."""
    if not isinstance(target, Function) or target.bound is not None:
        return (target,)
    named = definitions.parameters(target.info.node.params)
    if any(param.name.value not in target.info.defaults for param in named):
        return (target,)
    result = calls.apply(interpreter, target.info.node, target, (), {})
    modules = [o for o in options(result) if isinstance(o, Instance) and o.info.is_module]
    return modules or (target,)


def _compiled_by_the_run(interpreter: Interpreter, module: ModuleInfo) -> None:
    """Enter the functions that a run compiled and no region called: by a trainer, or from another file."""
    facts = interpreter.run_facts.get(module.source.file)
    if facts is None:
        return
    interpreter.region_facts.assumed = False
    frame = Frame(function=None, module=module, scope=module.scope, statement=module.source.top)
    with interpreter.call(frame):
        for name in sorted(facts.functions):
            owner, _, method = name.rpartition(".")
            for option in options(module.scope.names.get(owner or name, UNKNOWN)):
                if isinstance(option, Class) and option.info.is_module and method:
                    made = default_module(interpreter, option.info)
                    for found in options(made.info.lookup(method) or UNKNOWN):
                        if isinstance(found, Function):
                            enter(interpreter, module, found.to(made))
                elif isinstance(option, Function):
                    enter(interpreter, module, option)


def _sample(interpreter: Interpreter, module: ModuleInfo) -> bool:
    """Enter what ``graphdoctor_target()`` returns, with the arguments it returns."""
    declared = module.scope.names.get("graphdoctor_target")
    if not isinstance(declared, Function):
        return False
    result = calls.apply(interpreter, declared.info.node, declared, (), {})
    if not isinstance(result, Seq) or not result.items or len(result.items) < 2:
        return False
    interpreter.region_facts.has_sample = True
    target = result.items[0]
    inputs = result.items[1]
    interpreter.region_facts.has_dynamic_sizes = interpreter.region_facts.has_dynamic_sizes or _sizes_vary(
        interpreter, module
    )
    positional = inputs.items if isinstance(inputs, Seq) and inputs.items is not None else None
    keywords = result.items[2] if len(result.items) > 2 else Mapping()
    kwargs = {str(k): v for k, v in keywords.items} if isinstance(keywords, Mapping) else {}
    if positional is not None:
        positional = tuple(as_arguments(value) for value in positional)
    kwargs = {name: as_arguments(value) for name, value in kwargs.items()}
    for option in options(target):
        if isinstance(option, ExternalObject):
            calls.apply(interpreter, declared.info.node, option, positional or (), kwargs)
    entered = [enter(interpreter, module, option, positional, kwargs) for option in options(target)]
    return any(entered)


def _sizes_vary(interpreter: Interpreter, module: ModuleInfo) -> bool:
    """Whether ``graphdoctor_variants()`` calls the target with tensors of several sizes."""
    declared = module.scope.names.get("graphdoctor_variants")
    if not isinstance(declared, Function):
        return False
    calls_made = calls.apply(interpreter, declared.info.node, declared, (), {})
    rows = calls_made.items if isinstance(calls_made, Seq) and calls_made.items is not None else ()
    columns = zip(*(row.items for row in rows if isinstance(row, Seq) and row.items is not None), strict=False)
    sizes = [{value.sizes for value in column if isinstance(value, Tensor)} for column in columns]
    return any(len(found) > 1 and None not in found for found in sizes)


def _kernelbench(interpreter: Interpreter, module: ModuleInfo) -> bool:
    """Enter ``Model(*get_init_inputs())`` with ``get_inputs()``."""
    names = module.scope.names
    model, inputs = names.get("Model"), names.get("get_inputs")
    if not (isinstance(model, Class) and isinstance(inputs, Function)):
        return False
    interpreter.region_facts.has_sample = True
    init = names.get("get_init_inputs")
    made = calls.apply(interpreter, model.info.node, init, (), {}) if isinstance(init, Function) else Seq("list", ())
    passed = calls.apply(interpreter, model.info.node, inputs, (), {})
    built = objects.instantiate(interpreter, model.info.node, model, _spread(made), {})
    return enter(interpreter, module, built, _spread(passed) or None)


def _spread(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Seq):
        return value.items if value.items is not None else (Seq(STAR, None, value.element),)
    return ()


def _run_uncalled(interpreter: Interpreter, module: ModuleInfo) -> None:
    """Interpret functions that nothing at the top level calls: scripts compile their model inside ``main()``."""
    interpreter.region_facts.uncalled = True
    for _, value in defined(module):
        if isinstance(value, Function) and value.info.module is module and not value.info.generator:
            calls.apply(interpreter, value.info.node, value, (), {})
    interpreter.region_facts.uncalled = False


def _enter_compiled(interpreter: Interpreter, module: ModuleInfo, compiles: list[Event]) -> bool:
    """Enter what ``compiles`` compile; False when none of it is scanned code."""
    entered = False
    for use in (event for event in compiles if isinstance(event, Compile)):
        with interpreter.sink.compiling(use.kwargs.get("fullgraph") == Const(True)):
            for option in options(use.target):
                entered |= enter(interpreter, module, option)
                if expected := _expected(interpreter, option):
                    enter(interpreter, module, option, (), expected)
                for step in compiled_steps(option):
                    enter(interpreter, module, step)
    return entered


def _hooks_on_parts(interpreter: Interpreter, module: ModuleInfo) -> None:
    """Enter the hooks that are registered on a part of a module which compiled code calls."""
    for holder, hook in interpreter.hooks.on_parts:
        called = entry_function(holder)
        if interpreter.hooks.is_registered(hook) and called is not None and was_called(interpreter, called):
            for option in options(hook.function):
                enter(interpreter, module, option)


def _forwards(interpreter: Interpreter, module: ModuleInfo) -> None:
    """Enter the forward of every module class: first those that no other class builds, then what they did not reach.

    Left out are those of modules that compile parts of themselves, and of what holds such a module.
    """
    infos = [value.info for _, value in defined(module) if isinstance(value, Class) and value.info.module is module]
    classes = [info for info in infos if _is_region_class(info)]
    instances: dict[int, Instance] = {}
    held: set[int] = set()
    # Classes that hold others come after them in the file; little is known of a module before it is built.
    for info in reversed(classes):
        if id(info) not in held:
            instances[id(info)] = made = default_module(interpreter, info)
            held |= {id(part.info) for part in held_objects(made) if part is not made}
    public = public_names(module)
    host = {key for key, made in instances.items() if key not in held and is_around_a_model(interpreter, made)}
    if around := interpreter.region_facts.around:
        host |= {id(info) for info in classes if is_around(info, instances.get(id(info)), around)}
    classes = [info for info in classes if id(info) not in host and not takes_arrays_alone(info)]
    for info in sorted(classes, key=lambda one: id(one) in held):
        again = (info.name in public and _may_get_other_kinds(interpreter, info)) or _got_unknowns_only(
            interpreter, info
        )
        if again or not _reached(interpreter, info):
            enter(interpreter, module, instances.get(id(info)) or default_module(interpreter, info), again=again)
    enter_sequences(interpreter, module, held)
    for part in forward_parts(module, partial(default_module, interpreter)):
        if not works_on_the_host(interpreter, part):
            enter(interpreter, module, part)
    for info in classes:
        if info.name in public:
            enter_counterparts(interpreter, module, info, instances)
    _functions(interpreter, module, public)


def _functions(interpreter: Interpreter, module: ModuleInfo, public: frozenset[str]) -> None:
    """Enter the public functions of a library that take tensors, may give tensors, and that nothing reached.

    The same for methods of its distributions, of its modules without a forward and of its metrics, for other objects
    that are called, and for its ``autograd.Function`` classes.

    Left out are functions that users do not compile, because they save files, prepare data, build models, draw pictures
    or check arguments.
    """
    most = interpreter.step_limit
    interpreter.step_limit = min(most, interpreter.steps + _MOST_STEPS)
    # What was found before the steps were used up is reported.
    with suppress(Budget):
        for option in chain(
            public_functions(module, public),
            functions_of_tensors(interpreter, module),
            methods_of_modules(interpreter, module, public, partial(default_module, interpreter)),
            objects_to_call(interpreter, module, public, partial(default_module, interpreter)),
            methods_of_objects(interpreter, module, public, partial(default_module, interpreter)),
        ):
            inside = innermost(option)
            if works_on_the_host(interpreter, inside) or not may_give_tensors(interpreter, inside):
                continue
            if takes_tensors(interpreter, inside) or promises_a_tensor(interpreter, inside):
                with interpreter.sink.only_offered(module.source):
                    enter(interpreter, module, option)
        for part, passed in parts_of_tensor_objects(interpreter, module, public):
            if not was_called(interpreter, part) and not works_on_the_host(interpreter, innermost(part)):
                with interpreter.sink.only_offered(module.source):
                    enter(interpreter, module, part, *arguments_for(part, passed))
        for update, compute in metrics(module, public, partial(default_module, interpreter)):
            if not works_on_the_host(interpreter, update) and not works_on_the_host(interpreter, compute):
                with interpreter.sink.only_offered(module.source):
                    enter(interpreter, module, update)
                    enter(interpreter, module, compute)
        for step, passed in steps(module, public, partial(default_module, interpreter)):
            with interpreter.sink.only_offered(module.source):
                enter(interpreter, module, step, (), passed)
        for forward, passed in autograd_functions(interpreter, module):
            if not was_called(interpreter, forward):
                with interpreter.sink.only_offered(module.source):
                    enter(interpreter, module, forward, (), passed)
    interpreter.step_limit = most


#: The steps for the public functions of a file that nothing in it calls: some seconds.
_MOST_STEPS = 250_000


def _may_get_other_kinds(interpreter: Interpreter, info: ClassInfo) -> bool:
    """Whether users may give a module that was called a kind of argument that no class of the file gives it."""
    function = _entered(info)
    passed = interpreter.reached.functions.get(id(function.info)) if function is not None else None
    if function is None or passed is None:
        return False
    assumed = assumed_arguments(interpreter, function)
    return any(not kinds(value) - {Unknown} <= passed.get(name, set()) for name, value in assumed.items())


def _got_unknowns_only(interpreter: Interpreter, info: ClassInfo) -> bool:
    """Whether a module was called with unknown values only, where a tensor is to be expected."""
    function = _entered(info)
    passed = _kinds_passed(interpreter, function)
    vague = [name for name, found in passed.items() if found <= {Unknown, ExternalObject}]
    # Most modules have none, and working out what users pass takes long.
    assumed = assumed_arguments(interpreter, function) if function is not None and vague else {}
    return any(tensor_of(assumed[name]) is not None for name in vague)


def _expected(interpreter: Interpreter, target: Value) -> dict[str, Value]:
    """The expected arguments of a call of ``target`` that does not show them: ``model(**batch)``.

    Empty where no tensor is to be expected. Arguments that such a call leaves out keep their defaults.
    """
    function = entry_function(target)
    passed = {name: found for name, found in _kinds_passed(interpreter, function).items() if found != {type(None)}}
    vague = [name for name, found in passed.items() if found <= {Unknown, ExternalObject, type(None)}]
    assumed = assumed_arguments(interpreter, function) if function is not None and vague else {}
    if not any(tensor_of(assumed[name]) is not None for name in vague):
        return {}
    return {name: assumed[name] for name in passed}


def _kinds_passed(interpreter: Interpreter, function: Function | None) -> dict[str, set[type]]:
    """The kinds of the values that a function was called with in compiled code; empty where it was not called."""
    passed = interpreter.reached.functions.get(id(function.info)) if function is not None else None
    if function is None or passed is None:
        return {}
    names = [param.name.value for param in definitions.parameters(function.info.node.params)]
    return {name: passed.get(name, set()) for name in names[0 if function.bound is None else 1 :]}


def _entered(info: ClassInfo) -> Function | None:
    """The function that a call of a module runs, without the wrappers of its decorators."""
    function = entry_function(Instance(info))
    return None if function is None else innermost(function)


def _reached(interpreter: Interpreter, info: ClassInfo) -> bool:
    """Whether the forward of a module class was interpreted, for an object of this class."""
    function = _entered(info)
    return function is not None and was_called(interpreter, function)


def _is_region_class(info: ClassInfo) -> bool:
    forward = info.lookup("forward") or UNKNOWN
    has_forward = any(isinstance(option, (Function, Compiled)) for option in options(forward))
    if info.derives(SCRIPT_MODULE) or not has_forward:
        return False
    if info.is_module:
        return True
    if any("staticmethod" in option.info.markers for option in options(forward) if isinstance(option, Function)):
        return False
    if info.lookup("__call__") is not None:
        return False
    # A base that cannot be seen: a class with a forward(self, ...) is a module unless it is an autograd function, or it
    # says itself what a call does.
    return any(b.rpartition(".")[2] not in NOT_MODULES and not is_of_other_framework(b) for b in info.externals)
