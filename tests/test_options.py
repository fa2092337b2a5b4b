"""Every option of every command changes something: what is printed, written, or the exit code."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
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
        assert x.sum() < 1e9
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
    "helper.py": "def shift(x):\n    print('shift')\n    return x - 1\n",
    "stance.py": 'import torch\n\ntorch.compiler.set_stance("nowhere")\ntorch.compile(lambda x: x)\n',
    "uses.py": "import torch\nfrom acme import act\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    return act(x)\n",
    "set/net.py": NET,
    "set/helper.py": "def shift(x):\n    return x\n",
    "set/pyproject.toml": "[tool.graphdoctor]\nignore = ['GD101']\n",
    "own/pyproject.toml": "[tool.graphdoctor]\nrules = ['missing']\n",
    "env/lib/python3.11/site-packages/acme/__init__.py": "def act(x):\n    print('act')\n    return x\n",
    "env/pyvenv.cfg": "",
}

NO_RUN = ("scan", "net.py", "--no-run")
RUN = ("scan", "sampled.py", "--run", "--mode", "eval", "--no-verify")
FOLLOW = ("scan", "uses.py", "--no-run", "--follow", "acme")
#: What an option is added to. A second tuple is what it is compared with, where that is not the first one without it.
Case = tuple[tuple[str, ...], tuple[str, ...]]

SCAN: dict[str, Case] = {
    "run": (("scan", "sampled.py", "--mode", "eval"), ("--no-run",)),
    "target": (NO_RUN, ("--target", "quiet")),
    "inputs": (("scan", "net.py", "--mode", "eval", "--no-verify"), ("--input", "float32[4,2]")),
    "vary": (RUN, ("--vary", "x:0=3,5,7")),
    "device": (RUN, ("--device", "cuda")),
    "mode": (("scan", "sampled.py", "--no-verify"), ("--mode", "train")),
    "timeout": (RUN, ("--timeout", "0.01")),
    "readiness": (RUN, ("--readiness",)),
    "ladder": (RUN, ("--ladder",)),
    "repro": (NO_RUN, ("--repro", "repro.py")),
    "optimizer": (RUN, ("--optimizer", "sgd")),
    "compiled_autograd": ((*RUN, "--optimizer", "sgd"), ("--compiled-autograd",)),
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
    "each_fix": (("scan", "sampled.py", "--mode", "eval"), ("--each-fix",)),
    "jobs": (("scan", ".", "--no-run"), ("--jobs", "2")),
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
}
FIX = ("fix", "net.py", "--no-run")
FIX_CASES: dict[str, Case] = {
    name: (("fix", *base[1:]), added)
    for name, (base, added) in SCAN.items()
    if name in ("target", "select", "ignore", "extend_select", "extend_ignore", "per_file_ignores", "config",
                "isolated", "only_given", "exclude", "extend_exclude", "timeout", "device", "mode", "inputs", "run")
} | {
    "target_torch": (("fix", "stance.py", "--target-torch", "2.13"), ("--target-torch", "2.6")),
    "follow": (("fix", "uses.py", "--no-run", "--python", "env"), ("--follow", "acme")),
    "python": (("fix", "uses.py", "--no-run", "--follow", "acme"), ("--python", "env")),
    "unsafe_fixes": (FIX, ("--unsafe-fixes",)),
    "show_diff": (FIX, ("--diff",)),
    "interactive": (FIX, ("--interactive",)),
    "patch_third_party": (FIX, ("--patch-third-party", "packages.patch")),
    "no_verify": (("fix", "sampled.py", "--mode", "eval"), ("--no-verify",)),
}  # fmt: skip
COMPARE = ("compare", "base.json", "head.json")
COMPARE_CASES: dict[str, Case] = {
    "fail_on": (COMPARE, ("--fail-on", "any")),
    "max_breaks": (COMPARE, ("--max-breaks", "0")),
    "reports": (COMPARE, ("--report", "json=report.json")),
    "output_format": (COMPARE, ("--output-format", "markdown")),
    "output": (COMPARE, ("--output", "report.txt")),
    "exit_zero": ((*COMPARE, "--fail-on", "any"), ("--exit-zero",)),
}
TRACE = ("trace", "traces")
CASES: dict[tuple[str, str], Case] = {
    **{("scan", name): case for name, case in SCAN.items()},
    **{("fix", name): case for name, case in FIX_CASES.items()},
    **{("compare", name): case for name, case in COMPARE_CASES.items()},
    ("trace", "html"): (TRACE, ("--html", "report.html")),
    ("trace", "output_format"): (TRACE, ("--output-format", "json")),
    ("trace", "output"): (TRACE, ("--output", "report.txt")),
    ("trace", "exit_zero"): (TRACE, ("--exit-zero",)),
    ("explain", "config"): (("explain", "GD101"), ("--config", "rules=['missing']")),
    ("explain", "isolated"): (("explain", "GD101", "--config", "own/pyproject.toml"), ("--isolated",)),
    ("rules", "output_format"): (("rules",), ("--output-format", "json")),
    ("rules", "output"): (("rules",), ("--output", "rules.txt")),
    ("rules", "config"): (("rules",), ("--config", "rules=['missing']")),
    ("rules", "isolated"): (("rules", "--config", "own/pyproject.toml"), ("--isolated",)),
    ("init", "repo"): (("init", "--rev", "1"), ("--repo", "https://github.com/acme/other")),
    ("init", "rev"): (("init", "--repo", "https://github.com/acme/other"), ("--rev", "abc")),
    ("init", "yes"): (("init", "--repo", "https://github.com/acme/other", "--rev", "1"), ("--yes",)),
}
#: Options of commands that measure, by the test file that runs them; there each is checked with what it measures.
ELSEWHERE = {
    "bench": "tests/bench/test_bench.py",
    "advise": "tests/advise/test_advise.py",
    "lsp": "tests/lsp/test_session.py",
}

FORKS: list[int] = []
os.register_at_fork(before=lambda: FORKS.append(1))


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
    (folder / "traces" / "dedicated_log_torch_trace_rank_0_a.log").write_text("")
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


def observe(template: Path, folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the command does in a copy of the project: exit code, text, files, processes."""
    subprocess.run(["cp", "-R", f"{template}/.", str(folder)], check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GRAPHDOCTOR_CACHE_DIR", str(folder / "cache"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    FORKS.clear()
    result = CliRunner().invoke(cli.cli, arguments, input=NET if "-" in arguments else "")
    # Times and temporary folders are no effect.
    text = re.sub(r"\d+(\.\d+)? (ms|s)\b", "TIME", result.stdout + result.stderr).replace(str(folder), "FOLDER")
    files = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and ".git" not in file.parts and "static" not in file.parts and file.suffix != ".pyc"
    }
    kept = [str(part.relative_to(folder)) for part in folder.rglob("static") if part.is_dir()]
    return result.exit_code, text, files, kept, bool(FORKS) if "--no-run" in arguments else None


