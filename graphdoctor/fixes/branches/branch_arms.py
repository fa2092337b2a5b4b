"""The two sides of a branch as values: what they assign or return, and whether computing both is the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import HAZARDS, RANDOM, called, calls, is_pure, root
from graphdoctor.fixes.analysis.types import COMPARERS, is_number, is_other
from graphdoctor.fixes.branches.finite_gradients import divides
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.put_in_place import PutInPlace
from graphdoctor.fixes.core.scope import names
from graphdoctor.static.domain.value_functions import is_read, is_tensor, options, tensor_of
from graphdoctor.static.domain.values import External, Tensor
from graphdoctor.syntax.walk import find, walk

#: Builtins that compute a number of numbers.
_BUILTINS = frozenset(f"builtins.{name}" for name in ("abs", "float", "int", "max", "min", "round"))
_PYTHON_ONLY = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)


@dataclass(frozen=True)
class Assigned:
    """What a block assigns, by the code of the target; ``helpers`` are names that only help to compute the others."""

    values: dict[str, cst.BaseExpression]
    helpers: dict[str, cst.BaseExpression]

    @property
    def in_place(self) -> dict[str, cst.BaseExpression]:
        """``values`` with the helpers put in place where they are read."""
        if not self.helpers:
            return self.values
        put = PutInPlace(self.helpers)
        changed = {name: value.visit(put) for name, value in self.values.items()}
        return {name: value for name, value in changed.items() if isinstance(value, cst.BaseExpression)}


@dataclass(frozen=True)
class Under:
    """What a statement stands under: a name that holds a bool tensor, or its opposite; how deep its lines are."""

    name: str
    holds: bool
    depth: int

    @property
    def as_tensor(self) -> str:
        """The condition as code, for a bool tensor."""
        return self.name if self.holds else f"~{self.name}"

    @property
    def as_test(self) -> str:
        """The condition as code, for an ``if``."""
        return self.name if self.holds else f"not {self.name}"

    def choose(self, value: str, before: str) -> str:
        """``value`` where the condition holds, else what was there before."""
        sides = f"{value}, {before}" if self.holds else f"{before}, {value}"
        return f"torch.where({self.name}, {sides})"


def assigned(block: cst.BaseSuite, editor: Editor) -> Assigned:
    """The plain names and attributes of ``self`` that a block assigns. Refuses any other statement.

    ``limit = finfo(x.dtype).max`` is a helper when nothing outside the block reads ``limit``.
    """
    values: dict[str, cst.BaseExpression] = {}
    helpers: set[str] = set()
    for statement in statements(block):
        if not isinstance(statement, cst.Assign):
            raise Refuse(f"a side {does(statement)} instead of assigning a name")
        target = statement.targets[0].target
        is_own = isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and root(target) == "self"
        if len(statement.targets) != 1 or not (is_own or isinstance(target, cst.Name)):
            raise Refuse("a side assigns to something other than one plain name")
        read = {name for name in values if reads(statement.value, name)}
        if any(not is_helper(name, block, editor) for name in read) or editor.code(target) in values:
            raise Refuse("a side uses a name that it has just assigned")
        helpers |= read
        values[editor.code(target)] = statement.value
    return Assigned(
        {name: value for name, value in values.items() if name not in helpers},
        {name: value for name, value in values.items() if name in helpers},
    )


def reads(node: cst.CSTNode, target: str) -> bool:
    """True when ``node`` reads the name or the attribute ``target``."""
    name, _, attribute = target.partition(".")
    if not attribute:
        return name in names(node)
    return any(isinstance(n, cst.Attribute) and n.attr.value == attribute and root(n) == name for n in walk(node))


def is_helper(name: str, block: cst.BaseSuite, editor: Editor) -> bool:
    """A plain name that nothing outside ``block`` reads."""
    return all(False for _ in _outside_uses(name, block, editor))


def is_local(name: str, block: cst.BaseSuite, editor: Editor) -> bool:
    """The same, or other code that uses the name gives it a value of its own first."""
    return all(use is not None and _is_given_first(use, block, editor) for use in _outside_uses(name, block, editor))


def _outside_uses(name: str, block: cst.BaseSuite, editor: Editor) -> Iterator[cst.Name | None]:
    """Where ``name`` is used outside ``block``; None for what may be used anywhere."""
    function = next((editor.function_of(statement) for statement in statements(block)), None)
    inside = set(walk(block))
    # An attribute is read by other methods too.
    if function is None or "." in name:
        yield None
    else:
        yield from (n for n in editor.mentions(function, name) if n not in inside)


def _is_given_first(use: cst.Name, block: cst.BaseSuite, editor: Editor) -> bool:
    """Whether a block around ``use``, and not around ``block``, begins to use the name by giving it a value."""
    around = set(editor.ancestors(block))
    for suite in editor.ancestors(use):
        if suite in around or not isinstance(suite, cst.IndentedBlock):
            continue
        first = next((line for line in suite.body if use.value in {n.value for n in find(line, cst.Name)}), None)
        small = first.body[0] if isinstance(first, cst.SimpleStatementLine) else None
        if not isinstance(small, cst.Assign) or len(small.targets) != 1 or use.value in names(small.value):
            continue
        target = small.targets[0].target
        if isinstance(target, cst.Name) and target.value == use.value:
            return True
    return False


def outside(block: cst.BaseSuite, python: Collection[cst.CSTNode], editor: Editor) -> cst.BaseSuite:
    """The block around ``block`` that none of the branches ``python`` decides."""
    outer = editor.parent(block)
    while isinstance(outer, cst.Else) or outer in python:
        assert outer is not None
        outer = editor.parent(outer)
        if isinstance(outer, cst.BaseSuite):
            return outside(outer, python, editor)
    return block


def returned_value(block: cst.BaseSuite) -> cst.BaseExpression:
    """What a block returns. Raises Refuse where it does more than return."""
    body = list(statements(block))
    if len(body) != 1 or not isinstance(body[0], cst.Return):
        raise Refuse("a side does more than return a value")
    if body[0].value is None:
        raise Refuse("a side returns nothing")
    return body[0].value


def checks_before_return(block: cst.BaseSuite, editor: Editor) -> tuple[Sequence[cst.Assert], cst.BaseExpression]:
    """The asserts that Python decides at the beginning of a block, and what it returns after them."""
    *before, last = statements(block)
    checks = [n for n in before if isinstance(n, cst.Assert) and _is_python(n.test, editor)]
    if len(checks) < len(before) or not isinstance(last, cst.Return):
        raise Refuse("a side does more than return a value")
    if last.value is None:
        raise Refuse("a side returns nothing")
    return checks, last.value


def _is_python(test: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``test`` compares numbers of Python, as sizes are, and calls nothing that does more."""
    if not isinstance(test, cst.Comparison) or any(not is_pure(call, editor) for call in calls(test)):
        return False
    return all(is_number(n, editor) for n in (test.left, *(part.comparator for part in test.comparisons)))


