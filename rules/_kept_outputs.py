"""Where a function keeps the output of a call until the next one, by the names that it has. Not a rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.static.usage.events import dotted
from graphdoctor.static.usage.outputs import OUTPUT_PARTS, VIEWS
from graphdoctor.syntax.walk import children, walk

from ._beside import is_beside
from ._collected import METADATA, NO_READS, Lists
from ._places import SCOPES, Loop, Places, base, else_body, ends, is_constant, is_one, shown, until


@dataclass(frozen=True)
class Kept:
    """An output that is kept: the name or the text of what keeps it, and where it is read."""

    name: str
    node: cst.CSTNode
    loop: Loop | None = None


@dataclass
class _State:
    """The names of the output, those of them that the next call has overwritten, and whether it may do so."""

    names: set[str] = field(default_factory=set)
    overwritten: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    pending: bool = False

    def copy(self) -> _State:
        return _State(set(self.names), set(self.overwritten), set(self.dropped), self.pending)

    def drop(self, name: str) -> None:
        for each in [known for known in self.names if known == name or known.startswith(f"{name}.")]:
            self.names.discard(each)
            self.overwritten.discard(each)
            self.dropped.add(each)

    def add(self, name: str, *, overwritten: bool) -> None:
        self.names.add(name)
        (self.overwritten.add if overwritten else self.overwritten.discard)(name)


def _merged(states: Sequence[_State]) -> _State:
    """The state after several paths: a name that one of them rebinds is no longer kept."""
    dropped = set[str]().union(*(state.dropped for state in states))
    names = set[str]().union(*(state.names for state in states)) - dropped
    overwritten = set[str]().union(*(state.overwritten for state in states)) - dropped
    return _State(names, overwritten, dropped, any(state.pending for state in states))


class Outputs:
    """Follows what ``call`` gives through the rest of the body in which it stands.

    ``calls`` are the calls that overwrite it, ``call`` among them. ``pending``: until a `backward()` it is not
    overwritten.
    """

    def __init__(
        self, body: cst.CSTNode, call: cst.CSTNode, calls: Collection[cst.CSTNode], *, pending: bool = False
    ) -> None:
        self._call, self._calls = call, calls
        self._places = Places(body)
        self._lists = Lists(self._places)
        self._parents, self._above = self._places.parents, self._places.above
        self._state = _State(pending=pending)
        self._pending = pending
        self._begun = False
        self._first_round = True
        #: What is stored in lists and dicts in the first round: the node, and the name of the list.
        self._stored: list[tuple[cst.CSTNode, str]] = []
        self._read: Kept | None = None
        self._given: Kept | None = None

    @property
    def is_inside(self) -> bool:
        """Whether the call stands in the body."""
        return self._call in self._parents

    def read_after_next(self) -> Kept | None:
        """What names the output where it is read after the next call."""
        self._follow()
        return self._read

    def given_to_next(self) -> Kept | None:
        """Where the next call gets the output."""
        self._follow()
        return self._given

    def read_after_loop(self) -> Kept | None:
        """The list that collects the outputs of a loop and is read after it."""
        collected = self._comprehension()
        if collected is not None:
            return None if self._pending else collected
        loop = self._places.loop(self._call)
        if loop is None or ends(loop) or (self._pending and not self._places.has_backward(loop)):
            return None
        self._follow()
        for node, name in self._stored:
            if (
                self._lists.is_list(name, loop)
                and loop in self._above(node)
                and self._lists.reads_list(name, self._places.following(loop))
            ):
                return Kept(name, node, loop)
        return None

    # What an expression is.

    def _is_output(self, node: cst.BaseExpression) -> str | None:
        """The name of the output that an expression is, or is a part or view of; "" for the call itself."""
        if node is self._call:
            return "" if not self._begun else None
        name = dotted(node)
        if name in self._state.names:
            return name
        if isinstance(node, cst.Call):
            method = node.func if isinstance(node.func, cst.Attribute) else None
            return self._is_output(method.value) if method is not None and method.attr.value in VIEWS else None
        if isinstance(node, cst.Attribute):
            return self._is_output(node.value) if node.attr.value in OUTPUT_PARTS else None
        if isinstance(node, cst.Subscript):
            return self._is_output(node.value) if all(map(is_constant, node.slice)) else None
        return None

    def _holds(self, node: cst.BaseExpression) -> bool:
        """Whether it is an output that was not overwritten yet, or a display with one."""
        if isinstance(node, (cst.Tuple, cst.List)):
            return any(self._holds(each.value) for each in node.elements)
        if isinstance(node, cst.Dict):
            return any(self._holds(each.value) for each in node.elements)
        name = self._is_output(node)
        return name is not None and name not in self._state.overwritten

    # The way through the statements.

    def _follow(self) -> None:
        """Walk the statements after the call, its loops once more, up to the end of the body."""
        if self._begun:
            return
        node: cst.CSTNode = self._call
        for around in self._above(self._call):
            if isinstance(around, cst.BaseSmallStatement) and not self._begun:
                self._small(around)
                self._begun = True
                if isinstance(around, (cst.Return, cst.Raise)):
                    return
            elif isinstance(around, (cst.IndentedBlock, cst.Module, cst.SimpleStatementLine, cst.SimpleStatementSuite)):
                if not self._begun:
                    # It stands in the head of a statement.
                    return
                statements = list(around.body)
                position = next(i for i, each in enumerate(statements) if each is node)
                if not self._block(statements[position + 1 :]) and not self._continues(statements):
                    return
            elif isinstance(around, (cst.For, cst.While)) and node is around.body:
                self._first_round = False
                before = self._state.copy()
                self._next_round(around)
                if not self._block(around.body.body) and not self._continues(around.body.body):
                    self._state = before
            elif isinstance(around, SCOPES):
                return
            node = around

    def _continues(self, statements: Sequence[cst.CSTNode]) -> bool:
        last = statements[-1] if statements else None
        return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], (cst.Continue, cst.Break))

    def _block(self, statements: Iterable[cst.CSTNode]) -> bool:
        """Walk statements; False when the end is not reached."""
        return all(self._statement(statement) for statement in statements)

    def _statement(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.SimpleStatementLine):
            return all(self._small(small) for small in node.body)
        if isinstance(node, cst.BaseSmallStatement):
            return self._small(node)
        if isinstance(node, cst.If):
            return self._if(node)
        if isinstance(node, (cst.For, cst.While)):
            before = self._state.copy()
            if isinstance(node, cst.For):
                self._expression(node.iter)
            for _ in range(2):
                self._next_round(node)
                if not self._block(node.body.body):
                    break
            self._state = _merged([before, self._state])
            return node.orelse is None or self._block(node.orelse.body.body)
        if isinstance(node, cst.With):
            for item in node.items:
                self._expression(item.item)
                if item.asname is not None:
                    self._drop(item.asname.name)
            return self._block(node.body.body)
        if isinstance(node, cst.Try):
            reached = self._block(node.body.body)
            reached = reached and (node.orelse is None or self._block(node.orelse.body.body))
            return reached and (node.finalbody is None or self._block(node.finalbody.body.body))
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self._state.drop(node.name.value)
            return True
        # Of other statements, such as `match`, nothing is known.
        self._state = _State(pending=True)
        return True

    def _if(self, node: cst.If) -> bool:
        self._expression(node.test)
        before = self._state
        ends = []
        for arm in (node.body.body, [node.orelse] if isinstance(node.orelse, cst.If) else else_body(node)):
            self._state = before.copy()
            if self._block(arm):
                ends.append(self._state)
        self._state = _merged(ends) if ends else before
        return bool(ends)

    def _next_round(self, node: Loop) -> None:
        if isinstance(node, cst.For):
            self._drop(node.target)
        else:
            self._expression(node.test)

    def _small(self, node: cst.BaseSmallStatement) -> bool:
        if isinstance(node, cst.Assign):
            self._expression(node.value)
            for target in node.targets:
                self._bind(target.target, node.value)
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self._expression(node.value)
                self._bind(node.target, node.value)
        elif isinstance(node, cst.AugAssign):
            self._expression(node.value)
            if self._is_output(node.target) in self._state.overwritten:
                self._found(dotted(node.target), node)
            if isinstance(node.value, cst.List) and self._holds(node.value):
                self._store(node, base(node.target))
        elif isinstance(node, cst.Del):
            self._drop(node.target)
        else:
            for child in children(node):
                if isinstance(child, cst.BaseExpression):
                    self._expression(child, returned=isinstance(node, cst.Return))
            if isinstance(node, cst.Expr):
                self._collect(node.value)
        return not isinstance(node, (cst.Return, cst.Raise, cst.Continue, cst.Break))

    def _collect(self, node: cst.BaseExpression) -> None:
        """``outs.append(out)``."""
        func = node.func if isinstance(node, cst.Call) else None
        if isinstance(node, cst.Call) and isinstance(func, cst.Attribute) and len(node.args) == 1:
            given = node.args[0].value
            shown = func.attr.value == "append" or isinstance(given, (cst.List, cst.Tuple))
            if func.attr.value in ("append", "extend") and shown and self._holds(given):
                self._store(node, base(func.value))

    def _store(self, node: cst.CSTNode, name: str) -> None:
        if self._first_round and name:
            self._stored.append((node, name))

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            pairs = isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements)
            values = [each.value for each in value.elements] if isinstance(value, (cst.Tuple, cst.List)) else []
            sources = [self._is_output(each) for each in values] if pairs else [self._is_output(value)] * 99
            states = [source in self._state.overwritten for source in sources]
            for element, source, overwritten in zip(target.elements, sources, states, strict=False):
                self._name(element.value, source, overwritten=overwritten)
        elif isinstance(target, cst.Subscript):
            constant = all(map(is_constant, target.slice))
            if self._holds(value) and not constant:
                self._store(target, dotted(target.value))
        else:
            source = self._is_output(value)
            self._name(target, source, overwritten=source in self._state.overwritten)

    def _name(self, target: cst.BaseExpression, source: str | None, *, overwritten: bool) -> None:
        name = dotted(target)
        self._drop(target)
        if name and source is not None:
            self._state.add(name, overwritten=overwritten)

    def _drop(self, target: cst.CSTNode) -> None:
        if isinstance(target, (cst.Name, cst.Attribute)):
            self._state.drop(dotted(target))
        else:
            for child in children(target):
                if not isinstance(target, cst.Subscript):
                    self._drop(child)

    def _expression(self, node: cst.BaseExpression, *, returned: bool = False) -> None:
        """Note what an expression reads, and what it calls."""
        for given in shown(node) if returned else ():
            name = self._is_output(given)
            if name is not None and name in self._state.overwritten:
                self._found(name, given)
        self._reads(node)
        calls = [each for each in walk(node, stop=SCOPES) if isinstance(each, cst.Call)]
        if any(isinstance(call.func, cst.Attribute) and call.func.attr.value == "backward" for call in calls):
            self._state.pending = False
        for call in calls:
            if call in self._calls and (call is not self._call or self._begun):
                if not self._state.pending:
                    self._gives(call)
                    self._state.overwritten |= self._state.names
                    self._beside(node, call)
                self._state.pending = self._pending

    def _gives(self, call: cst.Call) -> None:
        for arg in call.args:
            if self._given is None and self._holds(arg.value):
                self._given = Kept(self._is_output(arg.value) or "", arg.value)

    def _beside(self, node: cst.BaseExpression, call: cst.CSTNode) -> None:
        """An operand beside a call in the same expression is read after it: ``a - fast(y)``."""
        for around in until(self._above(call), self._parents.get(node)):
            sides = [around.left, around.right] if isinstance(around, cst.BinaryOperation) else []
            if isinstance(around, cst.Call) and around not in self._calls:
                sides = [arg.value for arg in around.args if self._takes(arg)]
            for side in sides:
                if dotted(side) in self._state.overwritten:
                    self._found(dotted(side), side)

    def _reads(self, node: cst.BaseExpression) -> None:
        for each in walk(node, stop=(cst.FunctionDef,)) if self._state.overwritten else ():
            name = dotted(each) if isinstance(each, (cst.Name, cst.Attribute)) else ""
            if name in self._state.overwritten and self._looks_at(each, node):
                self._found(name, each)

    def _looks_at(self, node: cst.CSTNode, whole: cst.CSTNode) -> bool:
        """Whether a tensor is read at ``node``: neither handed on in a statement that binds it, nor asked its size."""
        around = self._parents.get(node)
        while node is not whole and around is not None:
            if isinstance(around, cst.Attribute) and around.value is node:
                if around.attr.value in METADATA:
                    return False
                method = self._parents.get(around)
                is_called = isinstance(method, cst.Call) and method.func is around
                is_view = is_called and around.attr.value in VIEWS
                if not is_view and around.attr.value not in OUTPUT_PARTS:
                    return is_called and around.attr.value not in ("keys", "items", "values", "get", "to_tuple")
                node, around = (method, self._parents.get(method)) if is_view and method else (around, method)
                continue
            if isinstance(around, cst.Subscript) and around.value is node:
                node, around = around, self._parents.get(around)
                continue
            return self._takes(around)
        return False

    def _takes(self, around: cst.CSTNode) -> bool:
        """Whether what stands right in ``around`` is read there."""
        if isinstance(around, cst.Arg):
            call = self._parents[around]
            method = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""
            named = dotted(call.func) if isinstance(call, cst.Call) else ""
            return named not in NO_READS and method not in ("append", "extend", "add", "put")
        return isinstance(around, (cst.BinaryOperation, cst.FormattedStringExpression))

    def is_beside_next(self) -> bool:
        """Whether one expression takes it and what a later call gives: ``fast(x) - fast(y)``."""
        return not self._pending and is_beside(self._places, self._call, self._calls)

    def _found(self, name: str, node: cst.CSTNode) -> None:
        self._read = self._read or Kept(name, node)

    def _comprehension(self) -> Kept | None:
        """The list that a comprehension makes of outputs, where it is read."""
        node: cst.CSTNode = self._call
        for around in self._above(self._call):
            if isinstance(around, (cst.ListComp, cst.DictComp)):
                made = around.elt if isinstance(around, cst.ListComp) else around.value
                several = node is made and self._holds(made) and not is_one(around.for_in.iter)
                name = self._lists.reader(around) if several else None
                return Kept(name, around) if name is not None else None
            if isinstance(around, (cst.BaseSmallStatement, cst.GeneratorExp, cst.BaseSuite, *SCOPES)):
                return None
            node = around
        return None
