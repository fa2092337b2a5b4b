"""User code that misbehaves costs the dynamic part of the report and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

#: What becomes of the run of each file in ``fixtures/hostile``, and a word of the one line that says so.
HOSTILE: dict[str, tuple[str, str | None]] = {
    "raises_at_import": ("raised", "no-such-file.ini"),
    "raises_in_forward": ("raised", "raised in forward"),
    "exits_at_import": ("exited", "0"),
    "exits_hard": ("exited", "3"),
    "segfaults": ("crashed", "SIGSEGV"),
    "prints_a_million_lines": ("ok", None),
    "sleeps_for_ever": ("timeout", "10"),
    "leaves_a_child": ("ok", None),
    "leaves_a_marker": ("ok", None),
}

OWN_MARKER = "GRAPHDOCTOR_TEST_RUN"


@dataclass(frozen=True)
class Ran:
    """One scan of one hostile file."""

    exit_code: int
    output: str
    errors: str
    survivors: tuple[str, ...]
    left_behind: int

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.output))


def processes(marker: str) -> tuple[str, ...]:
    """Command lines of the live processes whose environment carries ``marker`` (Linux /proc)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it ended meanwhile, or belongs to someone else
            continue
    return tuple(found)


def survivors(marker: str, patience: float = 60.0) -> tuple[str, ...]:
    """The processes still alive after ``patience`` seconds, within which the kernel reaps the killed ones."""
    end = time.monotonic() + patience
    while (found := processes(marker)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def ran(graphdoctor: Command, root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Every hostile file scanned with JSON output, two at a time."""

    def run(name: str) -> Ran:
        folder = tmp_path_factory.mktemp(name)
        marker = uuid.uuid4().hex
        env = {OWN_MARKER: marker, "TMPDIR": str(folder), "GRAPHDOCTOR_TEST_MARKER": str(folder / "imported")}
        path = f"fixtures/hostile/{name}.py"
        # A million lines take a while on a busy machine; only the one that never ends should meet its limit.
        limit = "10" if name == "sleeps_for_ever" else "900"
        # Each run of it prints a million lines again, or only leaves one file more.
        less = ["--quick"] if name in ("prints_a_million_lines", "leaves_a_marker") else []
        done = graphdoctor(
            "scan", path, "--mode", "eval", "--timeout", limit, "--output-format", "json", *less, cwd=root, env=env
        )
        (folder / "imported").unlink(missing_ok=True)
        alive = survivors(marker)
        return Ran(done.returncode, done.stdout, done.stderr, alive, len(list(folder.rglob("*"))))

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(HOSTILE, pool.map(run, HOSTILE), strict=True))


@pytest.fixture(scope="module")
def predicted(graphdoctor: Command, root: Path) -> dict[str, list[tuple[str, int]]]:
    """The static findings of each hostile file, from one scan that runs nothing."""
    done = graphdoctor("scan", "--no-run", "fixtures/hostile", "--output-format", "json", cwd=root)
    places: dict[str, list[tuple[str, int]]] = {name: [] for name in HOSTILE}
    for finding in json.loads(done.stdout)["findings"]:
        places[Path(finding["path"]).stem].append((finding["rule"], finding["line"]))
    return places


def test_every_hostile_file_is_tried(root: Path) -> None:
    assert {file.stem for file in (root / "fixtures" / "hostile").glob("*.py")} == set(HOSTILE)


@pytest.mark.parametrize("name", HOSTILE)
def test_static_findings_are_complete(
    ran: dict[str, Ran], predicted: dict[str, list[tuple[str, int]]], root: Path, name: str
) -> None:
    lines = (root / "fixtures" / "hostile" / f"{name}.py").read_text().splitlines()
    [line] = [number for number, text in enumerate(lines, 1) if 'print("forward"' in text]
    assert ("GD101", line) in predicted[name]
    found = [(finding["rule"], finding["line"]) for finding in ran[name].report["findings"]]
    assert set(predicted[name]) <= set(found)


@pytest.mark.parametrize(("name", "expected"), HOSTILE.items())
def test_one_line_says_what_happened(ran: dict[str, Ran], name: str, expected: tuple[str, str | None]) -> None:
    outcome, word = expected
    [run] = ran[name].report["dynamic"]
    assert run["outcome"] == outcome
    if word is None:
        assert run["detail"] is None
    else:
        assert word in run["detail"]
        assert len(run["detail"].splitlines()) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_the_exit_code_is_that_of_the_findings(ran: dict[str, Ran], name: str) -> None:
    assert ran[name].exit_code == 1, ran[name].errors


@pytest.mark.parametrize("name", HOSTILE)
def test_no_process_is_left(ran: dict[str, Ran], name: str) -> None:
    assert ran[name].survivors == ()


@pytest.mark.parametrize("name", HOSTILE)
def test_no_temporary_file_is_left(ran: dict[str, Ran], name: str) -> None:
    assert ran[name].left_behind == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_output_is_bounded(ran: dict[str, Ran], name: str) -> None:
    assert len(ran[name].output) < 200_000
    assert len(ran[name].errors) < 10_000


def test_the_search_for_processes_finds_one() -> None:
    """A check of the check: a live child that carries the marker is seen."""
    marker = uuid.uuid4().hex
    code = "import sys; print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, OWN_MARKER: marker}, **pipes) as child:
        assert child.stdin is not None and child.stdout is not None
        # By then the kernel shows its environment, which is empty while a program is being started.
        child.stdout.readline()
        assert len(processes(marker)) == 1
        child.stdin.close()
    assert processes(marker) == ()
