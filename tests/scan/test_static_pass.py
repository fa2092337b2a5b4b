"""The static pass of a scan: results that are kept between scans, and several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import graphdoctor
from graphdoctor.lint import catalog
from graphdoctor.lint.result import StaticResult
from graphdoctor.lint.work import Work
from graphdoctor.scan import cache
from graphdoctor.scan.cache import Cache
from graphdoctor.scan.static_pass import static_pass
from graphdoctor.source.discover import discover
from graphdoctor.static.rule import Rule
from graphdoctor.target_torch.installed import LOG_FILES, NAME_FILES, torch_folder

NET = "import torch\nfrom helper import size\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    if size(x) > 2:\n        return x\n    return x + 1\n"
SHAPE = "def size(x):\n    return x.shape[0]\n"
DATA = "def size(x):\n    return x.sum()\n"


class Project:
    """A folder with files, scanned again and again with one cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.cache = folder / "cache"
        self.folder.mkdir()
        self.analysed = False

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def scan(self, *names: str, asked: str = "") -> StaticResult:
        """Scan the files; ``analysed`` says whether that needed the rules."""
        self.analysed = False
        found = discover([str(self.folder / name) for name in names] or [str(self.folder)])
        return static_pass(Work(found.files), self._rules, Cache(self.cache, (asked,)))

    def _rules(self) -> tuple[Rule, ...]:
        self.analysed = True
        return catalog.rules()

    def lines(self, *names: str) -> list[tuple[str, int]]:
        return [(finding.rule, finding.location.line) for finding in self.scan(*names).findings]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("net.py", NET)
    made.write("helper.py", SHAPE)
    return made


def test_what_stayed_is_recalled_as_it_was(project: Project) -> None:
    project.write("helper.py", DATA)
    first = project.scan()
    assert project.analysed
    second = project.scan()
    assert not project.analysed
    assert first == second
    assert first.findings[0].fix is not None


def test_a_file_that_changed_is_analysed_anew(project: Project) -> None:
    assert project.lines() == []
    project.write("net.py", NET.replace("size(x)", "x.sum()"))
    assert project.lines() == [("GD201", 7)]
    assert project.analysed


def test_an_imported_file_that_changed_counts(project: Project) -> None:
    assert project.lines("net.py") == []
    project.write("helper.py", DATA)
    assert project.lines("net.py") == [("GD201", 7)]


def test_an_imported_file_that_appears_or_goes_counts(project: Project) -> None:
    (project.folder / "helper.py").unlink()
    assert project.lines("net.py") == []
    project.write("helper.py", DATA)
    assert project.lines("net.py") == [("GD201", 7)]
    (project.folder / "helper.py").unlink()
    assert project.lines("net.py") == []


def test_a_package_that_hides_an_imported_file_counts(project: Project) -> None:
    assert project.lines("net.py") == []
    (project.folder / "helper").mkdir()
    project.write("helper/__init__.py", DATA)
    assert project.lines("net.py") == [("GD201", 7)]


def test_other_questions_have_other_answers(project: Project) -> None:
    project.scan(asked="2.13")
    project.scan(asked="2.6")
    assert project.analysed
    project.scan(asked="2.13")
    assert not project.analysed


