"""A module without its function bodies: the same definitions, and the same bodies on demand."""

from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.source.module import SourceModule
from graphdoctor.source.skeleton import Skeleton, skeleton
from graphdoctor.source.walk import walk
from graphdoctor.static.engine import analyse

SHAPES = (
    "def f(x):\n    return x\n",
    "def f(x): return x\n",
    "def f(x): \\\n    return x\n",
    "def f(x):\n    # a comment\n    return x  # another\n    # the end\n\n\ny = 1\n",
    'class A:\n\tdef f(self):\n\t\t"""Two\nlines."""\n\n\tdef g(self): ...\n',
    "if 1:\n  async def f(x):\n    await x\n    yield x\nelse:\n  def f(x):\n    pass\n",
    "def f():\n    @g\n    def inner():\n        return 1\n    return inner\n",
    "try:\n    def f():\n        a = 1; b = 2\nexcept E:\n    def f():\n        return {\n  1}\n",
    "def f():\r\n    return 1\r\n\r\nx = 2\r\n",
    "match 1:\n    case 1:\n        def f():\n            return 1\n",
)


def functions(tree: cst.CSTNode) -> list[cst.FunctionDef]:
    return [node for node in walk(tree, stop=(cst.FunctionDef,)) if isinstance(node, cst.FunctionDef)]


def words(body: cst.BaseSuite) -> list[str]:
    """The code of ``body`` without comments and spacing."""
    return [
        line.split("#")[0].strip()
        for line in cst.Module([]).code_for_node(body).split("\n")
        if line.split("#")[0].strip()
    ]


def parsed(text: str) -> tuple[Skeleton, cst.Module]:
    made = skeleton(text, ast.parse(text))
    return made, cst.parse_module(made.text)


@pytest.mark.parametrize("text", SHAPES)
def test_every_body_is_the_one_of_the_module(text: str) -> None:
    made, tree = parsed(text)
    whole = functions(cst.parse_module(text))
    assert [f.name.value for f in functions(tree)] == [f.name.value for f in whole]
    assert [words(made.body(f)) for f in functions(tree)] == [words(f.body) for f in whole]


def test_what_is_not_in_a_function_stays() -> None:
    made, tree = parsed("import a\n\nclass B(a.C):\n    x: int = 3\n\n    def f(self):\n        hidden\n\ny = B()\n")
    assert "hidden" not in made.text
    assert [type(s).__name__ for s in tree.body] == ["SimpleStatementLine", "ClassDef", "SimpleStatementLine"]


def test_the_files_of_this_project() -> None:
    for file in sorted(Path(__file__).parents[2].glob("graphdoctor/static/*.py")):
        text = file.read_text()
        made, tree = parsed(text)
        assert [words(made.body(f)) for f in functions(tree)] == [
            words(f.body) for f in functions(cst.parse_module(text))
        ]


def test_a_complete_module_hands_out_its_own_bodies() -> None:
    module = SourceModule("m.py", Path("m.py"), "def f():\n    return 1\n", "utf-8")
    (function,) = functions(module.tree)
    assert module.body(function) is function.body


def test_calls_are_followed_into_a_module_of_which_only_the_skeleton_was_parsed(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "def twice(x):\n    return x * 2\n\n\ndef size(x):\n    return x.shape[0] * 2\n"
    )
    (tmp_path / "net.py").write_text(
        "import torch\nfrom helper import size, twice\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n"
        "    if size(x) > 2:\n        x = x + 1\n    if twice(x).sum() > 0:\n        x = x - 1\n    return x\n"
    )
    files = [(tmp_path / "net.py", "net.py")]
    for helper in (lambda file: None, lambda file: file.name):
        assert [(f.rule, f.location.line) for f in analyse(files, helper=helper).findings] == [("GD201", 9)]