@pytest.mark.parametrize(("command", "option"), CASES)
def test_an_option_changes_something(
    command: str, option: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, added = CASES[command, option]
    if not {"--no-run", "-"} & {*base} and command in ("scan", "fix"):
        pytest.importorskip("torch")
    seen = []
    for name, arguments in (("without", base), ("with", (*base, *added))):
        (tmp_path / name).mkdir()
        seen.append(observe(template, tmp_path / name, arguments, monkeypatch))
    assert seen[0] != seen[1]
    # Nothing ends as an internal error or because the option is not known.
    assert "internal error" not in seen[1][1] and "No such option" not in seen[1][1]


def test_every_option_is_here() -> None:
    missing = [(command, option) for command, option in options() if (command, option) not in CASES]
    assert [entry for entry in missing if entry[0] not in ELSEWHERE and entry[1] not in ("help", "version")] == []


@pytest.mark.parametrize("command", ELSEWHERE)
def test_every_option_of_a_command_that_measures_is_run_elsewhere(command: str, root: Path) -> None:
    text = (root / ELSEWHERE[command]).read_text(encoding="utf-8")
    found = cli.cli.get_command(click.Context(cli.cli), command)
    assert found is not None
    flags = {str(each.name): each.opts for each in found.params if isinstance(each, click.Option)}
    missing = [name for name, opts in flags.items() if name != "help" and not any(f'"{opt}"' in text for opt in opts)]
    assert missing == []
