"""The tree made from Python's syntax tree is the one of libcst's parser, and its nodes know where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Location
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import fields, walk

SHAPES = (
    "def f(x):\n    return x\n",
    "def f(x): return x\n",
    "def f(x): \\\n    return x\n",
    "def f(x):\n    # a comment\n    return x  # another\n    # the end\n\n\ny = 1\n",
    'class A:\n\tdef f(self):\n\t\t"""Two\nlines."""\n\n\tdef g(self): ...\n',
    "if 1:\n  async def f(x):\n    await x\n    yield x\nelse:\n  def f(x):\n    pass\n",
    "def f():\n    @g\n    def inner():\n        return 1\n    return inner\n",
    "try:\n    def f():\n        a = 1; b = 2\nexcept E as e:\n    raise F from e\nelse:\n    a\nfinally:\n    b; c\n",
    "def f():\r\n    return 1\r\n\r\nx = 2\r\n",
    "match x:\n    case 1 | None:\n        a\n    case [A(b, c=1), *d] if e:\n        f\n    case {'k': v, **r}:\n        g\n",
    "if a: b; c\nelif d:\n    e\nelse:\n    if f: g\n",
    "for i, *j in (a, b), c:\n    continue\nelse:\n    pass\nwhile a and b or not c: break\n",
    "def f(a, /, b: int = 1, *c, d, e=(2), **g) -> A: global h\n",
    "f = lambda *, a=1: (yield)\nf(*a, b=1, *c, **d)\ng(x for x in y)\nh((x async for x in y if a if b), z)\n",
    "x[a], x[a, b], x[(a, b)], x[(a), b], x[a:b, ::c], x[()], x[(a,)]\n",
    "(a), b\n(a, b)\n( # why\n  a,\n  (b),\n)\n((a, b), c)\n(a,)\n()\n",
    "a < b <= c is not d not in e\n-a ** ~b @ c // d % e >> f & g\n",
    "{**a, b: c}, {a, *b}, [*a], {a: b for a, b in c}, {a for a in b for c in d}\n",
    "é = 'ü' + f(é, 'ü', b)\n",
    "a.b.c(d).e = f = g\na: int\nb: 'x' = 1\nc += 1\ndel a, b.c\n",
    "import a.b as c, d\nfrom . import e\nfrom ..f.g import (h as i, j)\nfrom k import *\n",
    "with a as b, c: d\nassert a, b\nassert (a)\nif (b := c): raise\n",
    "async def f():\n    async with a: await b\n    async for c in d: yield e\n    return (yield from g)\n",
    "x = f'{a!r} {b:>{c}}'\n",
    "class A(B, metaclass=C): x = 1\n",
    "x = 1 if a else (2 if b else 3)\n",
)


def same(read: cst.CSTNode, written: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Nodes at the same place; fails where the trees differ in what carries meaning."""
    assert type(read) is type(written)
    yield read, written
    for name in fields(type(read)):
        one, other = getattr(read, name), getattr(written, name)
        if isinstance(other, cst.CSTNode) and not isinstance(other, (cst.ParamSlash, cst.BitOr, cst.Colon)):
            assert one is not None
            yield from same(one, other)
        elif isinstance(other, (list, tuple)):
            assert len(one) == len(other)
            for mine, theirs in zip(one, other, strict=True):
                yield from same(mine, theirs)
        elif isinstance(other, str) and isinstance(written, (cst.Name, cst.Arg, cst.Param)):
            assert one == other


def places(text: str) -> Iterator[tuple[cst.CSTNode, Location, Location]]:
    """Each node that has a place, with it and with the one that libcst gives."""
    module = SourceModule("m.py", Path("m.py"), text, "utf-8")
    positions = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    found = positions.resolve(PositionProvider)
    for read, written in same(module.tree, positions.module):
        # libcst counts what is in front of these to them: parentheses of an argument, a backslash.
        if module.has_place(read) and not isinstance(read, (cst.Arg, cst.Index, cst.SimpleStatementSuite)):
            span = found[written]
            expected = Location("m.py", span.start.line, span.start.column + 1, span.end.line, span.end.column + 1)
            yield read, module.location(read), expected


@pytest.mark.parametrize("text", SHAPES)
def test_structure_and_places_are_those_of_libcst(text: str) -> None:
    compared = list(places(text))
    assert len(compared) > 2
    assert [(type(node).__name__, mine) for node, mine, _ in compared] == [
        (type(node).__name__, theirs) for node, _, theirs in compared
    ]


def test_the_files_of_this_project() -> None:
    for file in sorted(Path(__file__).parents[2].glob("graphdoctor/s*/[a-m]*.py")):
        text = file.read_text()
        if "f'" in text or 'f"' in text or '" "' in text:
            # Adjacent strings are one node here, and two there.
            continue
        assert all(mine == theirs for _, mine, theirs in places(text)), file


def test_constants_have_their_values() -> None:
    text = "a = [0x10, 1_000, 1e999, 2j, 'it''s', b'x', rb'\\d', ..., None, True, '''a\nb''']\n"
    module = SourceModule("m.py", Path("m.py"), text, "utf-8")
    found = [n for n in walk(module.tree) if isinstance(n, (cst.BaseNumber, cst.SimpleString))]
    values = sorted((repr(n.evaluated_value) for n in found), key=str)
    assert values == sorted(["16", "1000", "inf", "2j", "'its'", "b'x'", "b'\\\\d'", "'a\\nb'"], key=str)


def test_bodies_are_made_when_they_are_asked_for() -> None:
    text = "def f():\n    return 1\n\nclass A:\n    def g(self):\n        def h(): return 2\n        return h\n"
    lazy, whole = (SourceModule("m.py", Path("m.py"), text, "utf-8") for _ in range(2))
    functions = [n for n in walk(lazy.top) if isinstance(n, cst.FunctionDef)]
    assert [len(n.body.body) for n in functions] == [0, 0]
    made = {n.name.value: lazy.body(n) for n in functions}
    assert [len(n.body.body) for n in functions] == [0, 0]
    for node in walk(whole.tree):
        if isinstance(node, cst.FunctionDef) and node.name.value in made:
            assert list(same(made[node.name.value], node.body))
            assert whole.body(node) is node.body
    assert lazy.body(functions[0]) is lazy.body(functions[0])
    assert lazy.tree is lazy.top
    assert functions[0].body is made["f"]


def test_calls_are_followed_into_a_module_whose_bodies_were_left_out(tmp_path: Path) -> None:
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


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("import torch\nLIMIT = 0x" + "f" * 9000 + "\n\n\n@torch.compile\ndef f(x):\n    return x + LIMIT\n")
    assert analyse([(file, "net.py")]).files[0].reason is None
