"""Every option of every command changes something: what is printed, written, or the exit code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from graphdoctor import cli

NET = """\
import torch
from torch import nn
from helper import shift


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    def forward(self, x, limit=None):
        print("called")
        x = self.first(x)
        for layer in self.second:
            x = layer(x)
        if torch.isnan(x).any():
            raise ValueError("not a number")
        if x.dtype == torch.float16 and x.isinf().any():
            x = x.clamp(max=1)
        return shift(x)


def quiet(x):
    return x + 1
"""
SAMPLE = "\n\ndef graphdoctor_target():\n    return Net(), (torch.ones(4, 2),)\n"
FILES = {
    "net.py": NET,
    "sampled.py": NET + SAMPLE,
    "clean.py": "from torch import nn\n\n\nclass Clean(nn.Module):\n    def forward(self, x):\n        return x + 1\n",
    "ready.py": "import torch\nfrom torch import nn\n\n\nclass Two(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.a = nn.Linear(2, 2)\n        self.b = nn.Linear(2, 2)\n\n"
    "    def forward(self, x):\n        return self.b(self.a(x))\n\n\n"
    "def graphdoctor_target():\n    return Two(), (torch.ones(4, 2),)\n",
    "helper.py": "def shift(x):\n    print('shift')\n    return x - 1\n",
    "stance.py": 'import torch\n\ntorch.compiler.set_stance("nowhere")\ntorch.compile(lambda x: x)\n',
    "uses.py": "import torch\nfrom acme import act\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    return act(x)\n",
    "modes.py": "import torch\nfrom torch import nn\n\n\nclass Modes(nn.Module):\n    def forward(self, x):\n"
    "        print('called')\n        if self.training:\n            raise RuntimeError('eval only')\n        return x\n\n\n"
    "def graphdoctor_target():\n    return Modes(), (torch.ones(2),)\n",
    # One break has a fix, the other has none.
    "twice.py": "import torch\n\n\ndef f(x):\n    print('called')\n    return x[[x[0].argmax(), x[1].argmax()]]\n\n\n"
    "def graphdoctor_target():\n    return f, (torch.ones(4, 2),)\n",
    "set/net.py": NET,
    "set/helper.py": "def shift(x):\n    return x\n",
    "set/pyproject.toml": "[tool.graphdoctor]\nignore = ['GD101']\n",
    "own/pyproject.toml": "[tool.graphdoctor]\nrules = ['missing']\n",
    "asks/pyproject.toml": "[tool.graphdoctor]\nrules = ['checks']\n",
    "asks/checks/broken.py": "CODE = 'GD900'\n",
    "asks/net.py": NET,
    "checks/broken.py": "CODE = 'GD900'\n",
    "env/lib/python3.11/site-packages/acme/__init__.py": "def act(x):\n    print('act')\n    return x\n",
    "env/pyvenv.cfg": "",
}

NO_RUN = ("scan", "net.py", "--no-run")
RUN = ("scan", "sampled.py", "--run", "--mode", "eval", "--no-verify")
#: Of models that fail, readiness is told without being asked for.
READY = ("scan", "ready.py", "--run", "--mode", "eval", "--no-verify")
TRAIN = ("scan", "ready.py", "--run", "--mode", "train", "--no-verify")
FOLLOW = ("scan", "uses.py", "--no-run", "--follow", "acme")
#: What an option is added to. A second tuple is what it is compared with, where that is not the first one without it.
Case = tuple[tuple[str, ...], tuple[str, ...]]

SCAN: dict[str, Case] = {
    "run": (("scan", "sampled.py", "--mode", "eval"), ("--no-run",)),
    "target": (NO_RUN, ("--target", "quiet")),
    "inputs": (("scan", "net.py", "--mode", "eval", "--no-verify"), ("--input", "float32[4,2]")),
    "shrink": (("scan", "sampled.py", "--run", "--mode", "eval", "--no-verify"), ("--shrink", "1")),
    "vary": (RUN, ("--vary", "x:0=3,5,7")),
    "device": (RUN, ("--device", "cuda:99")),
    "mode": (("scan", "sampled.py", "--no-verify"), ("--mode", "train")),
    "timeout": (RUN, ("--timeout", "0.01")),
    "readiness": (READY, ("--readiness",)),
    "ladder": (READY, ("--ladder",)),
    "audit": (("scan", "modes.py", "--run", "--mode", "train", "--no-verify"), ("--audit",)),
    "export": (("scan", "modes.py", "--run", "--mode", "eval", "--no-verify"), ("--export",)),
    "repro": (READY, ("--repro", "repro.py")),
    "optimizer": (TRAIN, ("--optimizer", "sgd")),
    "compiled_autograd": ((*TRAIN, "--optimizer", "sgd"), ("--compiled-autograd",)),
    "advise": (RUN, ("--advise",)),
    "select": (NO_RUN, ("--select", "GD1")),
    "ignore": (NO_RUN, ("--ignore", "GD1")),
    "extend_select": ((*NO_RUN, "--select", "GD2"), ("--extend-select", "GD101")),
    "extend_ignore": (NO_RUN, ("--extend-ignore", "GD101")),
    "per_file_ignores": (NO_RUN, ("--per-file-ignores", "net.py:GD101")),
    "exclude": (("scan", ".", "--no-run"), ("--exclude", "set")),
    "extend_exclude": (("scan", ".", "--no-run"), ("--extend-exclude", "set")),
    "target_torch": (("scan", "stance.py", "--target-torch", "2.13"), ("--target-torch", "2.6")),
    "follow": (("scan", "uses.py", "--no-run", "--python", "env"), ("--follow", "acme")),
    "python": (FOLLOW, ("--python", "env")),
    "config": (NO_RUN, ("--config", "ignore=['GD101']")),
    "isolated": (("scan", "set/net.py", "--no-run"), ("--isolated",)),
    "fail_third_party": ((*FOLLOW, "--python", "env"), ("--fail-third-party",)),
    "stdin_filename": (("scan", "-"), ("--stdin-filename", "typed.py")),
    "statistics": (NO_RUN, ("--statistics",)),
    "possible": (NO_RUN, ("--possible",)),
    "fix": (NO_RUN, ("--fix",)),
    "unsafe_fixes": ((*NO_RUN, "--diff"), ("--unsafe-fixes",)),
    "show_diff": (NO_RUN, ("--diff",)),
    "only_given": (NO_RUN, ("--only-given",)),
    "no_verify": (("scan", "sampled.py", "--mode", "eval"), ("--no-verify",)),
    "each_fix": (("scan", "sampled.py", "--mode", "eval", "--verbose"), ("--each-fix",)),
    "quick": ((*RUN, "--verbose"), ("--quick",)),
    "deep": (("scan", "modes.py", "--run", "--mode", "train", "--no-verify"), ("--deep",)),
    "verbose": (NO_RUN, ("--verbose",)),
    "no_cache": (NO_RUN, ("--no-cache",)),
    "cache_dir": (NO_RUN, ("--cache-dir", "kept")),
    "tree": (RUN, ("--tree",)),
    "html": (NO_RUN, ("--html", "report.html")),
    "no_source": (NO_RUN, ("--no-source",)),
    "reports": (NO_RUN, ("--report", "json=report.json")),
    "output_format": (NO_RUN, ("--output-format", "github")),
    "output": (NO_RUN, ("--output", "report.txt")),
    "baseline": (NO_RUN, ("--baseline", "base.json")),
    "diff_base": (NO_RUN, ("--diff-base", "HEAD")),
    "fail_on": (NO_RUN, ("--fail-on", "none")),
    "max_breaks": (NO_RUN, ("--max-breaks", "9")),
    "exit_zero": (NO_RUN, ("--exit-zero",)),
    "rules": (NO_RUN, ("--rules", "checks")),
    "allow_project_rules": (("scan", "asks/net.py", "--no-run"), ("--allow-project-rules",)),
}
FIX = ("fix", "net.py", "--no-run")
FIX_CASES: dict[str, Case] = {
    name: (("fix", *base[1:]), added)
    for name, (base, added) in SCAN.items()
    if name in ("target", "select", "ignore", "extend_select", "extend_ignore", "per_file_ignores", "config",
                "isolated", "only_given", "rules", "allow_project_rules", "exclude", "extend_exclude", "timeout", "device", "inputs", "run")
} | {
    "target_torch": (("fix", "stance.py", "--target-torch", "2.13"), ("--target-torch", "2.6")),
    "follow": (("fix", "uses.py", "--no-run", "--python", "env"), ("--follow", "acme")),
    "python": (("fix", "uses.py", "--no-run", "--follow", "acme"), ("--python", "env")),
    "unsafe_fixes": (FIX, ("--unsafe-fixes",)),
    "show_diff": (FIX, ("--diff",)),
    "interactive": (FIX, ("--interactive",)),
    "mode": (("fix", "modes.py", "--mode", "eval"), ("--mode", "train")),
    "patch_third_party": (FIX, ("--patch-third-party", "packages.patch")),
    "no_verify": (("fix", "sampled.py", "--mode", "eval"), ("--no-verify",)),
    "rounds": (("fix", "twice.py"), ("--rounds", "1")),
}  # fmt: skip
COMPARE = ("compare", "base.json", "head.json")
COMPARE_CASES: dict[str, Case] = {
    "fail_on": (COMPARE, ("--fail-on", "any")),
    "max_breaks": (COMPARE, ("--max-breaks", "0")),
    "html": (COMPARE, ("--html", "report.html")),
    "reports": (COMPARE, ("--report", "json=report.json")),
    "output_format": (COMPARE, ("--output-format", "markdown")),
    "output": (COMPARE, ("--output", "report.txt")),
    "exit_zero": ((*COMPARE, "--fail-on", "any"), ("--exit-zero",)),
}
TRACE = ("trace", "traces")
BENCH = ("bench", "clean.py", "--strategies", "eager")
MEASURED = (*BENCH, "--target", "Clean", "--input", "float32[2]", "--seconds", "0.01")
ADVISE = ("advise", "clean.py")
CASES: dict[tuple[str, str], Case] = {
    **{("scan", name): case for name, case in SCAN.items()},
    **{("fix", name): case for name, case in FIX_CASES.items()},
    **{("compare", name): case for name, case in COMPARE_CASES.items()},
    ("trace", "html"): (TRACE, ("--html", "report.html")),
    ("trace", "reports"): (TRACE, ("--report", "sarif=trace.sarif")),
    ("trace", "output_format"): (TRACE, ("--output-format", "json")),
    ("trace", "output"): (TRACE, ("--output", "report.txt")),
    ("trace", "exit_zero"): (TRACE, ("--exit-zero",)),
    ("trace", "follow"): ((*TRACE, "--exit-zero"), ("--follow", "--idle", "0")),
    ("trace", "against"): (TRACE, ("--against", "missing")),
    ("trace", "idle"): (TRACE, ("--idle", "1")),
    ("explain", "rules"): (("explain", "GD900"), ("--rules", "checks")),
    ("explain", "allow_project_rules"): (
        ("explain", "GD101", "--config", "asks/pyproject.toml"),
        ("--allow-project-rules",),
    ),
    ("rules", "rules"): (("rules",), ("--rules", "checks")),
    ("rules", "allow_project_rules"): (("rules", "--config", "asks/pyproject.toml"), ("--allow-project-rules",)),
    ("explain", "config"): (("explain", "GD101"), ("--config", "rules=['missing']")),
    ("explain", "isolated"): (("explain", "GD101", "--config", "own/pyproject.toml"), ("--isolated",)),
    ("rules", "output_format"): (("rules",), ("--output-format", "json")),
    ("rules", "output"): (("rules",), ("--output", "rules.txt")),
    ("rules", "config"): (("rules",), ("--config", "rules=['missing']")),
    ("rules", "isolated"): (("rules", "--config", "own/pyproject.toml"), ("--isolated",)),
    ("bench", "target"): (BENCH, ("--target", "Clean")),
    ("bench", "device"): (BENCH, ("--device", "cuda:99")),
    ("bench", "output"): (MEASURED, ("--output", "report.txt")),
    ("advise", "inputs"): (ADVISE, ("--input", "nothing")),
    ("advise", "device"): (ADVISE, ("--device", "cuda:99")),
    ("advise", "time_limit"): (("advise", "ready.py"), ("--time-limit", "0.01")),
    ("advise", "output"): (("advise", "ready.py"), ("--output", "report.txt")),
    ("init", "repo"): (("init", "--rev", "1"), ("--repo", "https://github.com/acme/other")),
    ("init", "rev"): (("init", "--repo", "https://github.com/acme/other"), ("--rev", "abc")),
    ("init", "yes"): (("init", "--repo", "https://github.com/acme/other", "--rev", "1"), ("--yes",)),
}
#: Options of commands that measure, by the test files that run them; there each is checked with what it measures.
ELSEWHERE = {
    "bench": "tests/bench/test_bench.py",
    "advise": "tests/advise/test_advise.py",
    "lsp": "tests/lsp/test_session.py",
    "verify": "tests/changes/test_verify.py",
    "run": "tests/program/test_*.py",
    "fleet": "tests/fleet/test_*.py",
}

#: A record of a graph break, as torch traces it.
BREAK = (
    "V1121 08:01:33.923000 31001 torch/_dynamo/utils.py:2350] "
    '{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, '
    '"frame_id": 0, "frame_compile_id": 0, "attempt": 0}\n'
    "\tGraph break in user code at /job/net.py:3\n\tGraph Break Reason: a call\n\t\n\tUser code traceback:\n"
    '\t  File "/job/net.py", line 3, in forward\n\t    print(x)\n'
)

#: Counts the processes that a command forks. In the process of the tests, which may have threads, none is forked.
COUNT_FORKS = """
import contextlib, os, sys
from graphdoctor import cli

