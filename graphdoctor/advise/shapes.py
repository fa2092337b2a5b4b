"""Ways to treat changing sizes, counted on the file's variants. Runs in the worker."""

from __future__ import annotations

from collections.abc import Sequence

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.recompiles import compiled_calls, sweep
from graphdoctor.dynamic.recompiles.compiled_calls import Call, Remedy
from graphdoctor.dynamic.recompiles.remedies import DYNAMIC, mark_sizes, padding, sizes
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Target
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.model.advice import Shapes
from graphdoctor.model.benchmark import Mode


def strategies(target: Target, mode: Mode, places: Places) -> tuple[Shapes, ...]:
    """dynamic=None, mark_dynamic, dynamic=True and one bucket, fewest compilations first.

    Empty where the file declares no variants, or where no size differs between them.
    """
    found: list[Shapes] = []
    for plan in sweep.variants(target):
        backend = CountingBackend()
        calls = compiled_calls.run(target, mode, backend, plan.steps)
        varying = sizes(calls)
        if not varying:
            continue
        found.append(Shapes("`torch.compile(model)`: sizes become dynamic when they change", backend.graphs))
        bucket = padding({key: values for key, values in varying.items() if key[1] > 0})
        for remedy in (mark_sizes("mark_dynamic", varying), DYNAMIC, bucket):
            if remedy is not None:
                found.append(_counted(target, mode, places, plan, remedy, calls))
    return tuple(sorted(found, key=_order))


def _counted(
    target: Target, mode: Mode, places: Places, plan: sweep.Plan, remedy: Remedy, before: Sequence[Call]
) -> Shapes:
    backend = CountingBackend()
    try:
        after = compiled_calls.run(target, mode, backend, plan.steps, [remedy])
    except Exception as error:
        return Shapes(remedy.text, None, fault_of(error, places, "with it").detail)
    if compiled_calls.breaks_graph(after, before):
        return Shapes(remedy.text, None, "it breaks the graph")
    return Shapes(remedy.text, backend.graphs)


def _order(shapes: Shapes) -> tuple[bool, int]:
    return shapes.compilations is None, shapes.compilations or 0
