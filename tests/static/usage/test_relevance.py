"""Which files the usage rules concern, and which calls into imported modules are followed."""

import textwrap
from pathlib import Path

import pytest

from graphdoctor.source.files import read
from graphdoctor.static.usage.relevance import Relevance
from graphdoctor.syntax.module import SourceModule

COMPILES = "import torch\n\n\ndef fast(net):\n    return torch.compile(net)\n"


def relevance(folder: Path, main: str, **modules: str) -> tuple[Relevance, dict[str, SourceModule]]:
    """What is known of ``main.py`` beside these modules, and the modules."""
    sources: dict[str, SourceModule] = {}
    for name, text in {"main": main, **modules}.items():
        file = folder / f"{name}.py"
        file.write_text(textwrap.dedent(text))
        sources[name] = SourceModule(file.name, file, *read(file))
    return Relevance(sources["main"], lambda _, name: sources.get(name.lstrip("."))), sources


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
    found, _ = relevance(tmp_path, main, helpers=helpers, between=between)
    assert found.uses_compiler() is uses


def test_which_calls_are_followed(tmp_path: Path) -> None:
    wrap = "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\ndef wrap(net):\n    return DDP(net)\n"
    helpers = (
        "from parts import wrap\n\n\ndef build(net):\n    return wrap(net)\n\n\ndef name(net):\n    return str(net)\n"
    )
    found, sources = relevance(tmp_path, "def f():\n    pass", helpers=helpers, parts=wrap)
    assert found.is_followed(sources["main"], "f")
    assert found.is_followed(sources["helpers"], "build")
    assert found.is_followed(sources["parts"], "wrap.inner")
    assert not found.is_followed(sources["helpers"], "name")