forks = []
os.register_at_fork(before=lambda: forks.append(1))
with contextlib.suppress(SystemExit):
    cli.main(sys.argv[1:])
print(len(forks))
"""


def options() -> Iterator[tuple[str, str]]:
    """Every command with each of its options."""
    context = click.Context(cli.cli)
    for name in cli.cli.list_commands(context):
        command = cli.cli.get_command(context, name)
        assert command is not None
        yield from ((name, str(each.name)) for each in command.params if isinstance(each, click.Option))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in a git repository, with reports and a trace."""
    folder = tmp_path_factory.mktemp("template")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "traces").mkdir()
    for rank in (0, 1):
        (folder / "traces" / f"dedicated_log_torch_trace_rank_{rank}_a.log").write_text(BREAK)
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "base"], check=True)
    here = os.getcwd()
    os.chdir(folder)
    try:
        for name, file in (("base.json", "clean.py"), ("head.json", "net.py")):
            CliRunner().invoke(cli.cli, ["scan", file, "--no-run", "--report", f"json={name}"])
    finally:
        os.chdir(here)
    return folder


@dataclass(frozen=True)
class Project:
    """Copies of one project. What was observed once is not run again: many options are added to the same command."""

    template: Path
    copies: Path
    seen: dict[tuple[str, ...], Any]

    def observe(self, arguments: tuple[str, ...]) -> Any:
        """What the command does: exit code, text, files."""
        if arguments not in self.seen:
            self.seen[arguments] = self._observe(arguments, self.copies / str(len(self.seen)))
        return self.seen[arguments]

    def _observe(self, arguments: tuple[str, ...], folder: Path) -> Any:
        shutil.copytree(self.template, folder)
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(folder)
            patched.setenv("GRAPHDOCTOR_CACHE_DIR", str(folder / "cache"))
            patched.delenv("VIRTUAL_ENV", raising=False)
            result = CliRunner().invoke(cli.cli, arguments, input=NET if "-" in arguments else "")
        # Times and folders are no effect.
        text = re.sub(r"\d+(\.\d+)? (ms|s)\b", "TIME", result.stdout + result.stderr).replace(str(folder), "FOLDER")
        files = {
            str(file.relative_to(folder)): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file() and ".git" not in file.parts and "static" not in file.parts and file.suffix != ".pyc"
        }
        kept = [str(part.relative_to(folder)) for part in folder.rglob("static") if part.is_dir()]
        return result.exit_code, text, files, kept


