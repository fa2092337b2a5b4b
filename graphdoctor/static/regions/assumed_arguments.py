"""The parameters of an entry that no call passes: by annotations, defaults, and how they are used."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.torch_tables import words
from graphdoctor.static.domain.value_functions import as_arguments, join, options
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Function,
    Mapping,
    PythonValue,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.interp import arguments, definitions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.argument_inference import described, described_as_numbers, keyed, unpacked, uses_of
from graphdoctor.static.regions.definitions import annotation_of, overridden
from graphdoctor.static.regions.flags import items_only_asked, keyed_items, option_tables
from graphdoctor.static.regions.passed_on import passed_on


def assumed_arguments(interpreter: Interpreter, function: Function) -> dict[str, Value]:
    """The parameters of an entry that no call passes: by annotations, then defaults, then how they are used."""
    info = function.info
    params = definitions.parameters(info.node.params)
    if function.bound is not None:
        params = params[1:]
    names = [p.name.value for p in params]
    # Only parameters without an annotation are judged by their use.
    tensors, numbers = uses_of(info) if any(p.annotation is None for p in params) else (set[str](), set[str]())
    open_names = {p.name.value for p in params if p.annotation is None} - tensors - numbers
    given = passed_on(interpreter, function, open_names)
    called = _is_called(info)
    if called:
        # A parameter without a default is a tensor by custom.
        given = {name for name in given[0] if info.defaults.get(name) == NONE}, given[1]
    tensors, numbers = tensors | given[0], numbers | given[1]
    if not called:
        tensors |= described(info.body) - numbers
    by_custom: set[str] = set()
    if called:
        passed = interpreter.reached.functions.get(id(info), {})
        numbers |= {name for name in names if _is_number(name) or not passed.get(name, set()) <= _NO_NUMBERS}
        by_custom = set(names) - numbers - _described_as_numbers(info)
    found = {
        name: _assumed(interpreter, info, p, name in tensors, name in by_custom)
        for name, p in zip(names, params, strict=True)
    }
    if names and names[0] in by_custom and _is_plain_dict(params[0].annotation):
        found[names[0]] = Mapping((), BY_CUSTOM)
    if any(_is_by_custom(value) for value in found.values()):
        mappings = keyed(info.body)
        if any(type(value) is Tensor and name not in mappings for name, value in found.items()):
            # Beside a tensor, what is read for numbers and flags alone is no batch.
            found |= {n: UNKNOWN for n in option_tables(info.body) if _is_by_custom(found.get(n, UNKNOWN))}
        # What comes behind the batch may be a table of options.
        flags = items_only_asked(info.body) if mappings & set(names[1:]) else set[tuple[str, str]]()
        inner = keyed_items(info.body, mappings) if mappings else set[tuple[str, str]]()
        for name in mappings & found.keys():
            if _is_by_custom(found[name]):
                # By custom a batch holds tensors, and mappings of them.
                items: dict[str, Value] = {key: UNKNOWN for owner, key in sorted(flags) if owner == name != names[0]}
                items |= {key: Mapping((), found[name]) for owner, key in sorted(inner) if owner == name}
                found[name] = Mapping(tuple(items.items()), found[name])
    if any(type(value) is Unknown for value in found.values()):
        found |= {n: _tuple_of(parts) for n, parts in unpacked(info.body).items() if type(found.get(n)) is Unknown}
    return found


def _described_as_numbers(info: FunctionInfo) -> set[str]:
    """The names that the docstring of a function calls numbers, or that of a method that it overrides."""
    of_bases = (described_as_numbers(known.body) - described(info.body) for known in overridden(info))
    return described_as_numbers(info.body).union(*of_bases)


def _tuple_of(parts: list[tuple[str, bool]]) -> Value:
    """What a function unpacks into ``parts``: names, and whether they are tensors."""
    return Seq("tuple", tuple(Tensor(argument=True) if is_tensor else UNKNOWN for _, is_tensor in parts))


#: The arguments of a forward of which nothing is known.
BY_CUSTOM = Tensor(is_known=False, argument=True)


def _is_plain_dict(annotation: cst.Annotation | None) -> bool:
    """Whether an annotation is ``dict`` without types, as that of the batch that a forward gets."""
    named = annotation.annotation if annotation is not None else None
    return isinstance(named, cst.Name) and named.value in ("dict", "Dict")


def _is_called(info: FunctionInfo) -> bool:
    """Whether calling an object passes its arguments to ``info``: a forward, or a method that a forward calls.

    That is ``update`` of a metric, what a trainer calls, or what the forward of a base in another package calls.
    """
    if info.owner is None or info.name == "forward":
        return info.name == "forward"
    metric = info.name == "update" and info.owner.derives(*torch_tables.METRICS)
    step = info.name in torch_tables.STEPS and info.owner.derives(*torch_tables.STEPPED)
    return metric or step or (info.name.startswith("forward_") and info.owner.lookup("forward") is None)


def _is_by_custom(value: Value) -> bool:
    return isinstance(value, Tensor) and not value.is_known


def _assumed(interpreter: Interpreter, info: FunctionInfo, param: cst.Param, evident: bool, by_custom: bool) -> Value:
    name = param.name.value
    default = info.defaults.get(name)
    annotation = annotation_of(info, param)
    if annotation is not None:
        declaring, written = annotation
        declared = arguments.annotated_value(interpreter, declaring, written.annotation)
        if not isinstance(declared, Unknown):
            assumed = as_arguments(_without_arrays(declared))
            return join(assumed, NONE) if default == NONE else assumed
        if declaring is info:
            return UNKNOWN
    if default is None:
        return replace(BY_CUSTOM, is_known=evident) if evident or by_custom else UNKNOWN
    if default == NONE:
        return join(Tensor(argument=True), NONE) if evident else UNKNOWN
    if isinstance(default, Const):
        return PythonValue(type(default.value).__name__)
    return UNKNOWN


def _without_arrays(declared: Value) -> Value:
    """``value`` without numpy arrays where it may be a tensor: compiled code gets the tensor."""
    parts = options(declared)
    if not any(isinstance(part, Tensor) and not part.numpy for part in parts):
        return declared
    return join(*(part for part in parts if not (isinstance(part, Tensor) and part.numpy)))


#: Kinds of values beside which an argument may be a tensor.
_NO_NUMBERS = {Tensor, Unknown, type(None)}

#: Names of forward's arguments that are Python values by custom.
_NOT_TENSORS = words(
    """
    config mode kwargs args idx name step batch_idx layer_idx size shape shapes epoch epochs current_epoch cur_epoch
    max_epochs global_step current_step cur_step total_steps max_steps it iter itr iteration iterations max_len
    max_length seed verbose
    """
)
#: Counts, and flags.
_NOT_TENSOR_PREFIXES = ("num_", "n_", "return_", "use_")


def _is_number(name: str) -> bool:
    return name in _NOT_TENSORS or name.startswith(_NOT_TENSOR_PREFIXES) or name.endswith(("_size", "_shape"))
