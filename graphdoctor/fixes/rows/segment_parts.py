"""Where a sequence is split by lengths that a tensor holds, and what is made of the parts is joined again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.selected_rows import bound_once
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, target_names
from graphdoctor.syntax.walk import walk

_JOINS = ("torch.cat", "torch.concat", "torch.concatenate")


@dataclass(frozen=True)
class Split:
    """``tensor.split(lengths, dim)``: the names and the code, and the call whose list the lengths are."""

    tensor: str
    lengths: cst.Call
    dim: str


@dataclass(frozen=True)
class Segments:
    """``join`` is ``torch.cat(...)`` of what ``value`` gives for the parts; ``names`` are those of the parts in it.

    ``made`` is what the list is made by: a comprehension, or a loop that appends. ``bound`` has the statements that
    bind what is in between, by its names.
    """

    join: cst.Call
    dim: str
    made: cst.BaseComp | cst.For
    value: cst.BaseExpression
    names: tuple[str, ...]
    splits: tuple[Split, ...]
    bound: Mapping[str, cst.Assign]


def segments_of(tolist: cst.Call, editor: Editor) -> Segments | None:
    """The parts for which ``tolist`` gives the lengths; None where no call joins what is made of them.

    Raises Refuse where it does not fit.
    """
    function = editor.function_of(tolist)
    inside = editor.within(function, cst.Call) if function is not None else ()
    # Nearly every function joins tensors, and few split one: to look up what each name stands for takes long.
    for call in inside if any(called(each) == "split" for each in inside) else ():
        reader = _Reader(editor)
        found = reader.segments(call) if dotted_name(call.func, editor) in _JOINS else None
        if found is not None and tolist in (s.lengths for s in found.splits):
            _check(found, editor)
            return found
    return None


@dataclass(frozen=True)
class _Reader:
    """Follows names to what they are bound to, once, and keeps the statements."""

    editor: Editor
    bound: dict[str, cst.Assign] = field(default_factory=dict)

    def segments(self, join: cst.Call) -> Segments | None:
        given = _arguments(join, ("tensors", "dim"))
        listed = given.get("tensors")
        made = self._read(listed)
        source: cst.BaseComp | cst.For
        loop: cst.CompFor | cst.For
        if isinstance(made, cst.List) and not made.elements and isinstance(listed, cst.Name):
            around = self._loop(listed)
            value = _appended(around, listed.value) if around is not None else None
            if around is None or value is None:
                return None
            source, loop = around, around
        elif isinstance(made, (cst.ListComp, cst.GeneratorExp)) and _is_plain(made.for_in):
            source, loop, value = made, made.for_in, made.elt
        else:
            return None
        splits, bound = self._splits(loop.iter), tuple(_bound(loop.target))
        if splits is None or len(bound) != len(splits):
            return None
        return Segments(join, _dim(given, self.editor), source, value, bound, splits, self.bound)

    def _read(self, node: cst.BaseExpression | None) -> cst.BaseExpression | None:
        """``node``, or what the name was bound to."""
        if not isinstance(node, cst.Name):
            return node
        value = bound_once(node, self.editor)
        statement = self.editor.statement_of(value) if value is not None else None
        if value is None or not isinstance(statement, cst.Assign) or statement.value is not value:
            return None
        self.bound[node.value] = statement
        return value

    def _loop(self, listed: cst.Name) -> cst.For | None:
        function = self.editor.function_of(listed)
        uses = self.editor.mentions(function, listed.value) if function is not None else ()
        around = (n for use in uses for n in self.editor.ancestors(use) if isinstance(n, cst.For))
        return next(around, None)

    def _splits(self, iterated: cst.BaseExpression | None) -> tuple[Split, ...] | None:
        """What ``zip`` goes over: the parts of each tensor."""
        if not isinstance(iterated, cst.Call) or dotted_name(iterated.func, self.editor) != "builtins.zip":
            return None
        found: list[Split | None] = []
        for argument in iterated.args:
            value = self._read(argument.value) if argument.keyword is None else None
            found += self._each(value) if argument.star == "*" else [self._split(value)]
        return tuple(s for s in found if s is not None) if all(found) else None

    def _each(self, value: cst.BaseExpression | None) -> list[Split | None]:
        """``[t.split(lengths, 1) for t in (a, b, c)]``: one for each."""
        if not isinstance(value, (cst.ListComp, cst.GeneratorExp)) or not _is_plain(value.for_in):
            return [None]
        over, split = value.for_in.iter, self._split(value.elt)
        if split is None or split.tensor not in target_names(value.for_in.target):
            return [None]
        elements = over.elements if isinstance(over, (cst.Tuple, cst.List)) else ()
        each = [e.value.value if isinstance(e.value, cst.Name) else "" for e in elements]
        return [Split(tensor, split.lengths, split.dim) if tensor else None for tensor in each] or [None]

    def _split(self, value: cst.BaseExpression | None) -> Split | None:
        if not isinstance(value, cst.Call) or called(value) != "split" or not isinstance(value.func, cst.Attribute):
            return None
        is_function = dotted_name(value.func, self.editor) == "torch.split"
        given = _arguments(value, ("tensor", "sizes", "dim")[not is_function :])
        tensor = given.get("tensor") if is_function else value.func.value
        sizes = [given[k] for k in ("sizes", "split_size_or_sections", "split_size") if k in given]
        lengths = self._read(sizes[0]) if sizes else None
        if not isinstance(lengths, cst.Call) or called(lengths) != "tolist" or not isinstance(tensor, cst.Name):
            return None
        return Split(tensor.value, lengths, _dim(given, self.editor))


def _bound(target: cst.BaseAssignTargetExpression) -> Iterator[str]:
    """The names of a target, in its order; those of elements only."""
    nodes = [e.value for e in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else []
    yield from (node.value for node in nodes if isinstance(node, cst.Name))


def _is_plain(loop: cst.CompFor) -> bool:
    return not loop.ifs and loop.inner_for_in is None and loop.asynchronous is None


def _appended(loop: cst.For, name: str) -> cst.BaseExpression | None:
    """``value``, where ``name.append(value)`` is all that the loop does."""
    lines = [s for line in loop.body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body]
    append = lines[0].value if len(loop.body.body) == len(lines) == 1 and isinstance(lines[0], cst.Expr) else None
    is_append = isinstance(append, cst.Call) and called(append) == "append" and isinstance(append.func, cst.Attribute)
    if not is_append or loop.orelse is not None or loop.asynchronous is not None:
        return None
    assert isinstance(append, cst.Call) and isinstance(append.func, cst.Attribute)
    owner = append.func.value
    return append.args[0].value if isinstance(owner, cst.Name) and owner.value == name else None


def _arguments(call: cst.Call, order: tuple[str, ...]) -> dict[str, cst.BaseExpression]:
    plain = (a.value for a in call.args if a.keyword is None)
    named = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    return dict(zip(order, plain, strict=False)) | named


def _dim(given: Mapping[str, cst.BaseExpression], editor: Editor) -> str:
    return editor.code(given["dim"]) if "dim" in given else "0"


def _check(found: Segments, editor: Editor) -> None:
    """Raises Refuse where what is in between is used elsewhere, or the tensors may be others by then."""
    function = editor.function_of(found.join)
    assert function is not None
    made = found.made if isinstance(found.made, cst.For) else editor.statement_of(found.made)
    statements = [*found.bound.values(), made, editor.statement_of(found.join)]
    blocks = {editor.parent(s if isinstance(s, cst.For) else editor.parent(s) or s) for s in statements}
    if len(blocks) != 1:
        raise Refuse("the sequence is split and joined in different blocks")
    inside = {n for s in statements for n in walk(s)}
    loops = found.names if isinstance(found.made, cst.For) else ()
    for name in (*found.bound, *loops):
        if any(use not in inside for use in editor.mentions(function, name)):
            raise Refuse(f"`{name}` is used elsewhere")
    lines = [editor.location(s).line for s in statements]
    first, last = min(lines), max(lines)
    tensors = {s.tensor for s in found.splits}
    if len({editor.code(s.lengths) for s in found.splits}) != 1 or len({s.dim for s in found.splits}) != 1:
        raise Refuse("the tensors are split by several lengths")
    for name in sorted(tensors | {n for s in found.splits for n in names(s.lengths)}):
        bound = [n for n in editor.assignments(function, name) if not isinstance(n, cst.CompFor)]
        if any(first <= editor.location(n).line <= last for n in bound):
            raise Refuse(f"`{name}` is bound again before the parts are joined")
