"""The server for assistants, driven by the client of the SDK over stdin and stdout."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

MODEL = """\
import torch
from torch import nn

open("executed", "w").close()


class Net(nn.Module):
    def forward(self, x):
        print("forward")
        if x.sum() > 0:
            x = x * 2
        else:
            x = x - 1
        return x


def graphdoctor_target():
    return Net(), (torch.rand(3),), {}
"""
PRINT = '        print("forward")\n'
GUARDED = MODEL.replace(PRINT, '        if not torch.compiler.is_compiling():\n            print("forward")\n')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def session(folder: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], list[tuple[bool, str]]]:
    """The names of the tools, and of each call whether it went well and its text. ``ID`` is the first id so far."""
    # Imported where they are needed: it takes seconds, which every process of the tests would spend.
    mcp, anyio = pytest.importorskip("mcp"), pytest.importorskip("anyio")

    async def talk() -> tuple[list[str], list[tuple[bool, str]]]:
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "graphdoctor", "mcp"], cwd=folder, env=dict(os.environ)
        )
        async with mcp.stdio_client(server) as (read, write), mcp.ClientSession(read, write) as client:
            await client.initialize()
            names = [tool.name for tool in (await client.list_tools()).tools]
            answers: list[tuple[bool, str]] = []
            for name, arguments in calls:
                if arguments.get("id") == "ID":
                    arguments = {"id": answers[0][1].splitlines()[1].split()[0]}
                result = await client.call_tool(name, arguments)
                answers.append((not result.is_error, "".join(part.text for part in result.content)))
            return names, answers

    found: tuple[list[str], list[tuple[bool, str]]] = anyio.run(talk)
    return found


def patch(after: str) -> str:
    return "".join(difflib.unified_diff(MODEL.splitlines(True), after.splitlines(True), "a/model.py", "b/model.py"))


def test_static_tools_execute_nothing_and_write_nothing(folder: Path) -> None:
    names, answers = session(
        folder,
        ("scan", {"path": "model.py"}),
        ("finding", {"id": "ID"}),
        ("explain", {"code": "GD101"}),
        ("fixes", {"path": "model.py"}),
        ("fixes", {"path": "model.py", "unsafe": True}),
        ("scan", {"path": "nothing.py"}),
        ("finding", {"id": "none"}),
        ("explain", {"code": "XX1"}),
        ("verify", {"path": "model.py", "after": "model.py"}),
    )
    assert names == ["scan", "finding", "explain", "fixes", "verify"]
    scan, finding, explain, fixes, unsafe, *refused = answers
    assert [ok for ok, _ in answers] == [True] * 5 + [False] * 4
    lines = scan[1].splitlines()
    assert lines[1].split()[1:4] == ["model.py:9:9", "error", "GD101"]
    assert "GD201" in lines[2]
    # An assistant pays for each word: a line for a finding, and no more.
    assert len(scan[1]) < 700
    assert "why: " in finding[1]
    assert "+        if not torch.compiler.is_compiling():" in finding[1]
    assert "print-in-graph" in explain[1]
    assert fixes[1].startswith("--- a/model.py")
    assert "torch.where" not in fixes[1]
    assert "1 more fix may change behaviour" in fixes[1]
    assert "torch.where" in unsafe[1]
    words = ["no such file", "scan first", "XX1", "run=true"]
    assert all(word in text for word, (_, text) in zip(words, refused, strict=True)), refused
    assert sorted(path.name for path in folder.iterdir()) == ["model.py"]


def test_code_runs_where_the_call_says_so(folder: Path) -> None:
    right = patch(GUARDED)
    wrong = patch(GUARDED.replace('print("forward")', 'print("backward")'))
    _, (scan, verified, refused) = session(
        folder,
        ("scan", {"path": "model.py", "run": True}),
        ("verify", {"path": "model.py", "patch": right, "run": True}),
        ("verify", {"path": "model.py", "patch": wrong, "run": True}),
    )
    assert (folder / "executed").exists()
    assert "(confirmed)" in scan[1]
    assert verified[1].startswith("verified\n1 graph break, 2 before\n")
    assert refused[1].startswith("refused: ")
    assert "standard output" in refused[1]
    assert (folder / "model.py").read_text() == MODEL


def test_without_the_package_one_line_says_what_to_install(folder: Path) -> None:
    import subprocess

    code = "import sys; sys.modules['mcp'] = None; from graphdoctor.cli import main; main(['mcp'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "graphdoctor: the server for assistants needs the package mcp; install graphdoctor[mcp]\n"
