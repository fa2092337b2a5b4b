"""The file as it is written: only what is asked for is parsed, and stands as in a parse of the whole file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import walk
from graphdoctor.syntax.written import pairs

NET = '''# The file.
import torch

@dataclass
# above
@final
class Net( Base, metaclass = Meta ):  # the head
  # not yet the body
  """Two
lines."""

  width: int = ( 1 )

  # above f
  @property  # why
  @cached(
    size=1 )
  async def f( self, x = 'a' "b" ):
    # inside
    if x : # behind
        y = ( x + 1 )   # last
    return y
  # after f

  class Inner(A):
    def g(self): return  [ 1 ]

  a = 1 ; b = 2
  def h(self): pass

def after( x ):
    return x  .  y
'''
SHAPES = (
    NET,
    NET.replace("\n", "\r\n"),
    NET.replace("\n", "\r"),
    "class A: x =  1\n",
    "class A:\n\tdef f(self):\n\t\treturn  self\n\n\tdef g(self):\n\t\t'''a\nb'''\n\t\treturn  1",
    "if x:\n    class A:\n        def f(self): return  1\n",
    "class A:\n    \x0c\n    def f(self, é =  'ü'):\n        return  é ; 1\n",
    "def f(x):\n    print(\n        f'a {x.y( 1 )} {x=}' 'b'\n        rf\"{z!r:>{w( 2 )}} { g( x ) }\" f'{ h( 1 ) = }{x=:>{y=}}'\n    )\n",
    "class A:\n    pass\nclass B(A,):\n    if a :\n        x =  1\n    else :\n        def f(self): ...\n",
)


def module_of(text: str) -> SourceModule:
    return SourceModule("m.py", Path("m.py"), text, "utf-8")


def method(module: SourceModule, name: str) -> cst.FunctionDef:
    return next(n for n in walk(module.tree) if isinstance(n, cst.FunctionDef) and n.name.value == name)


def around(node: cst.CSTNode | None, editor: Editor) -> Iterator[type]:
    while node is not None:
        yield type(node)
        node = editor.parent(node)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("text", SHAPES)
def test_each_part_is_the_one_of_the_whole_file(text: str, backwards: bool) -> None:
    module = module_of(text)
    editor = Editor(module)
    positions = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    spans, parents = positions.resolve(PositionProvider), positions.resolve(ParentNodeProvider)
    both = [(read, whole) for read, whole in pairs(module.tree, positions.module) if module.has_place(read)]
    assert len(both) >= 5
    for read, whole in reversed(both) if backwards else both:
        written = editor.module.of(read)
        assert type(written) is type(whole)
        outer = [type(whole)]
        while whole in parents and outer[-1] is not cst.Module:
            whole = parents[whole]
            outer.append(type(whole))
        assert list(around(written, editor)) == outer
        if isinstance(written, cst.BaseExpression):
            assert editor.code(read) == positions.module.code_for_node(dict(both)[read])
    for read, whole in both:
        for one, other in pairs(editor.module.of(read), whole):
            place, span = editor.location(one), spans[other]
            assert (place.line, place.end_line) == (span.start.line, span.end.line)
            assert (place.column, place.end_column) == (span.start.column + 1, span.end.column + 1)


def test_only_the_method_that_is_asked_for_is_parsed() -> None:
    module = module_of(NET)
    f, h, after = (method(module, name) for name in ("f", "h", "after"))
    written = module.written.of(f)
    assert module.written.current(f) is written is not f
    assert module.written.current(h) is h and module.written.current(after) is after
    (_, owner, last) = module.written.tree.body
    assert isinstance(owner, cst.ClassDef) and last is after
    assert owner.body.body[2] is written and owner.body.body[-1] is h
    assert module.written.parent(h) is module.written.parent(written) is owner.body


def test_what_was_read_has_the_parents_that_were_written_since() -> None:
    module = module_of(NET)
    f = method(module, "f")
    before = module.written.parent(f)
    assert isinstance(before, cst.IndentedBlock) and module.has_place(before)
    written = module.written.of(f)
    assert module.written.parent(f.body) is written
    assert module.written.parent(f) is module.written.parent(written) is module.written.current(before) is not before


def test_the_next_statement_of_a_class_follows() -> None:
    module = module_of(NET)
    editor = Editor(module)
    inner = next(n for n in walk(module.tree) if isinstance(n, cst.ClassDef) and n.name.value == "Inner")
    following = editor.following(editor.module.of(inner))
    assert following is not None and editor.code(following) == "a = 1 ; b = 2"


def test_comments_stand_where_they_are_written() -> None:
    module = module_of(NET)
    found = list(module.written.comments(module.written.of(method(module, "f").body)))
    assert [(comment, place.line, place.column) for place, comment in found] == [
        ("# inside", 19, 5), ("# behind", 20, 12), ("# last", 21, 25),
    ]  # fmt: skip
    assert not list(module.written.comments(module.written.of(method(module, "h"))))


def test_what_is_not_of_the_file_is_nowhere() -> None:
    with pytest.raises(KeyError):
        module_of(NET).written.of(cst.Pass())
