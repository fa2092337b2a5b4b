"""Fixtures that several test files share."""

from __future__ import annotations

import compileall
import contextlib
import gc
import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from _pytest.assertion import rewrite
from click.testing import CliRunner

# Several processes share the cores; threads of torch that wait for work would only take them from each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The command is started some hundred times. As for users, Python keeps what it compiled of the package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# As for the command: what tests make is small, and looking for garbage again and again takes a tenth of the time.
gc.set_threshold(100_000)

# Shells start what runs in the background, as a job of CI may, with Ctrl-C ignored, and processes inherit that. Some
# tests interrupt the processes they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

NOT_IN_A_CLONE = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Before all tests are collected, each process compiles its share of the files and leaves it to the others.

    In a fresh clone each would compile all of them: half of what it takes to collect them. Workers write no compiled
    code, and would compile each time what only they import.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    everything = [Path(argument).resolve() for argument in session.config.args] == [ROOT / "tests"]
    if processes == 1 or not everything or sys.dont_write_bytecode:
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for file in sorted((ROOT / "tests").rglob("test_*.py"))[number::processes]:
        compiled = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if not compiled.exists():
            compiled.parent.mkdir(parents=True, exist_ok=True)
            status, code = rewrite._rewrite_test(file, session.config)
            rewrite._write_pyc(session.config.stash[rewrite.assertstate_key], code, status, compiled)
    package = [file for folder in ("graphdoctor", "rules") for file in (ROOT / folder).rglob("*.py")]
    for file in sorted(package)[number::processes]:
        compileall.compile_file(file, quiet=1)


def pytest_collection_finish() -> None:
    """The tests stay: the collector need not look at them. What they compile takes the time that it takes in a worker."""
    gc.freeze()
    if "torch" in sys.modules:
        from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing

        skip_guard_timing()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What scans keep lies in a folder of the tests, not in the user's."""
    before = os.environ.get("GRAPHDOCTOR_CACHE_DIR")
    os.environ["GRAPHDOCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["GRAPHDOCTOR_CACHE_DIR"]
    else:
        os.environ["GRAPHDOCTOR_CACHE_DIR"] = before


@pytest.fixture(scope="session", autouse=True)
def shared_worker() -> Iterator[None]:
    """Scans in the process of the tests run their code in forks of one worker, which imports torch once."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    from graphdoctor.dynamic.parent import runner

    with runner.Server() as server, pytest.MonkeyPatch.context() as patched:
        patched.setattr(runner, "Server", lambda **_: contextlib.nullcontext(server))
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def graphdoctor() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line: ``graphdoctor("scan", path, cwd=..., env=...)``.

    It runs in the process of the tests, where scans share a worker. With an environment it is a process of its own.
    """

    def run(
        *arguments: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in arguments]
        if env is not None:
            return subprocess.run(
                [sys.executable, "-m", "graphdoctor", *words],
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
        from graphdoctor import cli

        with pytest.MonkeyPatch.context() as patched, streams_of_programs() as printed:
            patched.chdir(cwd)
            # Reports tell the command again.
            patched.setattr(sys, "argv", ["graphdoctor", *words])
            done = CliRunner().invoke(cli.cli, words, prog_name="graphdoctor")
            stdout, stderr = printed()
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(words, done.exit_code, stdout + done.stdout, stderr + done.stderr)

    return run


@contextlib.contextmanager
def streams_of_programs() -> Iterator[Callable[[], list[str]]]:
    """What the programs that are started here write to their stdout and stderr; their stdin is empty."""
    with contextlib.ExitStack() as files:
        kept = [files.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        streams = [files.enter_context(open(os.devnull, "rb")), *kept]
        before = [os.dup(number) for number in range(3)]
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        try:
            yield lambda: [read_again(stream) for stream in kept]
        finally:
            for number, stream in enumerate(before):
                os.dup2(stream, number)
                os.close(stream)


def read_again(stream: IO[bytes]) -> str:
    """All text of ``stream``."""
    stream.seek(0)
    return stream.read().decode(errors="replace")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; skips without one, unless GRAPHDOCTOR_REQUIRE_BROWSER asks for a failure."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    if os.environ.get("GRAPHDOCTOR_REQUIRE_BROWSER"):
        pytest.fail("no chromium on PATH, and GRAPHDOCTOR_REQUIRE_BROWSER is set")
    pytest.skip("no chromium on PATH")


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, for what writes into it."""
    folder = tmp_path_factory.mktemp("install") / "clone"
    shutil.copytree(ROOT, folder, ignore=NOT_IN_A_CLONE)
    return folder


@pytest.fixture(scope="session")
def new_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """``new_environment()``: the ``bin`` folder of a fresh environment, which has pip alone."""

    def create() -> Path:
        environment = tmp_path_factory.mktemp("environment") / "venv"
        venv.create(environment)
        # Its own pip is the one from here: installing one takes longer than all the rest.
        (packages,) = environment.glob("lib/*/site-packages")
        here = Path(str(importlib.metadata.distribution("pip").locate_file("")))
        for folder in (here / "pip", *here.glob("pip-*.dist-info")):
            shutil.copytree(folder, packages / folder.name)
        return environment / "bin"

    return create


@pytest.fixture(scope="session")
def installed(clone: Path, new_environment: Callable[[], Path]) -> Path:
    """The ``bin`` folder of a fresh environment with ``pip install .`` from a copy of the tree."""
    bin_ = new_environment()
    install = [str(bin_ / "python"), "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", "."]
    subprocess.run(install, cwd=clone, check=True)
    return bin_


@pytest.fixture
def splits() -> Callable[..., bool]:
    """``splits(source, "f", x)``: whether Dynamo splits the graph of that function, called once.

    Breaks at which it gives a function up as a whole are not counted by torch.
    """
    pytest.importorskip("torch")
    from torch import _dynamo, compile

    def run(source: str, name: str, *inputs: object) -> bool:
        names: dict[str, Any] = {"__name__": "source"}
        exec(source, names)
        _dynamo.reset()
        _dynamo.utils.counters.clear()
        compile(names[name], backend="eager")(*inputs)
        return bool(_dynamo.utils.counters["graph_break"])

    return run