def is_return(block: cst.BaseSuite) -> bool:
    """True when the last statement of ``block`` is a return."""
    return isinstance(list(statements(block))[-1], cst.Return)


def check_tensor(value: cst.BaseExpression, editor: Editor) -> None:
    """Refuse what is no tensor and no number on some path, by the source or by what the interpreter knows."""
    is_word = isinstance(value, cst.Name) and value.value in ("None", "True", "False")
    if isinstance(value, _PYTHON_ONLY) or is_word or is_other(value, editor):
        raise Refuse(f"`{editor.code(value)}` is not a tensor")
    if any(isinstance(option, Tensor) and option.numpy for option in options(editor.value(value))):
        raise Refuse(f"`{editor.code(value)}` may be a value of numpy, which is no tensor")


def check(value: cst.BaseExpression, editor: Editor) -> None:
    """Refuse a side that cannot be computed when it is not taken, or that ``torch.where`` cannot take."""
    check_tensor(value, editor)
    check_size(value, editor)
    check_calls(value, editor)


def check_size(value: cst.BaseExpression, editor: Editor) -> None:
    """Refuse a side, or one of several values of it, whose size data decides."""
    for part in [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]:
        indices = list(_indices(part))
        if any(isinstance(i, cst.Index) and _is_mask(i.value, editor) for i in indices):
            raise Refuse("one side selects by a mask, so the sides differ in size")
        bounds = (editor.value(b) for i in indices if isinstance(i, cst.Slice) for b in (i.lower, i.upper) if b)
        if any(is_tensor(bound) or is_read(bound) for bound in bounds):
            raise Refuse("one side ends where data says, so the sides differ in size")


def check_part(one: cst.BaseExpression, other: cst.BaseExpression, editor: Editor) -> None:
    """Refuse ``x[:, :5]`` beside ``x``."""
    for value, whole in ((one, other), (other, one)):
        if isinstance(value, cst.Subscript) and editor.code(value.value) == editor.code(whole):
            cuts = (e.slice for e in value.slice if isinstance(e.slice, cst.Slice))
            if any(cut.lower or cut.upper or cut.step for cut in cuts):
                raise Refuse("one side is a part of the other, so the sides differ in size")


