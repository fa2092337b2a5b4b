"""What a library offers its users besides modules: functions and methods that take tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice

import libcst as cst

from graphdoctor.static.domain.other_frameworks import is_of_other_framework
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo, ModuleInfo
from graphdoctor.static.domain.torch_tables import (
    AUTOGRAD_FUNCTION,
    HOST_PACKAGES,
    STEPPED,
    TENSOR_EVIDENCE,
    TRACKERS,
    within,
)
from graphdoctor.static.domain.value_functions import options, tensor_of
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Compiled,
    External,
    Function,
    Instance,
    Seq,
    Tensor,
    Value,
)
from graphdoctor.static.interp import arguments, definitions
from graphdoctor.static.interp.imports import import_names
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.argument_inference import OF_MODULES, uses
from graphdoctor.static.regions.assumed_arguments import assumed_arguments
from graphdoctor.static.regions.data_transforms import DATASETS, FILLING, draws, is_dataset
from graphdoctor.static.regions.definitions import annotation_of, defined
from graphdoctor.syntax.walk import find, walk


def public_functions(module: ModuleInfo, public: frozenset[str]) -> list[Function]:
    """The functions that ``module`` defines under one of the names in ``public``.

    None where it defines a dataset: what stands beside that works on samples, in the processes of a loader. A sampler
    only draws their numbers. What takes a whole model decodes with it, measures or explains it: the model is compiled.
    """
    classes = (value.info for _, value in defined(module) if isinstance(value, Class))
    if any(info.module is module and is_dataset(info) for info in classes):
        return []
    named = [value for name, value in defined(module) if name in public]
    functions = [option for option in named if isinstance(option, Function) and option.info.module is module]
    return [function for function in functions if not (_is_coroutine(function) or _needs_a_model(function))]


def _needs_a_model(function: Function) -> bool:
    params = definitions.parameters(function.info.node.params)
    return "model" not in function.info.defaults and any(param.name.value == "model" for param in params)


#: Methods that torch calls for another: ``transform(x)`` calls ``_call``.
CALLED_BY_TORCH = ("_call", "_inverse")


def autograd_functions(interpreter: Interpreter, module: ModuleInfo) -> Iterator[tuple[Function, dict[str, Value]]]:
    """The forward of each ``autograd.Function`` of ``module``, and its arguments.

    Whoever uses such a class calls it with a tensor. Its other arguments are often numbers.
    """
    for _, value in defined(module):
        if not isinstance(value, Class) or value.info.module is not module:
            continue
        info, forward = value.info, value.info.lookup("forward")
        if not isinstance(forward, Function) or not (info.derives(*AUTOGRAD_FUNCTION) or _is_static(info, forward)):
            continue
        assumed = assumed_arguments(interpreter, forward)
        context = list(assumed)[: 0 if info.lookup("setup_context") is not None else 1]
        taken = [name for name in assumed if name not in context]
        for name in taken[1:]:
            tensor = tensor_of(assumed[name])
            if tensor is not None and not tensor.is_known:
                assumed[name] = UNKNOWN
        yield forward, assumed | {name: Instance(info) for name in context}


def _is_static(info: ClassInfo, forward: Function) -> bool:
    """Whether a class with a base that cannot be seen has the static ``forward(ctx, ...)`` of an autograd function."""
    return "staticmethod" in forward.info.markers and bool(info.externals) and not info.is_module


#: Methods that train, by custom.
_TRAINING = ("train", "fit")


def methods_of_modules(
    interpreter: Interpreter, module: ModuleInfo, public: frozenset[str], made: Callable[[ClassInfo], Instance]
) -> Iterator[Function]:
    """The methods of the public modules that users may call with tensors; ``made`` makes an object.

    Users call all public methods of a module without a forward, such as a solver or a sampler. Beside a forward these
    are the methods that declare tensors alone, such as ``decode(self, codes: Tensor)``, and neither set an attribute
    nor work on the host: changing a module or plotting its results is not compiled.
    """
    for name, value in defined(module):
        if name in public and isinstance(value, Class) and value.info.module is module and value.info.is_module:
            info = value.info
            methods = [method for method in _methods(info) if method.info.name not in _TRAINING]
            if has_forward(info):
                methods = [m for m in methods if m.info.name != "forward" and _computes(interpreter, info, m)]
            if methods:
                instance = made(info)
                yield from (method.to(instance) for method in methods)


def _computes(interpreter: Interpreter, info: ClassInfo, method: Function) -> bool:
    """Whether ``method`` declares tensors alone, and it and the methods of its class that it runs only compute."""
    declared = [annotation_of(method.info, param) for param in definitions.parameters(method.info.node.params)[1:]]
    if not declared or not all(each is not None and is_of_tensors(interpreter, *each) for each in declared):
        return False
    return _only_computes(interpreter, info, method)


def only_computes(interpreter: Interpreter, info: ClassInfo, method: Function) -> bool:
    """Whether ``method`` and the methods of its class that it runs set and draw nothing, and stay with tensors."""
    gives_array = any(node.attr.value == "numpy" for node in find(method.info.body, cst.Attribute))
    return not gives_array and _only_computes(interpreter, info, method) and not _draws(info, method)


def _only_computes(interpreter: Interpreter, info: ClassInfo, method: Function) -> bool:
    running = _run_by(info, method)
    for each in running:
        # A method often calls the one that it overrides.
        for overridden in (known.attrs.get(each.info.name) for known in info.mro):
            # A method in ``found`` is there with all methods that it runs.
            if isinstance(overridden, Function) and all(overridden.info is not other.info for other in running):
                found = _run_by(info, overridden)
                running += [one for one in found if all(one.info is not other.info for other in running)]
    return not any(_sets(each) or works_on_the_host(interpreter, each) for each in running)


def is_of_tensors(interpreter: Interpreter, info: FunctionInfo, annotation: cst.Annotation | None) -> bool:
    """Whether an annotation of ``info`` promises a tensor, or None, and nothing else."""
    if annotation is None:
        return False
    promised = options(arguments.annotated_value(interpreter, info, annotation.annotation))
    return any(type(part) is Tensor for part in promised) and all(type(p) is Tensor or p == NONE for p in promised)


def _sets(method: Function) -> bool:
    """Whether a method sets an attribute of anything."""
    targets = (t.target for node in find(method.info.body, cst.Assign) for t in node.targets)
    called = (node.func for node in find(method.info.body, cst.Call))
    by_name = any(isinstance(func, cst.Name) and func.value == "setattr" for func in called)
    return by_name or any(isinstance(target, cst.Attribute) for target in targets)


def forward_parts(module: ModuleInfo, made: Callable[[ClassInfo], Instance]) -> Iterator[Function]:
    """Parts of a forward that a class of another package has: ``forward_features`` of a model that derives from it.

    ``made`` makes an object. A class of a trainer has no forward that would call such parts.
    """
    for _, value in defined(module):
        info = value.info if isinstance(value, Class) and value.info.module is module else None
        if info is None or has_forward(info) or info.derives(*STEPPED) or not _derives_from_a_model(info):
            continue
        for method in _methods(info):
            if method.info.name.startswith("forward_"):
                yield method.to(made(info))


def _derives_from_a_model(info: ClassInfo) -> bool:
    for name in info.externals:
        package, _, last = name.rpartition(".")
        of_torch = package.partition(".")[0] == "torch"
        if last in NOT_MODULES or last == "Module" or is_of_other_framework(name):
            continue
        if not of_torch or package.startswith("torch.nn"):
            return True
    return False


#: Bases of classes that are no modules.
NOT_MODULES = frozenset({"object", "Function", "ABC", "Protocol", "NamedTuple", "Enum", "InplaceFunction", "Generic"})


def has_forward(info: ClassInfo) -> bool:
    return any(isinstance(option, (Function, Compiled)) for option in options(info.lookup("forward") or UNKNOWN))


def objects_to_call(
    interpreter: Interpreter, module: ModuleInfo, public: frozenset[str], made: Callable[[ClassInfo], Instance]
) -> Iterator[Function]:
    """The ``__call__`` of the public classes that are no modules, as losses and metrics; ``made`` makes an object.

    Losses and metrics compare tensors, so they take more than one. Left out are classes that take one tensor or draw
    random numbers, which are often transforms of a data pipeline. Of a class whose ``__call__`` runs the ``forward``
    of its subclasses, it is the forward that shows what it takes.
    """
    for info in _plain_classes(module, public):
        called = info.lookup("__call__")
        if not isinstance(called, Function) or called.info.owner is None or _draws(info, called):
            continue
        running = _run_by(info, called)
        if any(works_on_the_host(interpreter, method) for method in running):
            continue
        instance = made(info)
        entries = (method.to(instance) for method in running if method is called or method.info.name == "forward")
        yield from islice((entry for entry in entries if len(_sure_tensors(interpreter, entry)) > 1), 1)


def methods_of_objects(
    interpreter: Interpreter, module: ModuleInfo, public: frozenset[str], made: Callable[[ClassInfo], Instance]
) -> Iterator[Function]:
    """The methods of the public classes that are no modules, and whose objects are not called, that only compute.

    They declare tensors alone, as those of a module beside its forward do, and draw no random numbers, as the
    transforms of a data pipeline do. ``made`` makes an object.
    """
    for info in _plain_classes(module, public):
        if info.lookup("__call__") is None and not info.lookup("forward"):
            methods = [m for m in _methods(info) if _computes(interpreter, info, m) and not _draws(info, m)]
            yield from (method.to(made(info)) for method in methods if method.info.name not in _TRAINING)


def _plain_classes(module: ModuleInfo, public: frozenset[str]) -> Iterator[ClassInfo]:
    """The public classes that are no modules."""
    for name, value in defined(module):
        info = value.info if isinstance(value, Class) and value.info.module is module else None
        if info is None or info.is_module or name not in public:
            continue
        if is_plain_class(info):
            yield info


def is_plain_class(info: ClassInfo) -> bool:
    """Whether a class, which is no module, is neither made with a model, as those are that explain or train it, nor
    derives from a class of another package, such as a pipeline.
    """
    return not _is_made_with_a_model(info) and all(each.partition(".")[0] in _OF_PYTHON for each in info.externals)


def _draws(info: ClassInfo, method: Function) -> bool:
    """Whether ``method``, or one of its class that it runs, draws random numbers."""
    return any(draws(node) for running in _run_by(info, method) for node in walk(running.info.body))


#: Modules of Python whose classes do not say what their subclasses are for.
_OF_PYTHON = ("builtins", "abc", "typing", "typing_extensions")


def _is_made_with_a_model(info: ClassInfo) -> bool:
    # The constructor of a base counts, too: a class of several attacks takes the attacks.
    made = [each.attrs.get("__init__") for each in info.mro]
    params = [p for init in made if isinstance(init, Function) for p in definitions.parameters(init.info.node.params)]
    types = [part for param in params if param.annotation is not None for part in walk(param.annotation)]
    names = [part.attr if isinstance(part, cst.Attribute) else part for part in types]
    return any(param.name.value == "model" for param in params) or any(
        isinstance(name, cst.Name) and name.value == "Module" for name in names
    )


def _run_by(info: ClassInfo, method: Function) -> list[Function]:
    """``method`` and the methods of its class that it, or one of them, names."""
    found = [method]
    for running in found:
        for node in walk(running.info.body):
            named = info.lookup(node.attr.value) if type(node) is cst.Attribute else None
            if isinstance(named, Function) and all(named.info is not known.info for known in found):
                found.append(named)
    return found


def _methods(info: ClassInfo) -> list[Function]:
    named = [v for name, v in info.attrs.items() if not name.startswith("_") or name in CALLED_BY_TORCH]
    methods = [value for value in named if isinstance(value, Function) and not value.info.markers & NO_METHODS]
    return [method for method in methods if not _is_coroutine(method)]


def _is_coroutine(function: Function) -> bool:
    """Whether a call only makes an object that an event loop runs, which nobody compiles: ``async def``."""
    return isinstance(function.info.node, cst.FunctionDef) and function.info.node.asynchronous is not None


#: Decorators whose functions are not called with an object.
NO_METHODS = frozenset({"staticmethod", "classmethod", "property", "cached_property"})


#: Nodes that begin another function or class.
_INNER = (cst.FunctionDef, cst.ClassDef, cst.Lambda)


#: Packages that draw pictures and scenes.
_DRAWING = frozenset(("bokeh", "mayavi", "open3d", "plotly", "pyvista", "seaborn", "trimesh", "vtk"))
#: Packages for what is done on the host, also with the samples of a dataset.
_OF_THE_HOST = HOST_PACKAGES | TRACKERS | _DRAWING | {package.rstrip(".") for package in DATASETS}
#: Methods that only code around a model calls, to load its inputs, to train, evaluate or profile it.
_AROUND_A_MODEL = ("pin_memory", "backward", "zero_grad", "eval", "train", "profile", "get_worker_info")
#: Methods that an argument is asked for which is an array, or gets its first values.
_OF_HOST_VALUES = FILLING | {"astype"}


def works_on_the_host(interpreter: Interpreter, function: Function) -> bool:
    """Whether ``function`` prepares, draws or converts data, or trains: its annotations name numpy's arrays or objects
    of packages such as pandas, it takes or makes an array, fills an argument with random numbers, uses such packages,
    makes datasets and loaders, or calls what only code around a model calls, such as `backward`. So does one that
    returns what such a function gives.
    """
    returned = (node.value for node in walk(function.info.body, stop=_INNER) if type(node) is cst.Return)
    called = (value.func.value for value in returned if type(value) is cst.Call and type(value.func) is cst.Name)
    given = (function.info.module.scope.names.get(name) for name in called)
    return any(_is_of_the_host(interpreter, one) for one in (function, *given) if isinstance(one, Function))


def _is_of_the_host(interpreter: Interpreter, function: Function) -> bool:
    info = function.info
    names = info.module.scope.names
    params = definitions.parameters(info.node.params)
    annotations = [param.annotation for param in params]
    taken = {param.name.value for param in params}
    if isinstance(info.node, cst.FunctionDef):
        annotations.append(info.node.returns)
    for annotation in annotations:
        if annotation is not None and any(map(partial(_names_the_host, names), find(annotation, cst.Name))):
            return True
    for node in walk(info.body):
        value = names.get(node.value) if type(node) is cst.Name else None
        called = node.func if type(node) is cst.Call else None
        if type(called) is cst.Attribute and called.attr.value in _AROUND_A_MODEL and not _is_own(info, called):
            return True
        if type(node) is cst.Call and (_is_array_of(node, taken) or _asks_a_host_value(node, taken)):
            return True
        used: tuple[str, ...] = (value.qualname,) if isinstance(value, External) else ()
        if type(node) is cst.Import or type(node) is cst.ImportFrom:
            used = import_names(interpreter, node)
        if any(within(name, _OF_THE_HOST) for name in used):
            return True
    return False


def _names_the_host(names: Mapping[str, Value], name: cst.Name) -> bool:
    """Whether a name in an annotation is numpy's array, or is in a package for what is done on the host."""
    value = names.get(name.value)
    return name.value == "ndarray" or (isinstance(value, External) and within(value.qualname, _OF_THE_HOST))