@pytest.fixture(scope="module")
def project(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(template, tmp_path_factory.mktemp("copies"), {})


@pytest.mark.parametrize(("command", "option"), CASES)
def test_an_option_changes_something(command: str, option: str, project: Project) -> None:
    base, added = CASES[command, option]
    if not {"--no-run", "-"} & {*base} and command in ("scan", "fix", *ELSEWHERE):
        pytest.importorskip("torch")
    before, after = project.observe(base), project.observe((*base, *added))
    assert before != after
    # Nothing ends as an internal error or because the option is not known.
    assert "internal error" not in after[1] and "No such option" not in after[1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("arguments", [("scan", ".", "--no-run", "--no-cache"), ("trace", "traces")])
def test_jobs_are_processes_on_a_terminal_too(template: Path, arguments: tuple[str, ...]) -> None:
    # A thread counts the seconds of the progress line there.
    reader, terminal = os.openpty()
    try:
        for jobs, forked in (("1", 0), ("2", 2)):
            command = [sys.executable, "-c", COUNT_FORKS, *arguments, "--jobs", jobs]
            done = subprocess.run(command, cwd=template, stdout=subprocess.PIPE, stderr=terminal, text=True, check=True)
            assert int(done.stdout.splitlines()[-1]) == forked
    finally:
        os.close(terminal)
        os.close(reader)


def test_every_option_is_here() -> None:
    known = {*CASES, ("scan", "jobs"), ("trace", "jobs")}
    missing = [(command, option) for command, option in options() if (command, option) not in known]
    assert [entry for entry in missing if entry[0] not in ELSEWHERE and entry[1] not in ("help", "version")] == []


@pytest.mark.parametrize("command", ELSEWHERE)
def test_every_option_of_a_command_that_measures_is_run_elsewhere(command: str, root: Path) -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(root.glob(ELSEWHERE[command])))
    found = cli.cli.get_command(click.Context(cli.cli), command)
    assert found is not None
    flags = {str(each.name): each.opts for each in found.params if isinstance(each, click.Option)}
    # ``run`` reports as ``scan`` does, and has its options for that from the same decorators.
    known = {"help"} | {name for of, name in CASES if of == command or (command == "run" and of == "scan")}
    wanted = {name: opts for name, opts in flags.items() if name not in known}
    assert [name for name, opts in wanted.items() if not any(f'"{opt}"' in text for opt in opts)] == []
