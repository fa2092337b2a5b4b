"""Which files the usage rules concern, and which calls into imported modules are followed."""

import textwrap
from pathlib import Path

import pytest

from graphdoctor.lint.engine import module_of
from graphdoctor.source.files import read
from graphdoctor.static.domain.project import Project
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.state.event_sink import EventSink
from graphdoctor.static.usage.modules import Modules
from graphdoctor.static.usage.relevance import Answers, Relevance
from graphdoctor.syntax.module import SourceModule

COMPILES = "import torch\n\n\ndef fast(net):\n    return torch.compile(net)\n"


def relevance(project: Project, file: Path, answers: Answers) -> tuple[Relevance, Modules]:
    """What is asked about ``file``, and what finds the modules that it imports."""
    source = SourceModule(file.name, file, *read(file))
    project.add(source)
    modules = Modules(Interpreter(project, EventSink()), module_of(source))
    return Relevance(source, modules, answers), modules


def write(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("main", "uses"),
    [
        ("from helpers import fast\n\nmodel = fast(net)", True),
        ("import helpers\n\nmodel = helpers.fast(net)", True),
        ("from helpers import *\n\nmodel = fast(net)", True),
        ("from .helpers import *\n\nmodel = fast(net)", True),
        ("from between import faster\n\nmodel = faster(net)", True),
        ("from between import fast\n\nmodel = fast(net)", True),
        ("from helpers import Runner\n\nRunner(net).go(x)", True),
        ("from helpers import Runner\n\nclass Mine(Runner):\n    pass", True),
        ("from helpers import fast\n\nrun(fast, net)", True),
        ("from helpers import slow\n\nmodel = slow(net)", False),
        ("from helpers import Later\n\nLater(net).go(x)", False),
        ("from helpers import Later\n\nLater(net).speed_up()", True),
        ("from helpers import Block\n\nclass Mine(Block):\n    pass", False),
    ],
)
def test_which_files_use_the_compiler(tmp_path: Path, main: str, uses: bool) -> None:
    helpers = f"""{COMPILES}

def slow(net):
    return net


class Runner:
    def __init__(self, net):
        self.net = torch.compile(net)


class Later:
    def __init__(self, net):
        self.net = net

    def speed_up(self):
        self.net = fast(self.net)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = fast(torch.nn.Linear(2, 2))
"""
    between = "from helpers import fast\n\n\ndef faster(net):\n    return fast(net).eval()\n"
    write(tmp_path, main=main, helpers=helpers, between=between)
    found, _ = relevance(Project(), tmp_path / "main.py", {})
    assert found.uses_compiler() is uses


def test_which_calls_are_followed(tmp_path: Path) -> None:
    wrap = "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\ndef wrap(net):\n    return DDP(net)\n"
    helpers = (
        "from parts import wrap\n\n\ndef build(net):\n    return wrap(net)\n\n\ndef name(net):\n    return str(net)\n"
    )
    write(tmp_path, main="import helpers\n\n\ndef f():\n    pass\n", helpers=helpers, parts=wrap)
    project = Project()
    found, modules = relevance(project, tmp_path / "main.py", {})
    main = project.source(tmp_path / "main.py")
    assert main is not None
    imported = modules.find(main, "helpers")
    assert imported is not None
    parts = modules.find(imported, "parts")
    assert parts is not None
    assert found.is_followed(main, "f")
    assert found.is_followed(imported, "build")
    assert found.is_followed(parts, "wrap.inner")
    assert not found.is_followed(imported, "name")


def test_files_share_what_is_known_of_modules_and_the_paths_on_which_it_depends(tmp_path: Path) -> None:
    helpers = "from parts import slow\n\n\ndef build(net):\n    return slow(net)\n"
    main = "from helpers import build\n\nmodel = build(net)\n"
    write(tmp_path, first=main, second=main, helpers=helpers, parts="def slow(net):\n    return net\n")
    project, answers = Project(), Answers()
    for name in ("first", "second"):
        file = tmp_path / f"{name}.py"
        source = SourceModule(file.name, file, *read(file))
        info = module_of(source)
        project.add(source)
        found = Relevance(source, Modules(Interpreter(project, EventSink()), info), answers)
        assert not found.uses_compiler()
        assert str(tmp_path / "parts.py") in info.looked_for
    assert set(answers) == {(str(tmp_path / "helpers.py"), "build", True)}
