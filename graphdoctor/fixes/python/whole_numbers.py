"""Whole numbers that a module keeps in buffers, read as Python numbers: sizes, strides, paddings.

What is computed from them and from shapes is then known while tracing, where it was data before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.origins import flows_of, origins
from graphdoctor.fixes.analysis.purity import called, calls, is_torch_function, words
from graphdoctor.fixes.analysis.types import is_number, latest
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.fixes.python.buffers import is_buffer, may_be_buffer
from graphdoctor.fixes.python.layers import at_end_of_init
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

#: Functions of torch that take Python numbers first.
_FACTORIES = words("arange as_tensor empty eye full linspace ones rand randint randn randperm tensor zeros")
#: Functions whose tensor has dimensions.
_ARRAYS = words("arange empty eye full linspace ones randint randn randperm zeros")
_OF_NUMBERS = words("abs float int max min round")
_TO_INT = re.compile(r"\.(to\((torch\.)?(int64|long)\)|long\(\)|int\(\))")
_REASON = (
    "The buffers are read as Python numbers, once, when the module is made: what is loaded or written to them later no "
    "longer counts."
)


def numbers_of_buffers(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``self.stride`` of a buffer that holds one whole number, on which the hit depends. Raises Refuse."""
    owner = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.ClassDef)), None)
    if owner is None or not (editor.has_word("register_buffer") or editor.has_word("Buffer")):
        return Refusal("The class keeps no whole number in a buffer.")
    found = list(_reads(owner, editor))
    flows = flows_of(owner) if found else ()
    reads = [n for n, ndim in found if ndim == 0 or not _ARRAYS & origins(n, flows)]
    names = {editor.code(n) for n in reads} - {editor.code(n) for n in reads if _is_part_read(n, editor)}
    if not names:
        return Refusal("The class keeps no whole number in a buffer.")
    wanted = origins(hit.place, flows)
    if not any(name.removeprefix("self.") in wanted for name in names):
        return Refusal("What is asked here depends on no whole number of a buffer.")
    reads = [n for n in reads if editor.code(n) in names and not isinstance(editor.parent(n), cst.Attribute)]
    numbers = {name: f"self._{name.removeprefix('self.')}_number" for name in dict.fromkeys(map(editor.code, reads))}
    if any(number in editor.module.text for number in numbers.values()):
        raise Refuse("the class has an attribute of the name that the number would get")
    edits = [editor.replace(n, numbers[editor.code(n)]) for n in reads]
    edits += [at_end_of_init(owner, f"{number} = int({name})", editor) for name, number in numbers.items()]
    edits += _Numbers(reads, owner, editor).rounded()
    return FixPlan(tuple(edits), "unsafe", _REASON, known=("once",))


def _reads(owner: cst.ClassDef, editor: Editor) -> Iterator[tuple[cst.Attribute, int | None]]:
    """Where methods other than ``__init__`` read buffers that may hold one whole number, with their dimensions."""
    buffers: dict[str, bool] = {}
    for node in find(owner, cst.Attribute):
        if type(node.value) is not cst.Name or node.value.value != "self" or not may_be_buffer(node.attr.value, editor):
            continue
        known = tensor_of(editor.value(node))
        if known is None or known.dtype != "int" or known.ndim not in (0, None):
            continue
        function, name = editor.function_of(node), node.attr.value
        if function is None or function.name.value == "__init__":
            continue
        if name not in buffers:
            buffers[name] = is_buffer(name, owner, editor)
        if buffers[name]:
            yield node, known.ndim


def _is_part_read(node: cst.Attribute, editor: Editor) -> bool:
    """``self.ids[:, :n]``, which no single number allows."""
    user = editor.parent(node)
    return isinstance(user, cst.Subscript) and user.value is node


