"""The child process: imports torch, then the user's file, runs the target, and writes results to a file descriptor.

Started by ``runner`` as ``main(request_file, descriptor)``. Standard output and error belong to the user's code.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.parent.channel import CRASHES, Channel, ending, moved_up
from graphdoctor.dynamic.parent.processes import adopt_orphans, die_with_parent
from graphdoctor.dynamic.parent.protocol import RunRequest, load_request
from graphdoctor.dynamic.worker.budget import Budget


def main(request_file: str, descriptor: int) -> None:
    """Run the request and exit."""
    crashes = Path(request_file).with_name(CRASHES)
    with ending(crashes):
        die_with_parent()
        adopt_orphans()
        faulthandler.enable(moved_up(os.open(crashes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)))
        channel = Channel(descriptor, crashes)
        request = load_request(Path(request_file).read_text(encoding="utf-8"))
        _work(request, channel, Path(request_file).parent)
        channel.send("end")


def serve(requests: str, descriptor: int) -> None:
    """Run the requests that come over the socket ``requests``, each in a fork.

    A request is the module whose ``main`` runs it with the name of its file, and the descriptor that its results go to.
    """
    die_with_parent()
    adopt_orphans()
    # What is imported stays, and the collector would look at it again and again.
    gc.disable()
    with temporary_files_in(Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).parent):
        from graphdoctor.dynamic.worker.startup import warm_up

        warm_up()
    gc.enable()
    channel = Channel(descriptor)
    with socket.socket(fileno=int(requests)) as request_socket:
        while True:
            request, descriptors, _, _ = socket.recv_fds(request_socket, 1 << 16, 1)
            if not descriptors:
                return
            pid = os.fork()
            if pid == 0:
                # The user's code must not reach the descriptors about forks and further requests.
                request_socket.close()
                channel.close()
                module, _, file = os.fsdecode(request).partition(":")
                importlib.import_module(module).main(file, descriptors[0])
            os.close(descriptors[0])
            _, status = os.waitpid(pid, 0)
            channel.send("gone", code=os.waitstatus_to_exitcode(status))


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """What is imported here makes its temporary files in ``folder``, which the parent removes: no exit handler runs.

    Older versions of torch make a folder where they are imported (torch/distributed/nn/jit/instantiator.py).
    """
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _work(request: RunRequest, channel: Channel, folder: Path) -> None:
    budget = Budget(request.timeout)
    channel.progress(stages.TORCH)
    # Without the collector, see ``server``.
    gc.disable()
    with temporary_files_in(folder):
        from graphdoctor.dynamic.worker.execution import execute

    gc.freeze()
    gc.enable()
    execute(request, channel, budget)
