"""Settings, lists, reports and kept results that nobody should be given: one line, or a report without them."""

from __future__ import annotations

import json
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.api import ScanOptions, UsageError, scan
from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.formats import FORMATS, render
from graphdoctor.report.json_format import writer
from graphdoctor.scan import cache
from graphdoctor.scan.baseline import compared_files
from graphdoctor.trace.diagnose import diagnose
from graphdoctor.trace.files import NoTrace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and names as on POSIX")

GOOD = "import torch\n\n\n@torch.compile\ndef f(x):\n    print('forward')\n    return x\n"
TOOL = "[tool.graphdoctor]\n"
DIGITS = "9" * 5_000


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "good.py").write_text(GOOD)
    monkeypatch.chdir(folder)
    return folder


def scanned(**options: Any) -> Diagnosis:
    diagnosis = scan(ScanOptions(paths=("good.py",), run=False, **options))
    assert [f.rule for f in diagnosis.findings] == ["GD101"]
    rendered(diagnosis)
    return diagnosis


def rendered(diagnosis: Diagnosis) -> None:
    for name in FORMATS:
        shown = render(diagnosis, name)
        shown.encode("utf-8")
        assert not set("\x1b\x07\u202e\x00") & set(shown), name


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 100_000,
        "x = " + "{a=" * 10_000,
        f"x = {DIGITS}",
        TOOL + f"timeout = {DIGITS}",
        TOOL + f"timeout = {'9' * 400}",
        TOOL + "timeout = nan",
        TOOL + "timeout = 1979-05-27",
        TOOL + 'select = ["\\u001b[2J"]',
        TOOL + "select = [[]]",
        TOOL + 'rules = ["\\u0000"]',
        TOOL + f'rules = ["{"a" * 5_000}"]',
        TOOL + 'per-file-ignores = {"*" = [1]}',
        TOOL + "allow = [[[]]]",
        TOOL + 'allow = [{rule = [], path = {}, reason = 1, expires = "never"}]',
        TOOL + "mode = []",
        TOOL + "target-torch = {}",
        "[tool]\ngraphdoctor = 3",
        "\x1b[2J\x07",
        "\0",
        b"\xff\xfe",
        b"[tool.graphdoctor]\nselect = ['\xff']",
        " " * (11 << 20),
    ],
)
def test_settings_that_cannot_be_read_are_one_line(project: Path, text: str | bytes) -> None:
    (project / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as error:
        scanned()
    assert len(str(error.value).splitlines()) == 1
    assert "pyproject.toml" in str(error.value)
    assert len(str(error.value)) < 20_000


@pytest.mark.parametrize(
    "text", ["[graphdoctor\n", "x\n", "[graphdoctor]\nselect\n", b"[graphdoctor]\nselect = \xff\n", "\0"]
)
def test_sections_that_cannot_be_read_are_one_line(project: Path, text: str | bytes) -> None:
    (project / "setup.cfg").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as error:
        scanned()
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", ".gitignore", ".git/info/exclude"])
@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda p: os.symlink("/dev/zero", p), lambda p: os.symlink(p, p)]
)
def test_settings_that_are_no_files_are_passed_over(project: Path, name: str, make: Callable[[Path], None]) -> None:
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    make(file)
    diagnosis = scan(ScanOptions(paths=(".",), run=False))
    assert [f.rule for f in diagnosis.findings] == ["GD101"]


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000, "a" * 1_000_000, "**/" * 2_000, "!" * 10_000, "\\", "[\\", "[z-a]", "*a" * 40 + "b", b"\xff\0\n"],
)
def test_patterns_of_git_that_are_none(project: Path, text: str | bytes) -> None:
    (project / ".gitignore").write_bytes(text if isinstance(text, bytes) else text.encode())
    (project / ("a" * 200)).mkdir()
    diagnosis = scan(ScanOptions(paths=(".",), run=False))
    assert [f.rule for f in diagnosis.findings] == ["GD101"]


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", ".", "gone"])
def test_named_files_that_are_none(project: Path, name: str) -> None:
    os.mkfifo("pipe")
    for options in ({"baseline": name}, {"config": (name,)}):
        with pytest.raises(UsageError) as error:
            scanned(**options)
        assert len(str(error.value).splitlines()) == 1
    with pytest.raises(NoTrace):
        diagnose(Path(name))


# Reports that are read back

ODD = [
    None,
    True,
    -1,
    0,
    10**9,
    -(10**9),
    10**400,
    float("nan"),
    float("inf"),
    "",
    "\x1b[2J\ud800",
    "a/../../b",
    [],
    {},
    [[]],
]


def changed(value: Any, random_: random.Random) -> Any:
    """``value`` with one thing in it replaced, wherever it is."""
    if isinstance(value, (dict, list)) and value and random_.random() < 0.85:
        key = random_.choice(list(value) if isinstance(value, dict) else range(len(value)))
        copy: Any = dict(value) if isinstance(value, dict) else list(value)
        copy[key] = changed(value[key], random_)
        return copy
    return random_.choice([*ODD, "x" * 10_000])


def test_a_report_with_anything_changed_is_one_line_or_a_report(project: Path) -> None:
    whole = json.loads(writer.render(scanned()))
    (project / "base.json").write_text(json.dumps(whole))
    refused = 0
    for seed in range(150):
        (project / "head.json").write_text(json.dumps(changed(whole, random.Random(seed))))
        try:
            for diagnosis in (compared_files("base.json", "head.json"), compared_files("head.json", "base.json")):
                rendered(diagnosis)
        except UsageError as error:
            refused += 1
            assert len(str(error).splitlines()) == 1
    assert 40 < refused < 145


@pytest.mark.parametrize(
    "text", ["[" * 100_000, DIGITS, "NaN", '{"schema": "graphdoctor/1", "tool": 3}', b"\xff", "\0", ""]
)
def test_what_is_no_report_is_one_line(project: Path, text: str | bytes) -> None:
    (project / "base.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as error:
        scanned(baseline="base.json")
    assert len(str(error.value).splitlines()) == 1


# Results that are kept


def test_damaged_entries_cost_themselves(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first = scanned(cache=folder)
    entries = sorted((folder / "static").glob("*/*"))
    assert entries
    bomb = zlib.compress(bytes(200 << 20), 1)
    for entry in entries:
        whole = entry.read_bytes()
        data = json.loads(zlib.decompress(whole))
        damaged = [b"", b"x", whole[:-20], whole + b"x", zlib.compress(b"[" * 100_000), zlib.compress(DIGITS.encode())]
        damaged += [zlib.compress(b"\xff"), zlib.compress(b"null"), bomb]
        for held in damaged:
            entry.write_bytes(held)
            assert scanned(cache=folder).findings == first.findings
        for seed in range(75 // len(entries)):
            # Of the right kinds it may be another result, which nobody can tell from a real one.
            entry.write_bytes(zlib.compress(json.dumps(changed(data, random.Random(seed))).encode()))
            rendered(scan(ScanOptions(paths=("good.py",), run=False, cache=folder)))
        entry.unlink()
        os.mkfifo(entry)
        assert scanned(cache=folder).findings == first.findings


def test_an_entry_that_unpacks_to_anything_takes_bounded_memory() -> None:
    import tracemalloc

    packed = zlib.compress(bytes(1 << 30), 1)
    tracemalloc.start()
    with pytest.raises(ValueError, match="too large"):
        cache._unpacked(packed)
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()