def test_every_file_that_an_analysis_reads_is_part_of_the_key(tmp_path: Path) -> None:
    """The modules that the analysis and the rules import, the tables of the package, and the files of torch."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom graphdoctor.lint import catalog\n"
        "from graphdoctor.lint.engine import analyse\ncatalog.rules()\n"
        "analyse([(Path(sys.argv[1]), 'net.py')])\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.partition('.')[0] == 'graphdoctor' and module.__file__: print(module.__file__)\n"
    )
    (tmp_path / "net.py").write_text(
        "import torch\ntorch._dynamo.config.gone = 1\ntorch.compile(f, options={'gone': 1})\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "net.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    read = {Path(line) for line in done.stdout.split("\n") if line}
    read |= set(Path(graphdoctor.__file__).parent.glob("*torch/*.json"))
    read |= {torch_folder() / name for name in (*NAME_FILES, *LOG_FILES)} if torch_folder() else set()
    stamped = list(cache._program())
    missing = [
        file for file in read if not any(f"{file.name} {file.stat().st_mtime_ns} " in stamp for stamp in stamped)
    ]
    assert len(read) > 100 and missing == []


def test_which_files_are_scanned_counts(project: Project) -> None:
    project.write("helper.py", "def size(x):\n    print(x)\n    return x.shape[0]\n")
    assert project.lines("net.py") == []
    assert project.lines("net.py", "helper.py") == [("GD101", 2)]
    assert project.lines("net.py") == []


@pytest.mark.parametrize("damage", [b"", b"not zlib", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_entry_is_made_anew(project: Project, damage: bytes) -> None:
    first = project.scan()
    for entry in project.cache.glob("static/??/*"):
        entry.write_bytes(damage)
    assert project.scan() == first
    assert project.analysed
    assert project.scan() == first
    assert not project.analysed


def test_a_file_that_failed_is_read_again(project: Project) -> None:
    project.write("net.py", "def f(:\n")
    for _ in range(2):
        result = project.scan("net.py")
        assert project.analysed
        assert result.files[0].status == "failed"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_costs_nothing(project: Project) -> None:
    project.cache.mkdir(mode=0o500)
    assert project.lines() == []


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text(DATA)
    for number in range(6):
        (tmp_path / f"net{number}.py").write_text(NET.replace("helper", "shared") + "\n" * number + f"# {number}\n")
    work = Work(discover([str(tmp_path)]).files)
    alone = static_pass(work, catalog.rules, jobs=1)
    assert len(alone.findings) == 6
    assert static_pass(work, catalog.rules, jobs=3) == alone


def test_the_command_keeps_what_it_is_told_to(
    graphdoctor: Callable[..., subprocess.CompletedProcess[str]], project: Project, tmp_path: Path
) -> None:
    def scan(*options: str) -> Any:
        found = graphdoctor("scan", project.folder, "--no-run", "--output-format", "json", *options)
        return json.loads(found.stdout)["findings"]

    project.write("helper.py", DATA)
    kept = tmp_path / "kept"
    first = scan("--cache-dir", str(kept))
    assert first
    assert list(kept.glob("static/??/*"))
    assert scan("--cache-dir", str(kept), "--jobs", "2") == first
    none = tmp_path / "none"
    assert scan("--cache-dir", str(none), "--no-cache") == first
    assert not none.exists()


#: Of these the first scan needs some and the second none: each takes longer to import than the second scan takes.
HEAVY = {
    "libcst", "jinja2", "torch", "asyncio", "multiprocessing", "importlib.metadata", "email", "subprocess", "difflib",
    "platformdirs", "graphdoctor.model.runs", "graphdoctor.dynamic.parent.runner", "graphdoctor.fixes", "graphdoctor.rules",
    "graphdoctor.report.html.page",
}  # fmt: skip


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_scan_of_what_stayed_imports_nothing_heavy(project: Project, tmp_path: Path, output_format: str) -> None:
    project.write("helper.py", DATA)
    # Whether these comments have a use is judged without the rules, too.
    project.write("silent.py", NET.replace("return x\n", "return x  # noqa: GD101\n", 1))
    program = (
        "import sys\nfrom graphdoctor.entry import main\n"
        f"sys.argv = ['graphdoctor', 'scan', '--no-run', '--cache-dir', {str(tmp_path / 'kept')!r}, "
        f"'--output-format', {output_format!r}, {str(project.folder)!r}]\n"
        f"try:\n    main()\nfinally:\n    print(*({HEAVY!r} & sys.modules.keys()), file=sys.stderr)\n"
    )
    first, second = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False) for _ in range(2)
    ]
    assert "GD201" in first.stdout and "GD002" in first.stdout
    assert second.stdout.splitlines()[:5] == first.stdout.splitlines()[:5]
    assert "libcst" in first.stderr.split()
    assert second.stderr.split() == []


#: What is found there is only possible.
HALF = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    if x.dtype == torch.float16 and x.isinf().any():\n        x = x.clamp(-1, 1)\n    return x\n"


def test_what_nobody_is_shown_gets_no_fix(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HALF)
    files = discover([str(tmp_path)]).files
    (shown,) = static_pass(Work(files), catalog.rules).findings
    (hidden,) = static_pass(Work(files, possible=False), catalog.rules).findings
    assert shown.confidence == "possible"
    assert shown.fix is not None
    assert hidden == replace(shown, fix=None)


def test_what_was_kept_of_a_scan_that_did_not_show_it_is_not_used_for_one_that_does(
    graphdoctor: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(HALF)

    def scan(*options: str) -> Any:
        cached = ("--cache-dir", str(tmp_path / "kept"), "--output-format", "json")
        return json.loads(graphdoctor("scan", tmp_path / "net.py", "--no-run", *cached, *options).stdout)["findings"]

    assert scan() == []
    (shown,) = scan("--possible")
    assert shown["fix"]["edits"]


def test_a_file_that_is_put_beside_another_may_change_what_is_said_of_it(project: Project) -> None:
    project.write(
        "train.py", "import torch\nimport net\nm = torch.compile(net.Net())\ntorch.save(m.state_dict(), 'm')\n"
    )
    assert project.lines("train.py") == [("GD618", 4)]
    project.write("load.py", "import net\n\nPREFIX = '_orig_mod.'\n")
    assert project.lines("train.py") == []
    assert project.analysed
