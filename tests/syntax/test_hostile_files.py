"""Files that nobody should be given: each costs itself, with a line that says why, and none costs the others."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.formats import FORMATS, render
from graphdoctor.source import files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and names as on POSIX")

GOOD = "import torch\n\n\n@torch.compile\ndef f(x):\n    print('forward')\n    return x\n"
HEAD = "import torch\n\n\n@torch.compile\ndef f(x):\n"
Make = Callable[[Path], None]


def holding(data: bytes | str) -> Make:
    return lambda file: file.write_bytes(data if isinstance(data, bytes) else data.encode())  # type: ignore[return-value]


def linked(target: str) -> Make:
    return lambda file: file.symlink_to(target)


def listening(file: Path) -> None:
    with pytest.MonkeyPatch.context() as patched, socket.socket(socket.AF_UNIX) as made:
        patched.chdir(file.parent)
        made.bind(file.name)


def sparse(size: int) -> Make:
    def make(file: Path) -> None:
        with file.open("wb") as stream:
            stream.truncate(size)

    return make


#: What makes each file, and what is said of it where it cannot be analysed; None where it can.
HOSTILE: dict[str, tuple[Make, str | None]] = {
    # No regular files
    "a pipe": (lambda file: os.mkfifo(file), "a pipe and no regular file"),
    "a socket": (listening, "a socket and no regular file"),
    "a link to a pipe of zeros": (linked("/dev/zero"), "a device and no regular file"),
    "a link to a terminal": (linked("/dev/tty"), "a device and no regular file"),
    "a link to the null device": (linked("/dev/null"), "a device and no regular file"),
    "a link to its own descriptor": (linked("/dev/fd/0"), "no regular file"),
    "a file of the kernel without an end": (linked("/proc/self/mem"), "cannot be read"),
    # Sizes
    "more than is read": (sparse(files.SOURCE_LIMIT + 1), "more than 10 MiB"),
    "a terabyte of nothing": (sparse(1 << 40), "more than 10 MiB"),
    "one line of a megabyte": (holding("import torch\nx = '" + "a" * 1_000_000 + "'\n"), None),
    "a hundred thousand lines": (holding("import torch\n" + "x = 1\n" * 100_000), None),
    "only line ends": (holding("\n" * 1_000_000), None),
    "nothing": (holding(""), None),
    # Bytes
    "null bytes": (holding(b"import torch\0"), "null bytes"),
    "a picture": (holding(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "null bytes"),
    "bytes that are not UTF-8": (holding(b"import torch\nx = '\xff\xfe'\n"), "cannot be decoded"),
    "half a character": (holding(b"import torch\nx = '\xe4\xb8"), "cannot be decoded"),
    "UTF-16": (holding("import torch\n".encode("utf-16")), "null bytes"),
    "an encoding that does not exist": (holding("# coding: klingon\nimport torch\n"), "cannot be decoded"),
    "an encoding that is none of text": (holding("# coding: hex\nimport torch\n"), "cannot be decoded"),
    "an encoding that packs": (holding("# coding: zlib\nimport torch\n"), "cannot be decoded"),
    "two encodings that differ": (holding(b"\xef\xbb\xbf# coding: latin-1\nimport torch\n"), "cannot be decoded"),
    "an encoding of surrogates": (holding("# coding: utf-7\nx = '+2AA-'\nimport torch\n"), "surrogates"),
    "a byte order mark": (holding(b"\xef\xbb\xbf" + GOOD.encode()), None),
    "line ends of three systems": (holding("import torch\r\nx = 1\ry = 2\n"), None),
    "form feeds and separators": (holding("import torch\n\x0c\nx = '\u2028\u2029\x85'\n"), None),
    "control characters": (holding(HEAD + "    print('\\x1b[2J\x1b[2J\u202e')\n    return x\n"), None),
    # Syntax
    "no Python": (holding("<html>torch</html>\n"), "syntax error"),
    "Python 2": (holding("import torch\nprint 'x'\n"), "syntax error"),
    "an open bracket": (holding("import torch\nx = (\n"), "syntax error"),
    "an open text": (holding('import torch\nx = """\n'), "syntax error"),
    "tabs and spaces": (holding("import torch\nif x:\n\ty\n        z\n"), "syntax error"),
    "a message with control characters": (holding("import torch\n\x1b[2J\n"), "syntax error"),
    "a hundred thousand brackets": (holding("import torch\nx = " + "(" * 100_000), "syntax error"),
    "lists in lists": (holding("import torch\nx = " + "[" * 150 + "]" * 150 + "\n"), None),
    "operators in operators": (holding("import torch\nx = " + "-" * 5_000 + "1\n"), "nested"),
    "attributes of attributes": (holding(HEAD + "    return x" + ".y" * 5_000 + "\n"), "nested"),
    "calls of calls": (holding(HEAD + "    return x" + "()" * 5_000 + "\n"), "nested"),
    "a sum of thousands": (holding(HEAD + "    return " + "x + " * 5_000 + "x\n"), "nested"),
    "comparisons by the thousand": (holding(HEAD + "    return " + "x < " * 5_000 + "x\n"), None),
    "branches in branches": (
        holding(HEAD + "".join(f"{'    ' * n}if x:\n" for n in range(1, 90)) + "    " * 90 + "pass\n"),
        None,
    ),
    "elif by the thousand": (
        holding(HEAD + "    if x == 0: pass\n" + "".join(f"    elif x == {n}: pass\n" for n in range(1, 1_500))),
        None,
    ),
    "functions in functions": (
        holding("import torch\n" + "".join(f"{' ' * n}def f{n}(x):\n" for n in range(90)) + " " * 90 + "pass\n"),
        None,
    ),
    "a number of ten thousand digits": (holding("import torch\nx = " + "9" * 10_000 + "\n"), "syntax error"),
    "a power that nobody computes": (holding(HEAD + "    return x * 9**9**9**9\n"), None),
    "a text that nobody repeats": (holding(HEAD + "    return x + len('a' * 10**12)\n"), None),
    "a shift that nobody makes": (holding(HEAD + "    return x + (1 << 10**12)\n"), None),
    "a list that nobody builds": (holding(HEAD + "    y = [0] * 10**12\n    return x + len(y)\n"), None),
    "a range that nobody walks": (
        holding(HEAD + "    for i in range(10**18):\n        x = x + i\n    return x\n"),
        None,
    ),
    "numbers that are not finite": (holding(HEAD + "    return x * 1e999 * -1e999 * (1e999 - 1e999)\n"), None),
    "a function that calls itself": (holding(HEAD + "    return f(f(x))\n"), None),
    "functions that double": (
        holding(
            "import torch\n\ndef g0(x):\n    return x\n"
            + "".join(f"\ndef g{n}(x):\n    return g{n - 1}(x) + g{n - 1}(x + {n})\n" for n in range(1, 40))
            + "\n@torch.compile\ndef f(x):\n    return g39(x)\n"
        ),
        None,
    ),
    "classes that inherit in a circle": (
        holding("import torch\nclass A(B): pass\nclass B(A):\n    def forward(self, x): return x\nA = B\n"),
        None,
    ),
    # Names
    "a name of 300 characters imported": (holding(f"import torch\nimport {'m' * 300}\n" + GOOD), None),
    "a path of 5,000 characters imported": (holding(f"import torch\nimport {'m.' * 2_500}n\n" + GOOD), None),
    "an import of itself": (holding("import torch\nfrom . import *\nfrom .. import *\nfrom ..... import x\n"), None),
    "an import of a pipe": (holding("import torch\nimport a_pipe\nfrom a_link import *\n" + GOOD), None),
    "patterns that are slow": (
        holding("import torch\n# noqa: " + "GD1," * 50_000 + "\n# graphdoctor: ignore[" + "(" * 50_000 + "\n" + GOOD),
        None,
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a good file, and what the others import."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "good.py").write_text(GOOD)
    os.mkfifo(made / "a_pipe.py")
    (made / "a_link.py").symlink_to("a_link.py")
    return made


def rendered(diagnosis: Diagnosis) -> None:
    """All formats hold, as UTF-8 and without characters that steer a terminal."""
    for name in FORMATS:
        shown = render(diagnosis, name)
        shown.encode("utf-8")
        assert not set("\x1b\x07\u202e\x00") & set(shown), name
    assert json.loads(render(diagnosis, "json"))["findings"]


def of_good(diagnosis: Diagnosis) -> list[tuple[str, int]]:
    return [(f.rule, f.location.line) for f in diagnosis.findings if f.location.path.endswith("good.py")]


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_given_by_name(folder: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, reason = HOSTILE[what]
    file = folder / "hostile.py"
    make(file)
    monkeypatch.chdir(folder)
    diagnosis = scan(ScanOptions(paths=("hostile.py", "good.py"), isolated=True, run=False))
    assert of_good(diagnosis) == [("GD101", 6)]
    (found,) = [entry for entry in diagnosis.files if entry.path == "hostile.py"]
    if reason is None:
        assert found.status == "scanned"
    else:
        assert (found.status, reason in str(found.reason)) == ("failed", True), found.reason
        assert len(str(found.reason).splitlines()) == 1
    rendered(diagnosis)


def test_all_in_one_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (make, _) in enumerate(HOSTILE.values()):
        make(folder / f"h{number}.py")
    (folder / "folder.py").mkdir()
    (folder / "folder.py" / "in_it.py").write_text(GOOD)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "dangling.py").symlink_to("gone.py")
    monkeypatch.chdir(folder)
    diagnosis = scan(ScanOptions(paths=(".",), isolated=True, run=False, jobs=1))
    assert of_good(diagnosis) == [("GD101", 6)]
    assert any(f.location.path == "folder.py/in_it.py" for f in diagnosis.findings)
    rendered(diagnosis)


@pytest.mark.parametrize(
    "name",
    [b"\xff\xfe.py", b"a\x1b[2J.py", b"a\nb.py", b"a b'\"<&>%s{}.py", "\u202eyp.py".encode(), b"-.py", b"a,b:c.py"],
)
def test_names_of_any_bytes(tmp_path: Path, name: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    file = folder / os.fsdecode(name)
    file.write_text(GOOD)
    (folder / "good.py").write_text(GOOD)
    monkeypatch.chdir(folder)
    options = ScanOptions(paths=(".",), isolated=True, run=False, cache=tmp_path / "cache")
    for _ in range(2):
        diagnosis = scan(options)
        assert of_good(diagnosis) == [("GD101", 6)]
        assert len(diagnosis.findings) == 2
        rendered(diagnosis)


def test_a_file_that_goes_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "gone.py").write_text(GOOD)
    monkeypatch.chdir(folder)

    def progress(text: str) -> None:
        (folder / "gone.py").unlink(missing_ok=True)

    diagnosis = scan(ScanOptions(paths=("gone.py", "good.py"), isolated=True, run=False), progress)
    assert of_good(diagnosis) == [("GD101", 6)]
    assert "No such file" in str(diagnosis.files[0].reason)
    rendered(diagnosis)


def test_a_file_that_grows_is_read_up_to_the_limit(tmp_path: Path) -> None:
    class Growing:
        def read(self, size: int) -> bytes:
            return b"x" * size

    with pytest.raises(OSError, match="more than 1 MiB"):
        files.bounded(Growing(), 1 << 20)  # type: ignore[arg-type]


def test_what_is_as_large_as_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 1000)
    assert files.read_bytes(file, 1000) == b"x" * 1000
    with pytest.raises(OSError):
        files.read_bytes(file, 999)


@pytest.mark.parametrize("path", ["a\0b", "a" * 300, "/dev/zero", "/", "/dev/null/x", "a/" * 3000])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(OSError) as error:
        files.read_bytes(path)
    assert error.value.strerror
