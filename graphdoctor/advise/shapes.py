"""Ways to treat changing sizes, counted on the file's variants. Runs in the worker."""

from __future__ import annotations

from collections.abc import Sequence

from graphdoctor.advise.model import Shapes
from graphdoctor.bench.model import Mode
from graphdoctor.dynamic import sequence, sweep
from graphdoctor.dynamic.backend import CountingBackend
from graphdoctor.dynamic.places import Places
from graphdoctor.dynamic.remedies import DYNAMIC, mark_sizes, padding, sizes
from graphdoctor.dynamic.sequence import Remedy
from graphdoctor.dynamic.target import Target
from graphdoctor.dynamic.userfault import fault_of


def strategies(target: Target, mode: Mode, places: Places) -> tuple[Shapes, ...]:
    """dynamic=None, mark_dynamic, dynamic=True and one bucket, fewest compilations first.

    Empty where the file declares no variants, or where no size differs between them.
    """
    found: list[Shapes] = []
    for plan in sweep.variants(target):
        backend = CountingBackend()
        calls = sequence.run(target, mode, backend, plan.steps)
        varying = sizes(calls)
        if not varying:
            continue
        found.append(Shapes("`torch.compile(model)`: sizes become dynamic when they change", backend.graphs))
        bucket = padding({key: values for key, values in varying.items() if key[1] > 0})
        for remedy in (mark_sizes("mark_dynamic", varying), DYNAMIC, bucket):
            if remedy is not None:
                found.append(_counted(target, mode, places, plan, [remedy]))
    return tuple(sorted(found, key=_order))


def _counted(target: Target, mode: Mode, places: Places, plan: sweep.Plan, remedies: Sequence[Remedy]) -> Shapes:
    backend = CountingBackend()
    try:
        sequence.run(target, mode, backend, plan.steps, remedies)
    except Exception as error:
        return Shapes(remedies[0].text, None, fault_of(error, places, "with it").detail)
    return Shapes(remedies[0].text, backend.graphs)


def _order(shapes: Shapes) -> tuple[bool, int]:
    return shapes.compilations is None, shapes.compilations or 0
