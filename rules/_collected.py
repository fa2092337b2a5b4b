"""Whether what a list collects is read. Not a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from graphdoctor.static.usage.events import dotted
from graphdoctor.syntax.walk import children, find, walk

from ._places import Loop, Places, base

#: What is asked of a tensor without a look at its memory.
METADATA = frozenset((
    "shape", "dtype", "device", "ndim", "is_cuda", "requires_grad", "size", "dim", "numel", "layout", "itemsize",
    "grad", "grad_fn", "stride", "is_contiguous", "element_size",
))  # fmt: skip
#: Functions that look at no element of what they are given.
NO_READS = frozenset(("len", "bool", "id", "type", "isinstance", "range", "del", "hasattr"))
#: Methods of lists and dicts that hand out no element.
NO_ELEMENTS = frozenset(("append", "extend", "insert", "clear", "keys", "update", "setdefault", "__len__"))
_MAKES_LIST = frozenset(("list", "dict", "defaultdict", "collections.defaultdict", "OrderedDict"))


class Lists:
    """The lists and dicts of a body, by their names."""

    def __init__(self, places: Places) -> None:
        self._places, self._parents = places, places.parents

    def reader(self, made: cst.ListComp | cst.DictComp) -> str | None:
        """The name of the list that a comprehension makes, "" where it has none; None where it is not read."""
        around = self._parents[made]
        assigned = around if isinstance(around, cst.Assign) else None
        if assigned is not None:
            name = dotted(assigned.targets[0].target)
            is_read = name and name != "_" and self.reads_list(name, self._places.following(assigned))
            return name if is_read else None
        called = self._parents[around] if isinstance(around, cst.Arg) else None
        last = dotted(called.func).rpartition(".")[2] if isinstance(called, cst.Call) else ""
        handed = isinstance(called, cst.Call) and last not in (*NO_READS, *NO_ELEMENTS)
        iterated = isinstance(around, (cst.For, cst.CompFor)) and around.iter is made and not self._only_asks(around)
        return "" if handed or iterated or isinstance(around, cst.Return) else None

    def is_list(self, name: str, loop: Loop) -> bool:
        """Whether the function makes a list or dict of this name, before the loop alone, and the loop only adds."""
        start, inside = self._places.order[loop], set(walk(loop))
        made = [
            each for each in find(self._places.body, cst.Assign) if any(_binds(t.target, name) for t in each.targets)
        ]
        annotated = [
            e for e in find(self._places.body, cst.AnnAssign) if dotted(e.target) == name and e.value is not None
        ]
        if any(each in inside for each in (*made, *annotated)):
            return False
        made = [each for each in made if self._places.order[each] < start]
        annotated = [each for each in annotated if self._places.order[each] < start]
        values = [value for each in made for value in _values(each, name)]
        values += [each.value for each in annotated if each.value is not None]
        if not values or not all(map(_is_display, values)):
            return False
        changed = [c.func for c in find(loop, cst.Call) if isinstance(c.func, cst.Attribute)]
        taken = any(f.attr.value in ("clear", "pop", "popleft", "remove") and base(f.value) == name for f in changed)
        return not taken and not any(base(each.target) == name for each in find(loop, cst.Del))

    def reads_list(self, name: str, statements: Iterable[cst.CSTNode]) -> bool:
        """Whether statements look into a list before the name is bound anew."""
        for statement in statements:
            for node in _evaluated(statement):
                if isinstance(node, (cst.Name, cst.Attribute)) and dotted(node) == name:
                    if self._is_target(node):
                        return False
                    if self._looks_into(node):
                        return True
        return False

    def _is_target(self, node: cst.CSTNode) -> bool:
        return isinstance(self._parents.get(node), (cst.AssignTarget, cst.AnnAssign, cst.Del))

    def _looks_into(self, node: cst.CSTNode) -> bool:
        around = self._parents[node]
        if isinstance(around, cst.Attribute):
            return around.attr.value not in NO_ELEMENTS
        if isinstance(around, cst.Subscript) and around.value is node:
            above = self._parents[around]
            index = around.slice[0].slice if len(around.slice) == 1 else None
            last = isinstance(index, cst.Index) and isinstance(index.value, cst.UnaryOperation)
            if isinstance(above, cst.Attribute):
                return not last and above.attr.value not in (*METADATA, *NO_ELEMENTS)
            return not last and (isinstance(above, cst.BinaryOperation) or self.is_given(above))
        if isinstance(around, (cst.For, cst.CompFor)):
            return around.iter is node and not self._only_asks(around)
        return self.is_given(around)

    def is_given(self, around: cst.CSTNode) -> bool:
        """Whether what stands right in ``around`` is handed to a function or returned."""
        if isinstance(around, cst.Arg):
            call = self._parents[around]
            return isinstance(call, cst.Call) and dotted(call.func) not in NO_READS
        if isinstance(around, (cst.Element, cst.DictElement)):
            shown = self._parents[around]
            return isinstance(self._parents.get(shown), cst.Return)
        return isinstance(around, (cst.Return, cst.Yield, cst.StarredElement))

    def _only_asks(self, loop: cst.For | cst.CompFor) -> bool:
        """Whether a loop asks only for the sizes of what it gets."""
        name = dotted(loop.target)
        uses = [
            n for n in walk(self._parents[loop] if isinstance(loop, cst.CompFor) else loop.body) if dotted(n) == name
        ]
        above = [self._parents[node] for node in uses if node is not loop.target]
        return bool(name) and all(isinstance(a, cst.Attribute) and a.attr.value in METADATA for a in above)


def _evaluated(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """``node`` and all below it in the order in which it is evaluated: what is assigned before its targets."""
    yield node
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return
    below = children(node)
    for child in reversed(below) if isinstance(node, cst.Assign) else below:
        yield from _evaluated(child)


def _binds(target: cst.BaseExpression, name: str) -> bool:
    if isinstance(target, (cst.Tuple, cst.List)):
        return any(_binds(each.value, name) for each in target.elements)
    return dotted(target) == name


def _values(assign: cst.Assign, name: str) -> Iterator[cst.BaseExpression]:
    """What an assignment binds to ``name``; the whole value where that is not spelled out."""
    for target in assign.targets:
        left, right = target.target, assign.value
        if isinstance(left, cst.Tuple) and isinstance(right, cst.Tuple) and len(left.elements) == len(right.elements):
            yield from (b.value for a, b in zip(left.elements, right.elements, strict=True) if _binds(a.value, name))
        elif _binds(left, name):
            yield right if not isinstance(left, cst.Tuple) else left


def _is_display(node: cst.BaseExpression) -> bool:
    """Whether it makes a list or dict."""
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.Multiply) and isinstance(node.left, cst.List)
    made = isinstance(node, cst.Call) and dotted(node.func) in _MAKES_LIST
    return made or isinstance(node, (cst.List, cst.Dict, cst.ListComp, cst.DictComp))