class _Numbers:
    """What is a Python number once ``reads`` are, and was a tensor before."""

    def __init__(self, reads: Sequence[cst.Attribute], owner: cst.ClassDef, editor: Editor) -> None:
        self.editor = editor
        #: Nodes as the analysis read them: a part that is parsed has others.
        self.reads = {editor.module.read(n) for n in reads}
        self.functions = {f.name.value: f for f in find(owner, cst.FunctionDef)}
        self.known: dict[cst.CSTNode, bool | None] = {}

    def rounded(self) -> Iterator[Edit]:
        """``torch.ceil(n).to(torch.int64)`` becomes ``math.ceil(n)``. Refuses what only tensors allow."""
        read = self.editor.module.read
        suffixes: set[cst.CSTNode] = set()
        for call in (c for function in self.functions.values() for c in find(function, cst.Call)):
            inner = self._rounds(call)
            if inner is not None:
                suffixes.add(read(inner))
                end, last = self.editor.location(inner), self.editor.location(call)
                yield from import_edit("math", self.editor)
                yield self.editor.replace(inner.func, f"math.{called(inner)}")
                yield Edit(self.editor.path, (end.end_line, end.end_column), (last.end_line, last.end_column), "")
        for function in self.functions.values():
            for node in find(function, cst.Attribute):
                if self.is_new(node.value) and read(node.value) not in suffixes:
                    self._refuse(node)
            for call in calls(function):
                of_tensors = is_torch_function(call, self.editor) and called(call) not in _FACTORIES
                if of_tensors and read(call) not in suffixes and call.args and self.is_new(call.args[0].value):
                    self._refuse(call)

    def _refuse(self, node: cst.CSTNode) -> None:
        line = self.editor.location(node).line
        raise Refuse(f"line {line} does with what becomes a Python number what only a tensor allows")

    def _rounds(self, call: cst.Call) -> cst.Call | None:
        """``torch.ceil(n)`` in ``torch.ceil(n).to(torch.int64)`` of what becomes a number."""
        inner = call.func.value if isinstance(call.func, cst.Attribute) else None
        if not isinstance(inner, cst.Call) or called(inner) not in ("ceil", "floor") or len(inner.args) != 1:
            return None
        if not _TO_INT.fullmatch(self.editor.code(call).removeprefix(self.editor.code(inner))):
            return None
        return inner if self.is_new(inner.args[0].value) else None

    def is_new(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is a Python number, and depends on what was a tensor."""
        return self._of(node) is True

    def _of(self, node: cst.BaseExpression) -> bool | None:
        """True for a number that was a tensor, False for one that was none, None for anything else."""
        key = self.editor.module.read(node)
        if key not in self.known:
            self.known[key] = False  # a name that is computed from itself
            self.known[key] = self._computed(node)
        return self.known[key]

    def _computed(self, node: cst.BaseExpression) -> bool | None:
        if self.editor.module.read(node) in self.reads:
            return True
        if isinstance(node, (cst.Integer, cst.Float)) or is_number(node, self.editor):
            return False
        parts: Sequence[cst.BaseExpression] = ()
        if isinstance(node, cst.BinaryOperation):
            parts = (node.left, node.right)
        elif isinstance(node, cst.UnaryOperation):
            parts = (node.expression,)
        elif isinstance(node, cst.Name):
            parts = self._values(node)
        elif isinstance(node, cst.Call):
            parts = self._results(node)
        found = [self._of(part) for part in parts]
        return None if not found or None in found else True in found

    def _values(self, name: cst.Name) -> Sequence[cst.BaseExpression]:
        """What ``name`` was given last, or all that the function gives to it, if that is all that it can be."""
        if (last := latest(name, self.editor)) is not None:
            return [last]
        function = self.editor.function_of(name)
        bound = self.editor.assignments(function, name.value) if function is not None else []
        plain = [b for b in bound if isinstance(b, cst.Assign) and isinstance(b.targets[0].target, cst.Name)]
        return [b.value for b in plain] if len(plain) == len(bound) else ()

    def _results(self, call: cst.Call) -> Sequence[cst.BaseExpression]:
        """What decides whether ``call`` gives a number: its arguments, or what the method returns."""
        inner = self._rounds(call)
        if inner is not None:
            return (inner.args[0].value,)
        if isinstance(call.func, cst.Name) and called(call) in _OF_NUMBERS:
            return [a.value for a in call.args]
        name = self.editor.code(call.func)
        method = self.functions.get(name.removeprefix("self.")) if name.startswith("self.") else None
        returned = find(method, cst.Return) if method is not None else ()
        return [r.value for r in returned if r.value is not None]
