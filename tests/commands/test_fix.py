"""``graphdoctor fix`` as a user meets it: what it writes, what it leaves alone, and what it says."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        print(x.shape)  # kept
        return x * 2
"""
FIXED = NET.replace(
    "        print(x.shape)  # kept\n",
    "        if not torch.compiler.is_compiling():\n            print(x.shape)  # kept\n",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(NET)
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbf" + NET.replace("\n", "\r\n").encode())
    return tmp_path


def test_several_files_are_fixed_and_a_second_time_nothing_changes(graphdoctor: Command, folder: Path) -> None:
    done = graphdoctor("fix", "a.py", "b.py", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Written:\n  a.py:6: GD101 [print-in-graph]" in done.stdout
    assert done.stdout.endswith("2 fixes written, 0 findings left.\n")
    assert (folder / "a.py").read_text() == FIXED
    assert (folder / "b.py").read_bytes() == b"\xef\xbb\xbf" + FIXED.replace("\n", "\r\n").encode()
    again = graphdoctor("fix", ".", cwd=folder)
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "Nothing to fix.")
    assert (folder / "a.py").read_text() == FIXED


BRANCH = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if x.isnan().any():
            print("NaN", x.max().item())
        return x * 2
"""


def test_what_a_written_fix_took_with_it_is_not_left(graphdoctor: Command, tmp_path: Path) -> None:
    """The print in a branch that runs in eager alone has no graph break of its own any more."""
    (tmp_path / "net.py").write_text(BRANCH)
    done = graphdoctor("fix", "net.py", "--no-run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Nothing to fix.\n1 fix written in all rounds.\n")
    assert (tmp_path / "net.py").read_text() == BRANCH.replace("if x", "if not torch.compiler.is_compiling() and x")


def test_a_read_only_file_gets_one_line_and_the_others_are_fixed(graphdoctor: Command, folder: Path) -> None:
    (folder / "a.py").chmod(0o444)
    done = graphdoctor("fix", ".", cwd=folder)
    assert done.returncode == 1
    assert "not fixed: a.py is read-only, so it was not written\n" in done.stdout
    assert "Not written:\n  a.py:6: GD101" in done.stdout
    assert (folder / "a.py").read_text() == NET and (folder / "b.py").read_bytes() != NET.encode()
    assert sorted(file.name for file in folder.iterdir()) == ["a.py", "b.py"]


def test_diff_writes_nothing(graphdoctor: Command, folder: Path) -> None:
    done = graphdoctor("fix", "a.py", "--diff", cwd=folder)
    assert done.returncode == 1 and "+        if not torch.compiler.is_compiling():\n" in done.stdout
    assert (folder / "a.py").read_text() == NET


def test_only_selected_rules_are_fixed(graphdoctor: Command, folder: Path) -> None:
    done = graphdoctor("fix", "a.py", "--select", "GD2", cwd=folder)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Nothing to fix.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a.py", "-i"), "-i asks at a terminal, and the standard input is none"),
        (("a.py", "-i", "--diff"), "use one of the two"),
        (("-",), "graphdoctor scan --fix -"),
        (("missing.py",), "missing.py"),
        (("a.py", "--patch-third-party", "no/such/p.patch"), "no/such"),
    ],
)
def test_wrong_usage_is_one_line_and_writes_nothing(
    graphdoctor: Command, folder: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = graphdoctor("fix", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert (folder / "a.py").read_text() == NET


def test_answers_at_a_terminal(folder: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"d\nn\ny\n")
    command = [sys.executable, "-m", "graphdoctor", "fix", "a.py", "b.py", "-i"]
    done = subprocess.run(command, cwd=folder, stdin=theirs, capture_output=True, text=True)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 1, done.stderr
    assert "[1/2] a.py:6: GD101" in done.stdout and "+++ b/a.py" in done.stdout
    assert (folder / "a.py").read_text() == NET and (folder / "b.py").read_bytes() != NET.encode()


PACKAGE = """\
import torch


class Layer(torch.nn.Module):
    def forward(self, x):
        print("layer")
        return x + 1
"""
USER = """\
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent / "site-packages"))
from acme import Layer


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x * 3
        return self.layer(y)


def graphdoctor_target():
    return Net(), (torch.rand(2, 3),)
"""


def test_an_installed_package_gets_a_patch_and_is_not_written(graphdoctor: Command, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    site = tmp_path / "site-packages"
    (site / "acme").mkdir(parents=True)
    (site / "acme" / "__init__.py").write_text(PACKAGE)
    (tmp_path / "model.py").write_text(USER)
    done = graphdoctor("fix", "model.py", "--mode", "eval", "--patch-third-party", "acme.patch", cwd=tmp_path)
    assert (site / "acme" / "__init__.py").read_text() == PACKAGE, done.stderr
    assert "torch.where(x.sum() > 0, x * 2, x * 3)" in (tmp_path / "model.py").read_text()
    assert "with 2 fixes applied to a copy: 1 graph, 0 graph breaks" in " ".join(done.stdout.split())
    assert "both outcomes of the test occurred" in " ".join(done.stdout.split())
    subprocess.run(["patch", "-p1", "-i", "../acme.patch"], cwd=site, check=True, capture_output=True)
    assert "is_compiling" in (site / "acme" / "__init__.py").read_text()


def test_nothing_is_written_through_links_that_lead_out(graphdoctor: Command, tmp_path: Path) -> None:
    given, outside = tmp_path / "given", tmp_path / "outside"
    for folder in (given, outside):
        folder.mkdir()
        (folder / "m.py").write_text(NET)
    (given / "link.py").symlink_to(outside / "m.py")
    (outside / "h.py").write_text("def show(x):\n    print(x)\n")
    (given / "helper.py").symlink_to(outside / "h.py")
    (given / "calls.py").write_text("from helper import show\n" + NET.replace("print(x.shape)  # kept", "show(x)"))
    before = {file.name: file.read_text() for file in outside.iterdir()}
    for arguments in (
        ("fix", "given"),
        ("fix", "given/link.py"),
        ("fix", "given/calls.py"),
        ("scan", "--fix", "given"),
    ):
        (given / "m.py").write_text(NET)
        done = graphdoctor(*arguments, "--no-run", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "was not given, so it was not written" in " ".join(done.stdout.split())
        assert {file.name: file.read_text() for file in outside.iterdir()} == before
        assert ("given" in arguments) == ((given / "m.py").read_text() == FIXED)
