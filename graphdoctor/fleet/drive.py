"""A fleet from its list to its rows: what is not in the store yet is scanned, and each result written as it comes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from graphdoctor.fleet import identity, on_ray, worker
from graphdoctor.fleet.store import NAME, opened
from graphdoctor.fleet.worker import PAGES
from graphdoctor.model.fleet import Limits, Result, Target

#: Gets each new result, its number, and how many there will be.
OnResult = Callable[[Result, int, int], None]
#: What becomes of a target on this machine, as ``worker.scan`` finds it out.
Scan = Callable[[Target, Sequence[str], Limits, Path, str, Event], Result]


@dataclass(frozen=True)
class Plan:
    """``options`` are given to each scan; ``again`` scans also what failed before, or all.

    ``ray`` is the address of a Ray cluster, or on_ray.LOCAL.
    """

    targets: Sequence[Target]
    options: tuple[str, ...]
    limits: Limits
    jobs: int = 1
    again: frozenset[str] = frozenset()
    ray: str | None = None


def run(plan: Plan, folder: Path, on_result: OnResult, scan: Scan = worker.scan) -> dict[str, Result]:
    """The results of the targets by name: those that the store of ``folder`` has, and those of new scans.

    ``scan`` is what each target on this machine is given to; by default ``graphdoctor scan``.
    Ctrl-C ends the scans under way and gives what there is by then. Raises BadStore, NoRay and OSError.
    """
    (folder / PAGES).mkdir(parents=True, exist_ok=True)
    with opened(folder / NAME) as store:
        known = store.results()
        keys = {target.name: identity.key(target, plan.options) for target in plan.targets}
        kept = {name for name, result in known.items() if _holds(result, keys.get(name), plan.again)}
        waiting = [target for target in plan.targets if target.name not in kept]
        found = _results(plan, waiting, keys, folder, scan)
        with contextlib.suppress(KeyboardInterrupt), contextlib.closing(found):
            for number, result in enumerate(found, 1):
                store.put(result)
                on_result(result, number, len(waiting))
        done = store.results()
    valid = {name: result for name, result in done.items() if result.key == keys.get(name)}
    return {target.name: valid[target.name] for target in plan.targets if target.name in valid}


def _holds(result: Result, key: str | None, again: frozenset[str]) -> bool:
    return result.key == key and result.outcome not in again


def _results(
    plan: Plan, waiting: Sequence[Target], keys: Mapping[str, str], folder: Path, scan: Scan
) -> Generator[Result, None, None]:
    """The results of new scans as they come."""
    if plan.ray is None:
        yield from _on_this_machine(plan, waiting, keys, folder, scan)
    elif waiting:
        yield from on_ray.results(plan.ray, waiting, plan.options, plan.limits, keys, folder, plan.jobs)


def _on_this_machine(
    plan: Plan, waiting: Sequence[Target], keys: Mapping[str, str], folder: Path, scan: Scan
) -> Iterator[Result]:
    stop = Event()
    with ThreadPoolExecutor(plan.jobs) as pool:
        try:
            started: list[Future[Result]] = [
                pool.submit(scan, target, plan.options, plan.limits, folder, keys[target.name], stop)
                for target in waiting
            ]
            for future in as_completed(started):
                yield future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
