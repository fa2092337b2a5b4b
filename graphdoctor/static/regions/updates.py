"""What changes an object that compiled code keeps: the ``update`` of a metric, and the ``step`` of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Mapping,
    Seq,
    Tensor,
    Value,
)
from graphdoctor.static.interp import definitions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.assumed_arguments import assumed_arguments
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.offered import has_forward, is_plain_class
from graphdoctor.static.regions.wrapped import Arguments, arguments_for, innermost


def metrics(
    interpreter: Interpreter,
    module: ModuleInfo,
    public: frozenset[str],
    made: Callable[[ClassInfo], Instance],
) -> Iterator[tuple[tuple[Function, Arguments | tuple[None, None]], Function]]:
    """``update``, with its arguments, and ``compute`` of each public metric: those of torchmetrics, whose call runs
    both, and of classes that the package made in the same way, with a ``reset``.
    """
    for name, value in defined(module):
        info = value.info if isinstance(value, Class) and value.info.module is module else None
        if info is None or name not in public or has_forward(info):
            continue
        update, compute = info.lookup("update"), info.lookup("compute")
        if not isinstance(update, Function) or not isinstance(compute, Function):
            continue
        if info.derives(*torch_tables.METRICS):
            instance = made(info)
            yield (update.to(instance), (None, None)), compute.to(instance)
        elif not info.is_module and isinstance(info.lookup("reset"), Function) and is_plain_class(info):
            inside = innermost(update.to(Instance(info)))
            passed = assumed_arguments(interpreter, inside)
            if any(map(_holds_tensors, passed.values())):
                instance = made(info)
                yield (update.to(instance), arguments_for(update.to(instance), passed)), compute.to(instance)


def _holds_tensors(value: Value) -> bool:
    """Whether an argument is surely a tensor, or a sequence of tensors by its annotation."""
    if isinstance(value, Seq):
        return any(isinstance(part, Tensor) for part in value.items or (value.element,))
    return any(isinstance(option, Tensor) and option.is_known for option in options(value))


def steps(
    module: ModuleInfo, public: frozenset[str], made: Callable[[ClassInfo], Instance]
) -> Iterator[tuple[Function, dict[str, Value]]]:
    """The ``step`` of each public optimizer, without a closure; ``made`` makes an object.

    Its base keeps the parameters in groups.
    """
    for name, value in defined(module):
        info = value.info if isinstance(value, Class) and value.info.module is module else None
        step = (
            info.lookup("step")
            if info is not None and name in public and info.derives(*torch_tables.OPTIMIZERS)
            else None
        )
        if info is not None and isinstance(step, Function):
            instance = made(info)
            group = Mapping((("params", Seq("list", None, Tensor("float", owned=True))),), UNKNOWN)
            instance.attrs["param_groups"] = Seq("list", None, group)
            instance.attrs["state"] = Mapping((), Mapping((), UNKNOWN))
            closure = definitions.parameters(step.info.node.params)[1:2]
            yield step.to(instance), {param.name.value: NONE for param in closure}