def _is_own(info: FunctionInfo, called: cst.Attribute) -> bool:
    """Whether ``self.backward`` is a method that the class of ``info`` defines and that is no module."""
    owner, of_self = info.owner, type(called.value) is cst.Name and called.value.value == "self"
    return of_self and owner is not None and not owner.is_module and owner.lookup(called.attr.value) is not None


def _asks_a_host_value(call: cst.Call, taken: set[str]) -> bool:
    """``rows.astype(int)`` or ``weight.normal_()`` of one of the names ``taken``."""
    func = call.func
    of_taken = type(func) is cst.Attribute and type(func.value) is cst.Name and func.value.value in taken
    return of_taken and func.attr.value in _OF_HOST_VALUES  # type: ignore[attr-defined]


def _is_array_of(call: cst.Call, taken: set[str]) -> bool:
    """``x.detach().cpu().numpy()`` of one of the names ``taken``."""
    called: list[str] = []
    node: cst.BaseExpression = call
    while type(node) is cst.Call and type(node.func) is cst.Attribute:
        called.append(node.func.attr.value)
        node = node.func.value
    return type(node) is cst.Name and node.value in taken and called[:1] == ["numpy"] and "cpu" in called


def takes_tensors(interpreter: Interpreter, function: Function) -> bool:
    """Whether a parameter of ``function`` is a tensor: by its annotation, or because it is used as only tensors are.

    A ``device`` alone makes no tensor: models, loaders and trainers have one, too.
    """
    found = _sure_tensors(interpreter, function)
    body = function.info.body
    params = definitions.parameters(function.info.node.params)
    annotated = {param.name.value for param in params if annotation_of(function.info, param) is not None}
    return bool(found - (uses(body)[0] - uses(body, TENSOR_EVIDENCE - OF_MODULES)[0] - annotated))


def _sure_tensors(interpreter: Interpreter, function: Function) -> set[str]:
    assumed = assumed_arguments(interpreter, function)
    # A tuple that the function unpacks may hold them.
    parts = {
        name: (*options(value), *(value.items or ())) if isinstance(value, Seq) else options(value)
        for name, value in assumed.items()
    }
    return {name for name, found in parts.items() if any(map(is_sure_tensor, found))}


def is_sure_tensor(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.info.is_tensor or value.info.is_record_of_tensors
    return isinstance(value, Tensor) and value.is_known
