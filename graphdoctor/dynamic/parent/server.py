"""A worker process that stays: torch is imported once, and each request runs in a fork of it.

A scan takes a run of the code and one for each set of fixes, and on a small model most of a run is the import of torch.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType

import graphdoctor
from graphdoctor.dynamic.parent.channel import CRASHES
from graphdoctor.dynamic.parent.processes import MARKER, Tree, adopt_orphans

# The empty entry of sys.path (the user's folder) must go before anything is imported. The tool's own folder comes last:
# it is needed only where graphdoctor runs from a source tree.
# Imports make many objects that stay, and looking at them again and again takes a fifth of the start.
_START = """
import gc, importlib, sys
gc.disable()
sys.path[:] = [p for p in sys.path if p]
sys.path.append(sys.argv[1])
entry = importlib.import_module("{module}").{entry}
gc.freeze()
gc.enable()
entry(sys.argv[2], int(sys.argv[3]))
"""


#: The module that runs what a scan asks for.
WORKER = "graphdoctor.dynamic.worker.worker"
#: Seconds in which a server says that a fork which was killed is gone.
_AT_ONCE = 2.0
#: Bytes that are read from a pipe at once, and how often for what the fork had printed.
_CHUNK = 1 << 16
_LEFT = 64


class Process:
    """A running worker: ``results`` is where it writes its messages, ``tree`` finds all processes it started.

    It runs the function ``entry`` of ``module`` with ``argument`` and the descriptor of its results. ``variables`` are
    those of its environment that the user has not set.
    """

    def __init__(
        self,
        entry: str,
        argument: str,
        folder: Path,
        pass_fds: tuple[int, ...] = (),
        module: str = WORKER,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.folder = folder
        #: The file of the request, and the file for a message about its crash.
        self.request, self.crashes = folder / "request.json", folder / CRASHES
        self.results, to_parent = os.pipe()
        marker = uuid.uuid4().hex
        adopt_orphans()
        tool = str(Path(graphdoctor.__file__).parents[1])
        self.popen = subprocess.Popen(
            [sys.executable, "-c", _START.format(module=module, entry=entry), tool, argument, str(to_parent)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(to_parent, *pass_fds),
            start_new_session=True,
            env={**variables, **os.environ, **_variables(marker, folder)},
        )
        os.close(to_parent)
        self.tree = Tree(self.popen.pid, marker)

    def says_gone(self, seconds: float) -> bool:
        """Whether a server says within ``seconds`` that its fork has ended. What that had printed is dropped."""
        said, deadline = b"", time.monotonic() + seconds
        assert self.popen.stdout is not None
        with selectors.DefaultSelector() as selector:
            for stream in (self.results, self.popen.stdout.fileno()):
                os.set_blocking(stream, False)
                selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in said and (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        return False
                    said += data if key.fd == self.results else b""
        with suppress(BlockingIOError):
            for _ in range(_LEFT):
                os.read(self.popen.stdout.fileno(), _CHUNK)
        return b"\n" in said

    def stop(self) -> None:
        """Kill the whole tree and close the pipes."""
        try:
            self.tree.kill()
            self.popen.wait()
        finally:
            adopt_orphans(False)
            os.close(self.results)
            if self.popen.stdout is not None:
                self.popen.stdout.close()


@dataclass(frozen=True)
class Job:
    """A request that is run: by ``process``, or in a fork of it, whose end ``control`` reports.

    ``results`` and ``control`` are descriptors.
    """

    process: Process
    results: int
    control: int | None = None

    @staticmethod
    def alone(process: Process) -> Job:
        """The request that ``process`` was started for."""
        return Job(process, process.results)

    def close(self) -> None:
        """Stop reading from it: processes that the code left behind can write to nobody."""
        if self.control is not None:
            os.close(self.results)


#: For a worker that measures no times. Threads that wait for work by spinning take a fifth of the CPU on small models.
PATIENT = MappingProxyType({"OMP_WAIT_POLICY": "PASSIVE"})


class Server:
    """Starts the server process with ``start`` or the first request, and again after one was killed.

    ``variables`` are those of its environment that the user has not set.
    """

    def __init__(self, variables: Mapping[str, str] = PATIENT) -> None:
        self._variables = variables
        self._process: Process | None = None
        self._requests: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._folder is not None:
            self._folder.cleanup()

    def start(self) -> Process:
        """Have torch imported while the caller does something else. Raises OSError where no process can be started."""
        if self._process is None or self._process.popen.poll() is not None:
            self.stop()
            self._process = self._started()
        return self._process

    def begin(self, request: str, module: str = WORKER) -> Job:
        """Have ``request``, the text of a file that ``main`` of ``module`` reads, run in a fork with a pipe of its own.

        Raises OSError where the process cannot be started, or takes no request.
        """
        process = self.start()
        assert self._requests is not None
        # The code of an earlier request may have been here.
        process.folder.mkdir(exist_ok=True)
        for file in (process.request, process.crashes):
            file.unlink(missing_ok=True)
        process.request.write_text(request, encoding="utf-8")
        results, to_parent = os.pipe()
        try:
            socket.send_fds(self._requests, [os.fsencode(f"{module}:{process.request}")], [to_parent])
        except OSError:
            os.close(results)
            raise
        finally:
            os.close(to_parent)
        return Job(process, results, process.results)

    def end(self, begun: bool) -> None:
        """End the fork that runs a request, with what it and those before it left behind.

        The server stays, so that the next request does not import torch again; where it does not say at once that the
        fork is gone, it ends as well. So it does where the request has not ``begun``: there is no fork to end yet, and
        it would still be run.
        """
        if not begun:
            self.stop()
        elif self._process is not None:
            self._process.tree.kill_descendants()
            if not self._process.says_gone(_AT_ONCE):
                self.stop()

    def stop(self) -> None:
        """Leave no process behind."""
        if self._process is not None:
            if self._requests is not None:
                self._requests.close()
            self._process.stop()
            self._process = None

    def _started(self) -> Process:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True)
        # A request comes with the descriptor of its pipe, and none before the last one is done.
        self._requests, to_worker = socket.socketpair()
        try:
            number = to_worker.fileno()
            return Process("serve", str(number), Path(self._folder.name), (number,), variables=self._variables)
        finally:
            to_worker.close()


def _variables(marker: str, folder: Path) -> dict[str, str]:
    return {
        MARKER: marker,
        "PYTHONDONTWRITEBYTECODE": "1",
        # A million printed lines are quick only when they are buffered; the empty text switches the option off.
        "PYTHONUNBUFFERED": "",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }
