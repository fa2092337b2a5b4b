"""Static commands execute nothing of what they are given: a tree that plants code wherever a tool may look for some.

Each planted piece leaves a file when it is executed. Every command runs inside of a copy of the tree.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

MODEL = """\
import torch

from helper import show


class Net(torch.nn.Module):
    def forward(self, x):
        show(x)
        print(x.shape)
        return x


def graphdoctor_target():
    return Net(), (torch.ones(2),)
"""
#: Modules that the static commands import, or that Python itself looks for.
SHADOWS = (
    *("argparse", "ast", "asyncio", "click", "codecs", "collections", "configparser", "contextlib", "copy"),
    *("dataclasses", "encodings", "enum", "fnmatch", "functools", "gc", "gettext", "glob", "hashlib"),
    *("importlib", "inspect", "io", "itertools", "jinja2", "json", "libcst", "linecache", "locale", "logging"),
    *("lsprotocol", "markupsafe", "multiprocessing", "numpy", "operator", "os", "pathlib", "pkgutil", "platform"),
    *("platformdirs", "pygls", "random", "re", "readline", "shlex", "shutil", "signal", "site", "sitecustomize"),
    *("socket", "string", "subprocess", "sys", "tempfile", "textwrap", "threading", "tokenize", "tomli"),
    *("tomllib", "traceback", "types", "typing", "typing_extensions", "usercustomize", "warnings", "weakref"),
    *("yaml", "zlib"),
)
#: What ``python -m graphdoctor`` runs in place of the installed one, before this could have a say.
OURS = ("graphdoctor/__init__", "graphdoctor/__main__", "graphdoctor/entry", "graphdoctor/rules/__init__")
SETTINGS = """\
[tool.graphdoctor]
rules = ["lint", "linked", "lib/../lint"]
select = ["ALL", "ACME1"]
follow = ["followed"]
"""


@dataclass(frozen=True)
class Tree:
    """A copy of the planted tree, and the folder in which executed pieces leave their names."""

    top: Path
    executed: Path
    script: Path

    def run(self, *command: str, text: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
        names = ("PYTHONPATH", "PYTHONSAFEPATH", "VIRTUAL_ENV")
        env = {name: value for name, value in os.environ.items() if name not in names} | variables
        return subprocess.run(command, cwd=self.top, env=env, input=text.encode(), capture_output=True, timeout=120)

    def graphdoctor(self, *arguments: str, text: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
        """The installed command: a script, whose own folder is the first in which Python looks for modules."""
        return self.run(sys.executable, str(self.script), *arguments, text=text, **variables)

    def started(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(self.script), *arguments]
        return subprocess.Popen(command, cwd=self.top, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def left(self) -> list[str]:
        return sorted(file.name for file in self.executed.iterdir())


def code(executed: Path, name: str) -> str:
    """Python that leaves the file ``name``, whatever else was shadowed."""
    return f"import posix; posix.close(posix.open({str(executed / name)!r}, posix.O_CREAT | posix.O_WRONLY, 0o600))\n"


def plant(top: Path, executed: Path) -> None:
    """Code in settings, rules, modules, environments and the files of an action."""

    def python(path: str, text: str = "") -> None:
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code(executed, path.replace("/", ":")) + text)

    (top / "pyproject.toml").write_text(SETTINGS)
    (top / "sub").mkdir(parents=True)
    (top / "sub" / "setup.cfg").write_text("[graphdoctor]\nrules = ../lint\n")
    (top / "sub" / "model.py").write_text(MODEL.replace("from helper import show", "show = print"))
    (top / "graphdoctor.toml").write_text(SETTINGS)
    for name in ("rule", "_shared", "__init__", "conftest"):
        python(f"lint/{name}.py")
    (top / "linked").symlink_to("lint")
    (top / "lib").mkdir()
    (top / "model.py").write_text(MODEL)
    (top / "helper.py").write_text("def show(x):\n    print(x)\n")
    for name in (*SHADOWS, "conftest", "setup", "noxfile", "__init__", "__main__"):
        python(f"{name}.py")
    for name in ("torch/__init__", "torch/version", *OURS):
        python(f"{name}.py", "__version__ = '2.9.0'\n")
    python("action/graphdoctor.py")
    python("tools/pr_comment.py")
    (top / "action.yml").write_text(
        f"runs: {{using: composite, steps: [{{shell: bash, run: touch {executed}/yml}}]}}\n"
    )
    site = top / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (top / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    for folder in (top, site):
        (folder / "planted.pth").write_text(code(executed, "pth"))
    python(f"{site.relative_to(top)}/followed/__init__.py")
    python(f"{site.relative_to(top)}/sitecustomize.py")
    (top / "linked.html").write_text("{{ ''.__class__ }}")


def shell(section: str, executed: Path, name: str) -> str:
    """A command for git that leaves its name; what is filtered stays as it is."""
    command = f"touch '{executed}/git-{name}'; " + ("cat" if name in ("clean", "smudge") else "true")
    return f"!{command}" if section in ("alias", "credential") else command


def plant_in_git(top: Path, executed: Path, base: Path) -> None:
    """Two commits, and programs wherever the configuration of git can name one, here and in a submodule."""

    def git(folder: Path, *arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")
        subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, timeout=60)

    module = base / "module"
    for folder in (module, top):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
    (module / "part.py").write_text(MODEL)
    git(module, "add", "-A")
    git(module, "commit", "-q", "-m", "module")
    (top / "old.py").write_text("".join(f"x{number} = {number}\n" for number in range(50)))
    git(top, "submodule", "add", "-q", str(module), "module")
    git(top, "add", "-A", "--force")
    git(top, "commit", "-q", "-m", "base")
    git(top, "mv", "old.py", "new.py")
    git(top, "commit", "-q", "-m", "head")
    (top / "new.py").write_text((top / "new.py").read_text().replace("x7", "y"))
    (top / ".gitattributes").write_text("*.py filter=planted diff=planted\nmodel.py filter=served\n")
    programs = {
        "core": ("fsmonitor", "pager", "sshCommand", "editor", "gitProxy", "askPass"),
        "diff": ("external",),
        'diff "planted"': ("textconv", "command"),
        'filter "planted"': ("clean", "smudge"),
        'filter "served"': ("process",),
        "alias": ("rev-parse", "merge-base", "ls-tree", "cat-file", "diff-index"),
        "credential": ("helper",),
        "gpg": ("program",),
        "uploadpack": ("packObjectsHook",),
    }
    lines = [f"[core]\n hooksPath = {executed.parent / 'hooks'}"]
    for section, names in programs.items():
        lines += [f"[{section}]", *(f' {name} = "{shell(section, executed, name)}"' for name in names)]
    settings = "\n".join(lines) + "\n"
    hooks = executed.parent / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "pre-commit", "query-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{executed}/git-{name}'\n")
        (hooks / name).chmod(0o755)
    for config in (top / ".git" / "config", top / ".git" / "modules" / "module" / "config"):
        with config.open("a") as out:
            out.write(settings)
    # A folder of the tree that git takes for a repository of its own.
    bare = top / "sub" / "bare"
    git(top, "clone", "-q", "--bare", str(module), str(bare))
    with (bare / "config").open("a") as out:
        out.write(f"{settings}[core]\n bare = false\n worktree = ..\n")
    (bare / "model.py").write_text(MODEL)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    base = tmp_path_factory.mktemp("planted")
    executed, top = base / "executed", base / "tree"
    executed.mkdir()
    top.mkdir()
    plant(top, executed)
    plant_in_git(top, executed, base)
    fake = top / "git"
    fake.write_text(f"#!/bin/sh\ntouch '{executed}/git-of-the-tree'\nPATH=/usr/bin:/bin exec git \"$@\"\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    script = base / "bin" / "graphdoctor"
    script.parent.mkdir()
    script.write_text("import sys\nfrom graphdoctor.entry import main\nsys.exit(main())\n")
    for file in executed.iterdir():
        file.unlink()
    return Tree(top, executed, script)


@pytest.fixture
def tree(planted: Tree, tmp_path: Path) -> Tree:
    """A copy, because some commands write."""
    top = tmp_path / "tree"
    shutil.copytree(planted.top, top, symlinks=True)
    for file in planted.executed.iterdir():
        file.unlink()
    return Tree(top, planted.executed, planted.script)


STATIC = {
    "scan --no-run": ("scan", "--no-run", "model.py"),
    "scan of the tree": ("scan", "."),
    "scan of a folder": ("scan", "sub"),
    "scan of a folder by several processes": ("scan", ".", "--jobs", "2", "--no-cache"),
    "scan with all reports": (
        "scan",
        ".",
        "--no-run",
        *(
            word
            for name in ("json", "markdown", "html", "sarif", "gitlab", "junit")
            for word in ("--report", f"{name}=-")
        ),
    ),
    "scan --diff-base": ("scan", ".", "--diff-base", "HEAD~1"),
    "scan --diff": ("scan", ".", "--diff", "--unsafe-fixes"),
    "scan --fix": ("scan", "--no-run", "--fix", "model.py", "helper.py"),
    "scan --statistics": ("scan", ".", "--statistics"),
    "scan with a configuration file": ("scan", ".", "--config", "graphdoctor.toml"),
    "fix": ("fix", "."),
    "fix --no-run": ("fix", "--no-run", "model.py"),
    "explain": ("explain", "GD101"),
    "explain a graph break": ("explain", "GB0059"),
    "rules": ("rules",),
    "rules as HTML": ("rules", "--output-format", "html"),
    "init": ("init", "--yes", "--repo", "https://github.com/acme/graphdoctor"),
    "version": ("--version",),
    "help": ("scan", "--help"),
}


@pytest.mark.parametrize("name", STATIC)
def test_no_command_executes_what_is_planted(tree: Tree, name: str) -> None:
    done = tree.graphdoctor(*STATIC[name])
    assert tree.left() == []
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr.startswith(b"graphdoctor: internal error")


@pytest.mark.parametrize("name", ["scan of the tree", "scan --diff-base", "scan --fix", "explain", "rules", "init"])
def test_python_m_executes_nothing_of_the_working_folder(tree: Tree, name: str) -> None:
    """But for what Python itself would run in place of graphdoctor."""
    shutil.rmtree(tree.top / "graphdoctor")
    done = tree.run(sys.executable, "-m", "graphdoctor", *STATIC[name])
    assert tree.left() == []
    assert done.returncode in (0, 1), done.stderr


def test_a_folder_that_looks_like_a_repository_is_not_asked(tree: Tree) -> None:
    """Git refuses it since version 2.38; an older one reads it, and is told to run nothing."""
    tree.graphdoctor("scan", "--no-run", "sub/bare/model.py", "--diff-base", "HEAD")
    assert tree.left() == []


def test_the_entries_of_the_hooks_execute_nothing(tree: Tree, root: Path) -> None:
    for hook in yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text()):
        command, *arguments = hook["entry"].split()
        assert command == "graphdoctor"
        assert tree.graphdoctor(*arguments, "model.py", "helper.py", "sub/model.py").returncode in (0, 1)
    assert tree.left() == []


def test_the_hook_that_init_writes_executes_nothing(tree: Tree) -> None:
    (tree.top / ".pre-commit-config.yaml").unlink(missing_ok=True)
    assert tree.graphdoctor("init", "--yes").returncode == 0
    config = yaml.safe_load((tree.top / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    entries = [hook["entry"].split() for hook in hooks if "entry" in hook]
    for command, *arguments in entries:
        assert command == "graphdoctor"
        assert tree.graphdoctor(*arguments, "model.py").returncode == 1
    assert tree.left() == []


def test_the_standard_input_compare_and_trace_execute_nothing(tree: Tree) -> None:
    scan = ("scan", "-", "--stdin-filename", "model.py")
    assert tree.graphdoctor(*scan, text=MODEL).returncode == 1
    assert b"is_compiling" in tree.graphdoctor(*scan, "--fix", text=MODEL).stdout
    for name in ("a", "b"):
        tree.graphdoctor("scan", ".", "--output-format", "json", "--output", f"{name}.json")
    assert tree.graphdoctor("compare", "a.json", "b.json", "--output-format", "html").returncode == 0
    assert tree.graphdoctor("trace", ".").returncode in (0, 1, 2)
    assert tree.left() == []


def test_the_language_server_executes_nothing(tree: Tree) -> None:
    pytest.importorskip("pygls")
    uri = (tree.top / "model.py").as_uri()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": MODEL}
    begin = {"processId": None, "rootUri": tree.top.as_uri(), "capabilities": {}}
    server = tree.started("lsp")
    assert server.stdin is not None and server.stdout is not None
    for message in (
        {"id": 1, "method": "initialize", "params": begin},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
    ):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        server.stdin.flush()
    answer = b""
    while b"GD101" not in answer and (part := server.stdout.read1()):
        answer += part
    server.kill()
    server.communicate()
    assert b"GD101" in answer
    assert tree.left() == []


def test_git_is_not_looked_for_in_the_working_folder(tree: Tree) -> None:
    for path in (".", ""):
        done = tree.graphdoctor(*STATIC["scan --diff-base"], PATH=f"{path}{os.pathsep}{os.environ['PATH']}")
        assert done.returncode in (0, 1), done.stderr
    assert tree.left() == []


UNSAFE: dict[str, tuple[Callable[[Tree], Sequence[str]], str]] = {
    "rules that were allowed": (lambda tree: [str(tree.script), "scan", ".", "--allow-project-rules"], "lint:rule.py"),
    "a module of the working folder": (lambda tree: ["-c", "import shlex"], "shlex.py"),
    "the file of a module": (lambda tree: ["model.py"], "torch:__init__.py"),
    "python -m in the working folder": (lambda tree: ["-m", "graphdoctor", "rules"], "graphdoctor:__init__.py"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_is_planted_does_leave_its_name(tree: Tree, name: str) -> None:
    """A check of the check: who executes it finds the file."""
    arguments, file = UNSAFE[name]
    tree.run(sys.executable, *arguments(tree))
    assert file in tree.left()


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("status",), "git-fsmonitor"),
        (("-c", "core.fsmonitor=false", "diff", "HEAD~1", "new.py"), "git-command"),
        (("-c", "core.fsmonitor=false", "diff", "--no-ext-diff", "HEAD~1", "new.py"), "git-textconv"),
        (("diff-index", "--patch", "HEAD~1", "model.py"), "git-process"),
        (("diff-index", "--name-status", "--find-renames", "HEAD~1"), "git-clean"),
    ],
)
def test_what_is_planted_in_git_does_leave_its_name(tree: Tree, command: Sequence[str], file: str) -> None:
    (tree.top / "git").unlink()
    tree.run("git", *command)
    assert file in tree.left()