def _indices(value: cst.BaseExpression) -> Iterator[cst.BaseSlice]:
    """What ``edges[:, keep]`` is indexed by, also where something is computed of it element by element."""
    if isinstance(value, cst.BinaryOperation):
        yield from (*_indices(value.left), *_indices(value.right))
    elif isinstance(value, cst.Subscript):
        yield from (element.slice for element in value.slice)


def _is_mask(index: cst.BaseExpression, editor: Editor) -> bool:
    if isinstance(index, (cst.Comparison, cst.UnaryOperation)):
        return isinstance(index, cst.Comparison) or isinstance(index.operator, cst.BitInvert)
    tensor = tensor_of(editor.value(index))
    if tensor is not None and tensor.dtype is not None:
        return tensor.dtype == "bool"
    function = editor.function_of(index)
    asked = (c.func for c in calls(function) if called(c) in ("all", "any")) if function is not None else ()
    return any(isinstance(a, cst.Attribute) and a.value.deep_equals(index) for a in asked)


def check_calls(value: cst.BaseExpression, editor: Editor) -> None:
    """Refuse an expression that does more than compute a value, where Python might not evaluate it."""
    code = editor.code(value)
    for node in walk(value):
        if isinstance(node, (cst.Await, cst.Yield, cst.NamedExpr)):
            raise Refuse(f"`{code}` awaits, yields or assigns")
        if (
            isinstance(node, cst.Call)
            and not is_pure(node, editor)
            and not _is_random(node)
            and not _computes_number(node, editor)
            and called(node) not in COMPARERS
            and root(node.func) != "self"
        ):
            if called(node) in ("item", "tolist"):
                raise Refuse(f"`{editor.code(node)}` reads data, so the graph would end there all the same")
            raise Refuse(f"`{editor.code(node)}` may have side effects, and both sides would run")


def risks(value: cst.BaseExpression, editor: Editor, without: Collection[cst.CSTNode] = ()) -> Iterator[str]:
    """The behaviour that may change when ``value`` is computed although it is not taken, in one clause each.

    ``without`` are operations in it that are written so that their gradients stay finite.
    """
    for call in calls(value):
        name = called(call)
        if call in without:
            continue
        if name in HAZARDS:
            yield f"`{name}` of the side not taken can make gradients NaN"
        elif _is_random(call):
            yield f"`{name}` draws random numbers on both sides"
        elif not is_pure(call, editor):
            yield f"`{editor.code(call.func)}` now always runs"
    for node in walk(value):
        if isinstance(node, cst.BinaryOperation) and divides(node) and node not in without:
            yield "the division on the side not taken can make gradients NaN"
        elif isinstance(node, cst.Subscript) and not _is_plain_index(node):
            yield f"`{editor.code(node)}` is read even when it is not taken"


def statements(block: cst.BaseSuite) -> Iterator[cst.CSTNode]:
    """The statements of a block, of a line with several each for itself."""
    for line in block.body:
        if isinstance(line, cst.SimpleStatementLine):
            yield from line.body
        else:
            yield line


def does(statement: cst.CSTNode) -> str:
    """What a statement does, as a verb phrase."""
    verbs: dict[type[cst.CSTNode], str] = {
        cst.Raise: "raises",
        cst.Return: "returns",
        cst.Pass: "does nothing",
        cst.AugAssign: "changes a value in place",
        cst.Expr: "runs a call",
        cst.If: "branches again",
        cst.For: "loops",
        cst.While: "loops",
        cst.With: "enters a context",
        cst.Import: "imports a module",
        cst.ImportFrom: "imports a module",
    }
    return verbs.get(type(statement), "does something")


def _computes_number(call: cst.Call, editor: Editor) -> bool:
    """``min(a, b)`` and ``math.sqrt(2)`` of Python numbers."""
    numbers = all(not a.star and is_number(a.value, editor) for a in call.args)
    callees = options(editor.value(call.func))
    names = {c.qualname if isinstance(c, External) else "" for c in callees}
    return numbers and all(n in _BUILTINS or n.startswith("math.") for n in names)


def _is_random(call: cst.Call) -> bool:
    return called(call) in RANDOM and isinstance(call.func, cst.Attribute)


def _is_plain_index(node: cst.Subscript) -> bool:
    """Slices and whole-number literals: shapes decide whether they are in range, not data."""
    for element in node.slice:
        index = element.slice
        if isinstance(index, cst.Index):
            value = index.value.expression if isinstance(index.value, cst.UnaryOperation) else index.value
            if not isinstance(value, (cst.Integer, cst.Ellipsis)):
                return False
    return True


def asks_for_none(test: cst.Comparison, name: str, editor: Editor) -> bool:
    """``name is None`` or ``name is not None``."""
    operators = [type(c.operator) for c in test.comparisons]
    return operators in ([cst.Is], [cst.IsNot]) and editor.code(test.left) == name
