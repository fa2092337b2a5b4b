"""The targets of a fleet as tasks of a Ray cluster: each runs where there is room, and again if its node was lost."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import graphdoctor
from graphdoctor.fleet import worker
from graphdoctor.fleet.worker import PAGES
from graphdoctor.model.fleet import Limits, Result, Target

#: A cluster of this machine alone, which ends with the fleet.
LOCAL = "local"

#: How often a task is started again whose process or node was lost.
_RETRIES = 3


class NoRay(Exception):
    """Ray is not installed, or the cluster cannot be reached; the text is one line."""


def results(
    address: str,
    targets: Sequence[Target],
    options: Sequence[str],
    limits: Limits,
    keys: Mapping[str, str],
    folder: Path,
    jobs: int,
) -> Iterator[Result]:
    """The results as they come. A cluster at ``address`` decides how many run at a time; LOCAL runs ``jobs``.

    The page of a target is made on its node and written here. Raises NoRay.
    """
    ray = _connected(address, jobs)
    try:
        task = ray.remote(_scanned)
        running = {
            task.options(num_cpus=1, num_gpus=_gpus(target, options), max_retries=_RETRIES, name=target.name).remote(
                target, tuple(options), limits, keys[target.name]
            ): target
            for target in targets
        }
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            target = running.pop(done[0])
            try:
                result, page = ray.get(done[0])
            except ray.exceptions.RayError as error:
                reason = str(error).strip().partition("\n")[0]
                yield Result(target.name, keys[target.name], "crashed", 0.0, 0, f"lost with its node: {reason}")
                continue
            if result.page:
                (folder / result.page).write_bytes(page)
            yield result
    finally:
        ray.shutdown()


def _connected(address: str, jobs: int) -> Any:
    """The module ``ray``, connected. Raises NoRay."""
    try:
        import ray
    except ImportError:
        raise NoRay("--ray needs ray, which is not installed here: pip install 'graphdoctor[ray]'") from None
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address == LOCAL:
            # Its processes have to find this graphdoctor; the nodes of a cluster have one of their own.
            paths = [str(Path(graphdoctor.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
            environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(paths)}}
            ray.init(num_cpus=jobs, include_dashboard=False, runtime_env=environment, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise NoRay(f"--ray {address}: {reason or type(error).__name__}") from None
    return ray


def _gpus(target: Target, options: Sequence[str]) -> int:
    """One GPU for a scan that is told to run on one."""
    words = (*target.arguments, *options)
    return int(any(word.startswith(("cuda", "--device=cuda")) for word in words))


def _scanned(target: Target, options: tuple[str, ...], limits: Limits, key: str) -> tuple[Result, bytes]:
    """On a node: the result, and its page."""
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as made:
        folder = Path(made)
        (folder / PAGES).mkdir()
        try:
            result = worker.scan(target, options, limits, folder, key, Event())
        except OSError as error:
            # The folder of the list is on no disk of this node, say.
            return Result(target.name, key, "failed", 0.0, 0, f"{error.filename or target.name}: {error.strerror}"), b""
        return result, (folder / result.page).read_bytes() if result.page else b""
