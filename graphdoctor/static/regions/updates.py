"""What changes an object that compiled code keeps: the ``update`` of a metric, and the ``step`` of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
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
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.offered import has_forward


def metrics(
    module: ModuleInfo, public: frozenset[str], made: Callable[[ClassInfo], Instance]
) -> Iterator[tuple[Function, Function]]:
    """``update`` and ``compute`` of each public metric of torchmetrics, which a call of the metric runs."""
    for name, value in defined(module):
        info = value.info if isinstance(value, Class) and value.info.module is module else None
        if info is not None and name in public and info.derives(*torch_tables.METRICS) and not has_forward(info):
            update, compute = info.lookup("update"), info.lookup("compute")
            if isinstance(update, Function) and isinstance(compute, Function):
                instance = made(info)
                yield update.to(instance), compute.to(instance)


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
