"""Objects that are tensors, or are made of them as distributions are: compiled code reads their properties and calls
their methods.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import Class, Function, Instance, Tensor, Unknown, Value
from graphdoctor.static.interp import definitions, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.assumed_arguments import assumed_arguments
from graphdoctor.static.regions.declared import may_give_tensors
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.offered import (
    CALLED_BY_TORCH,
    is_plain_class,
    only_computes,
    takes_tensors,
)
from graphdoctor.static.regions.wrapped import innermost

#: Methods of distributions that take a value of theirs.
_OF_A_VALUE = ("log_prob", "cdf", "icdf")
#: Those that take the shape of a sample.
_DRAWING = ("sample", "rsample")


def parts_of_tensor_objects(
    interpreter: Interpreter, module: ModuleInfo, public: frozenset[str]
) -> Iterator[tuple[Function, dict[str, Value]]]:
    """The properties and methods of the public classes that are tensors, distributions or transforms of torch, or
    plain objects that hold tensors, such as the pose of a camera; each of an object that is made with tensors where it
    takes some, and what users pass.

    A distribution is also made in compiled code. Of plain objects these are the methods that only compute.
    """
    for name, value in defined(module):
        info = value.info if isinstance(value, Class) and value.info.module is module else None
        if info is None or name not in public or info.is_module:
            continue
        is_plain = info.holds_tensors and is_plain_class(info) and not _is_of_data(info)
        if not (info.is_tensor or _is_of_distributions(info) or is_plain):
            continue
        init = info.lookup("__init__")
        given = assumed_arguments(interpreter, init.to(Instance(info))) if isinstance(init, Function) else {}
        made = objects.instantiate(interpreter, info.node, Class(info), (), given)
        if not isinstance(made, Instance):
            continue
        if isinstance(init, Function) and _is_of_distributions(info) and any(map(_is_sure, given.values())):
            yield init.to(made), given
        for method in _methods(info):
            inside = innermost(method.to(made))
            if is_plain and not only_computes(interpreter, info, inside):
                continue
            if _computes(interpreter, inside) and may_give_tensors(interpreter, inside):
                yield method.to(made), _passed(interpreter, inside)


def _is_of_data(info: ClassInfo) -> bool:
    """Whether objects are samples, which a loader goes through, or train something."""
    named = ("__getitem__", "__iter__", "train", "fit", "step", "__call__", "forward")
    return any(info.lookup(name) is not None for name in named)


def _is_of_distributions(info: ClassInfo) -> bool:
    return any(base.startswith("torch.distributions.") for base in info.externals)


def _computes(interpreter: Interpreter, method: Function) -> bool:
    """Whether users may call ``method`` without more than tensors."""
    if method.info.name in (*_OF_A_VALUE, *_DRAWING) or takes_tensors(interpreter, method):
        return True
    names = [param.name.value for param in definitions.parameters(method.info.node.params)[1:]]
    return all(name in method.info.defaults for name in names)


def _is_sure(value: Value) -> bool:
    tensor = tensor_of(value)
    return tensor is not None and tensor.is_known


def _methods(info: ClassInfo) -> Iterator[Function]:
    """The public methods and properties of a class, also those that it inherits from scanned code."""
    for name in dict.fromkeys(name for known in info.mro for name in known.attrs):
        found = info.lookup(name)
        is_offered = name in CALLED_BY_TORCH or not (name.startswith("_") or "." in name)
        if is_offered and isinstance(found, Function) and not found.info.markers & {"staticmethod", "classmethod"}:
            yield found


def _passed(interpreter: Interpreter, method: Function) -> dict[str, Value]:
    """What users pass to ``method``: a distribution is asked for the probability of a tensor."""
    given = assumed_arguments(interpreter, method)
    first = next(iter(given), None)
    if method.info.name in _OF_A_VALUE and first is not None and type(given[first]) is Unknown:
        given[first] = Tensor(argument=True)
    return given
