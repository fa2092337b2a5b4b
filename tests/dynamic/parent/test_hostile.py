"""Users' files that do their worst: each scan ends with a report that has what the source shows, and one line of the run.

The scans are real ones; they share the process that imports torch.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphdoctor.api import ScanOptions, scan
from graphdoctor.dynamic.parent import runner
from graphdoctor.report.formats import FORMATS, render

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes as on POSIX")

#: ``{top}`` runs at import, ``{forward}`` in the model. The finding stands in the line with the print.
FILE = """\
import atexit, builtins, ctypes, gc, json, logging, os, resource, signal, stat, subprocess, sys, threading, time
import warnings
import torch

RUN = {"target": "f", "mode": "eval", "device": "cpu", "outcome": "ok", "graphs": 1}


def say(data):
    "Write to all pipes but standard output and error: to the one that the results go to."
    for number in range(3, 1024):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(number, data)
        except OSError:
            pass


def tell(kind, **data):
    say(json.dumps({"kind": kind, **data}).encode() + b"\\n")


{top}


def f(x):
    print("forward")
{forward}
    return x + 1


def graphdoctor_target():
    return f, (torch.ones(3),)
"""


@dataclass(frozen=True)
class Script:
    """``outcome`` is that of the run; ``says`` is part of its detail. ``timeout`` is in seconds."""

    outcome: str
    says: str
    top: str = ""
    forward: str = ""
    timeout: float = 90

    @property
    def text(self) -> str:
        """The file."""
        forward = "\n".join(f"    {line}" for line in self.forward.splitlines())
        return FILE.replace("{top}", self.top).replace("{forward}", forward)


_LOST = "the code closed or replaced the descriptor of the results"
#: Half a GiB more than the process has.
_LIMIT = (
    "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + (1 << 29)\n"
    "resource.setrlimit(resource.RLIMIT_AS, (size, size))"
)
_DAEMON = "subprocess.Popen(['sleep', '600'], start_new_session=True, env={})"

SCRIPTS: dict[str, Script] = {
    # What the parent is told; what is no message at all is in test_protocol
    "writes garbage to the pipe": Script("crashed", "which is not JSON", r"say(b'\x00\xff\x1b[2J\n')"),
    "sends a run with a text for a number": Script(
        "crashed", "run.graphs must be a number", "tell('run', run={**RUN, 'graphs': '1'}, complete=True)"
    ),
    "sends a run that counts to NaN": Script(
        "crashed", "run.graphs must be a number", "tell('run', run={**RUN, 'graphs': float('nan')}, complete=True)"
    ),
    "sends a run of no known mode": Script(
        "crashed", "run.mode must be one of", "tell('run', run={**RUN, 'mode': 'both'}, complete=True)"
    ),
    "sends the end before there is a run": Script("crashed", "said that it was done, and was not", "tell('end')"),
    "sends a part of a message and dies": Script(
        "exited", "the process ended with code 0", 'say(b\'{"kind": "run"\')\nos._exit(0)'
    ),
    "sends a message without an end": Script(
        "crashed", "a message of more than 64 MiB", "while True: say(b'x' * 65536)"
    ),
    "sends a run of its own, with places that do not exist": Script(
        "ok",
        "",
        "place = {'path': 'user.py', 'line': 10**9, 'column': -5, 'function': '\\x1b[2J', 'reason': 'r'}\n"
        "tell('run', run={**RUN, 'breaks': [{**place, 'gb_id': None, 'gb_type': None}]}, complete=True)\n"
        "tell('end')\nos._exit(0)",
    ),
    "sends a run of its own, with places before the file": Script(
        "ok",
        "",
        "place = {'path': '', 'line': -(10**9), 'column': 0, 'function': '', 'reason': '', 'owner': 'torch'}\n"
        "tell('run', run={**RUN, 'breaks': [{**place, 'gb_id': 'GB', 'gb_type': ''}], 'executed': {'': [-1]}}, "
        "complete=True)\ntell('end')\nos._exit(0)",
    ),
    # Descriptors
    "closes all descriptors and opens a file": Script(
        "exited",
        _LOST,
        "os.closerange(3, 65536)\nkept = [open(os.path.join(os.path.dirname(__file__), f'{i}.txt'), 'w') for i in range(300)]",
    ),
    "puts a file in the place of every descriptor": Script(
        "exited",
        _LOST,
        "handle = os.open(os.path.join(os.path.dirname(__file__), '0.txt'), os.O_WRONLY | os.O_CREAT)\n"
        "for number in range(3, 1024):\n    if number != handle: os.dup2(handle, number)",
    ),
    "closes the standard descriptors": Script("ok", "", "os.closerange(0, 3)"),
    "makes every descriptor non-blocking": Script(
        "ok", "", "for number in range(1024):\n    try: os.set_blocking(number, False)\n    except OSError: pass"
    ),
    "replaces the standard streams by objects that raise": Script(
        "raised", "AttributeError", "class Raises:\n    pass", "sys.stdout = sys.stderr = Raises()\nprint('x')"
    ),
    # How the process ends
    "is killed by a signal": Script("crashed", "killed by SIGABRT", "", "os.abort()"),
    # A small one: from Python 3.12 on, calls from C may not be so deep that they fill the usual one.
    "overflows the stack": Script(
        "crashed",
        "killed by SIGSEGV",
        "",
        "resource.setrlimit(resource.RLIMIT_STACK, (1 << 16,) * 2)\nsys.setrecursionlimit(10**9)\n"
        "g = ctypes.CFUNCTYPE(None)(lambda: g())\ng()",
    ),
    "kills the process that started it": Script(
        "crashed", "killed by SIGKILL", "os.kill(os.getppid(), signal.SIGKILL)"
    ),
    "ends the process in a thread": Script(
        "exited", "code 9", "", "threading.Thread(target=os._exit, args=(9,)).start()\ntime.sleep(60)"
    ),
    "exits in an exit handler": Script("ok", "", "atexit.register(os._exit, 5)"),
    "leaves a thread that never ends": Script("ok", "", "threading.Thread(target=time.sleep, args=(600,)).start()"),
    "leaves a child in a session of its own": Script("ok", "", _DAEMON),
    "leaves a child that prints for ever": Script("ok", "", "subprocess.Popen(['yes'])"),
    "leaves a child that writes to the pipe": Script(
        "crashed",
        "which is not JSON",
        # The run goes on when the child has written once.
        "told, tell_parent = os.pipe()\nif os.fork() == 0:\n    while True:\n        say(b'garbage')\n"
        "        os.write(tell_parent, b'!')\n        time.sleep(0.1)\nwhile b'!' not in os.read(told, 4096): pass",
    ),
    "multiplies by spawning": Script(
        "ok",
        "",
        "import multiprocessing\nmultiprocessing.get_context('spawn').Process(target=time.sleep, args=(600,)).start()",
    ),
    # What takes for ever
    "holds the lock of the interpreter": Script(
        "timeout", "no result after 4 s", "", "ctypes.PyDLL(None).sleep(600)", timeout=4
    ),
    "ignores signals and sleeps": Script(
        "timeout",
        "no result after 4 s",
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)",
        "time.sleep(600)",
        timeout=4,
    ),
    # Exceptions
    "raises KeyboardInterrupt": Script("raised", "KeyboardInterrupt in eager", "", "raise KeyboardInterrupt"),
    "raises GeneratorExit at import": Script("raised", "GeneratorExit at import", "raise GeneratorExit"),
    "exits with an object that cannot be shown": Script(
        "exited",
        "sys.exit(...) in eager",
        "class Code:\n    def __repr__(self): raise SystemExit(1)",
        "sys.exit(Code())",
    ),
    "raises what cannot be shown": Script(
        "raised",
        "Odd in eager: no message",
        "class Odd(BaseException):\n    def __str__(self): raise KeyboardInterrupt\n    __repr__ = __str__",
        "raise Odd",
    ),
    "raises a message of 100 MB": Script("raised", "ValueError in eager: xxx", "", "raise ValueError('x' * 10**8)"),
    "raises control characters": Script("raised", "ValueError in eager", "", r"raise ValueError('\x1b[2J\x07\u202e')"),
    "raises in __del__ and in a hook of exceptions": Script(
        "raised",
        "ValueError in eager: no",
        "class Bad:\n    def __del__(self): sys.exit(3)\nsys.excepthook = lambda *_: os._exit(7)",
        "Bad()\nraise ValueError('no')",
    ),
    "recurses without an end": Script("raised", "RecursionError in eager", "def g(x): return g(x)", "g(x)"),
    "asks for more memory than there is": Script(
        "raised", "out of memory in eager: 4,194,304.0 GiB more were asked for", "", "torch.empty(1 << 50)"
    ),
    "needs more memory than there is": Script(
        "raised", "in f); a batch of 1 fits, where the sample has 3", _LIMIT, "x.repeat(1 << 26)"
    ),
    "builds more than there is memory for": Script(
        "raised",
        "in <module>); --shrink 1 runs it with fewer blocks, and weights that take no memory while it is built",
        "torch.empty(1 << 50)",
    ),
    "needs more memory when it is compiled": Script(
        "raised",
        "); a batch of 1 fits, where the sample has 3",
        _LIMIT,
        "if torch.compiler.is_compiling(): x = x.repeat(1 << 26)[:3]",
    ),
    "asks a question": Script("raised", "EOFError in eager", "", "input('Delete everything? ')"),
    # What it does to Python
    "takes functions of os and json away": Script(
        "raised",
        "TypeError under torch.compile",
        "os.write = os._exit = os.getpid = os.fstat = json.dumps = json.JSONEncoder = None",
    ),
    "turns time back": Script("ok", "", "time.time = time.monotonic = time.perf_counter = lambda: -1.0"),
    "takes builtins away": Script("exited", "TypeError", "builtins.len = builtins.isinstance = builtins.print = None"),
    "makes torch raise": Script("exited", "AttributeError", "del torch._dynamo.reset, torch.compile"),
    "empties the table of modules": Script("exited", "AttributeError", "", "sys.modules.clear()"),
    "allows no recursion": Script(
        "raised", "RecursionError", "", "sys.setrecursionlimit(60)\n(lambda: torch.rand(1))()"
    ),
    "traces and profiles with functions that raise": Script(
        "raised", "RuntimeError at import: traced", "def no(*_): raise RuntimeError('traced')\nsys.setprofile(no)"
    ),
    "makes errors of warnings and shuts logging down": Script(
        "ok", "", "warnings.simplefilter('error')\nlogging.disable()\nlogging.shutdown()"
    ),
    "turns the collector off": Script("ok", "", "gc.disable()\ngc.freeze()"),
    "takes the import path, the environment and the arguments away": Script(
        "ok", "", "sys.path.clear()\nos.environ.clear()\nsys.argv = None"
    ),
    "prints bytes that are no text, without an end of line": Script("ok", "", r"os.write(1, b'\xff\x1b[2J' * 10**6)"),
    # What it does to the system
    "deletes its working folder and allows others nothing": Script(
        "ok",
        "",
        "os.makedirs(d := os.path.join(os.path.dirname(__file__), 'gone'))\nos.chdir(d)\nos.rmdir(d)\nos.umask(0o777)",
    ),
    "deletes the folder of the worker": Script(
        "ok", "", "import shutil\nshutil.rmtree(os.path.dirname(os.environ['TORCHINDUCTOR_CACHE_DIR']))"
    ),
    "puts a pipe in the place of what the worker writes": Script(
        "exited",
        "code 6",
        "os.chdir(os.path.dirname(os.environ['TORCHINDUCTOR_CACHE_DIR']))\n"
        "for name in ('request.json', 'crash.txt'):\n    os.unlink(name)\n    os.mkfifo(name)\nos._exit(6)",
    ),
    "fails with a message of many lines": Script(
        "raised", "first", r"tell('failed', outcome='raised', detail='\nfirst\n\x1b[2J' * 10_000)" "\ntell('end')"
    ),
    "deletes its own file": Script("ok", "", "os.unlink(__file__)"),
    "writes over its own file": Script("ok", "", r"open(__file__, 'wb').write(b'\0')"),
    "allows itself no files": Script(
        "raised", "Too many open files", "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[runner.Server]:
    with runner.Server() as shared:
        yield shared


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_report_has_what_the_source_shows(
    name: str, tmp_path: Path, server: runner.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = SCRIPTS[name]
    file = tmp_path / "user.py"
    file.write_text(script.text, encoding="utf-8")
    monkeypatch.setattr(runner, "Server", lambda: contextlib.nullcontext(server))
    # The driver of a GPU has pipes of its own, and who writes to one that nobody reads waits for ever.
    device = "cpu" if name == "sends a message without an end" else "auto"
    options = ScanOptions(
        paths=(str(file),), run=True, verify=False, timeout=script.timeout, isolated=True, device=device
    )
    diagnosis = scan(options)
    line = script.text.splitlines().index('    print("forward")') + 1
    assert ("GD101", line) in [(finding.rule, finding.location.line) for finding in diagnosis.findings]
    assert diagnosis.dynamic is not None
    (run,) = diagnosis.dynamic
    assert (run.outcome, script.says in run.detail) == (script.outcome, True), run.detail
    assert len(run.detail.splitlines()) <= 1
    for written in tmp_path.glob("*.txt"):
        assert written.read_bytes() == b""
    for format_ in FORMATS:
        shown = render(diagnosis, format_)
        assert shown.isprintable() or not set("\x1b\x07\u202e") & set(shown)
        assert len(shown) < 400_000
    assert json.loads(render(diagnosis, "json"))["findings"]


@pytest.mark.parametrize(
    "later", ["tell('end')", "say(b'x\\n')", "os._exit(3)", "raise SystemExit", "os.closerange(3, 9999)"]
)
def test_what_goes_wrong_in_the_proof_alone_costs_the_proof(
    later: str, tmp_path: Path, server: runner.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    top = f"if os.path.exists({str(seen)!r}):\n    {later}\nopen({str(seen)!r}, 'w').close()"
    file = tmp_path / "user.py"
    file.write_text(Script("ok", "", top).text, encoding="utf-8")
    monkeypatch.setattr(runner, "Server", lambda: contextlib.nullcontext(server))
    diagnosis = scan(ScanOptions(paths=(str(file),), run=True, isolated=True, mode="eval", timeout=90))
    assert diagnosis.dynamic is not None and diagnosis.dynamic[0].outcome == "ok"
    (finding,) = [finding for finding in diagnosis.findings if finding.rule == "GD101"]
    assert finding.fix is None or finding.fix.grade in ("none", "not-verified")
    for format_ in FORMATS:
        assert render(diagnosis, format_)
