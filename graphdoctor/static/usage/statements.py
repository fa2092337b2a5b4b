"""Statements of a script: what they bind, and how the paths through them come together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import libcst as cst

from graphdoctor.static.usage.conditions import Conditions
from graphdoctor.static.usage.events import Arguments, Condition, Operation, Setting, Store, TrackedObject, Tried
from graphdoctor.static.usage.expressions import ONE_BY_ONE
from graphdoctor.static.usage.outputs import switches_grad
from graphdoctor.static.usage.state import merge

#: The prefixes of the settings of torch that rules know.
_CONFIG = ("torch._dynamo.config.", "torch._inductor.config.", "torch._functorch.config.")

#: Context managers that take the errors of what stands in them.
_TAKES_ERRORS = ("contextlib.suppress", "pytest.raises", "suppress")


class Statements(Conditions):
    """The part of the script walker that knows statements."""

    def define(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        """Bind a function or class."""
        raise NotImplementedError

    def import_names(self, node: cst.Import | cst.ImportFrom) -> None:
        """Bind what is imported."""
        raise NotImplementedError

    def is_main(self) -> bool:
        """Whether the module is the file that is scanned, and not one that it imports."""
        raise NotImplementedError

    def block(self, statements: Iterable[cst.CSTNode]) -> bool:
        """Run statements; False when the end is not reached."""
        before = self.frame.guards
        try:
            for statement in statements:
                self.frame.statement = statement
                if isinstance(statement, cst.SimpleStatementLine):
                    if not all(self._simple(small) for small in statement.body):
                        return False
                elif isinstance(statement, cst.BaseSmallStatement):
                    if not self._simple(statement):
                        return False
                elif not self._compound(statement):
                    return False
            return True
        finally:
            # An arm that ends the block guards what stands after it, up to the end of the block.
            self.frame.guards = before

    def _simple(self, node: cst.BaseSmallStatement) -> bool:
        """Run a simple statement; False when it ends the block."""
        if type(node) in _SIMPLE:
            return _SIMPLE[type(node)](self, node)
        self.visit(node)
        return True

    def _import(self, node: cst.Import | cst.ImportFrom) -> bool:
        self.import_names(node)
        return True

    def _assign(self, node: cst.Assign) -> bool:
        value = self.evaluate(node.value)
        for each in node.targets:
            self.assign(each.target, value)
        return True

    def _annotated(self, node: cst.AnnAssign) -> bool:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))
        else:
            self.visit(node)
        return True

    def _return(self, node: cst.Return) -> bool:
        value = self.evaluate(node.value) if node.value is not None else TrackedObject(node, value=None)
        self.frame.returns.append((value, self.state.copy()))
        return False

    def _outer_names(self, node: cst.Global | cst.Nonlocal) -> bool:
        self.frame.outer |= {item.name.value for item in node.names}
        return True

    def _delete(self, node: cst.Del) -> bool:
        if isinstance(node.target, cst.Subscript):
            self.taken_out(self.evaluate(node.target.value), self.key_of(node.target))
        else:
            self.visit(node)
        return True

    def _leave(self, node: cst.Raise | cst.Continue | cst.Break) -> bool:
        self.visit(node)
        return False

    def _expression(self, node: cst.Expr) -> bool:
        self._switch_grad(self.evaluate(node.value).maker)
        return True

    def _switch_grad(self, step: Operation | None) -> None:
        """``torch.set_grad_enabled(False)`` as a statement holds for what comes after it."""
        if step is None or not step.name.endswith("set_grad_enabled") or step.path:
            return
        self.frame.without_grad = switches_grad(step) is False
        if self.frame.name == "<module>" and self.is_main():
            self.gradless = self.frame.without_grad

    def _compound(self, node: cst.CSTNode) -> bool:
        """Run a compound statement; False when no path reaches its end."""
        return _COMPOUND[type(node)](self, node) if type(node) in _COMPOUND else True

    def _define(self, node: cst.FunctionDef | cst.ClassDef) -> bool:
        self.define(node)
        return True

    def _while(self, node: cst.While) -> bool:
        self.evaluate(node.test)
        self._round(node, node.body.body)
        return True

    def _with(self, node: cst.With) -> bool:
        guards: tuple[str, ...] = ()
        frame, before = self.frame, self.frame.without_grad
        for item in node.items:
            value = self.evaluate(item.item)
            guards = ("try",) if value.made_by in _TAKES_ERRORS else guards
            switched = switches_grad(value.maker)
            frame.without_grad = not switched if switched is not None else frame.without_grad
            if item.asname is not None:
                self.assign(item.asname.name, value)
        reached = self._guarded(guards, node.body.body)
        frame.without_grad = before
        return reached

    def _match(self, node: cst.Match) -> bool:
        self.visit(node)
        return True

    def _try(self, node: cst.Try) -> bool:
        before, begun = self.state.copy(), len(self.log)
        reached = self._guarded(("try",) if node.handlers else (), node.body.body)
        if node.handlers:
            self.emit(Tried, node, body=node.body, handlers=node.handlers, inside=self.log[begun:])
        after = self.state
        for handler in node.handlers:
            self.state = before.copy()
            self._arm(((f"except at {id(handler)}", True),), handler.body.body)
        self.state = after
        if reached and node.orelse is not None:
            reached = self.block(node.orelse.body.body)
        return reached and (node.finalbody is None or self.block(node.finalbody.body.body))

    def _for(self, node: cst.For) -> bool:
        iterated = self.evaluate(node.iter)
        self.taken_apart(node.iter, "iter", iterated)
        iterated = self.listed(iterated)
        elements = self.elements(iterated)
        if 0 < len(elements) <= ONE_BY_ONE and not iterated.alike:
            for element in elements:
                self.assign(node.target, element)
                self.block(node.body.body)
            return True
        if elements:
            self.assign(node.target, elements[0])
        else:
            self.assign(node.target, TrackedObject(node.target, owner=iterated, number=self.new_number()))
        self._round(node, node.body.body)
        return True

    def _round(self, loop: cst.For | cst.While, body: Iterable[cst.CSTNode]) -> None:
        frame = self.frame
        saved = frame.loops, frame.outside
        frame.loops, frame.outside = (*frame.loops, loop), len(frame.path)
        self.block(body)
        frame.loops, frame.outside = saved

    def _if(self, node: cst.If) -> bool:
        """Both arms run on a state of their own; an arm that ends the block leaves the state to the other one."""
        text = " ".join(self.frame.module.code(node.test).split())
        if text in ('__name__ == "__main__"', "__name__ == '__main__'"):
            return self.block(node.body.body) if self.is_main() else True
        self.evaluate(node.test)
        answer = self.decided(node.test)
        orelse = node.orelse
        if answer is True:
            return self.block(node.body.body)
        if answer is False or self.ran_before(node):
            return self._else(orelse)
        inside, otherwise = self.conditions(node.test, True), self.conditions(node.test, False)
        text = text.removeprefix("not ")
        before = self.state
        self.state = before.copy()
        reached = self._arm(inside, node.body.body, text)
        taken, self.state = self.state, before.copy()
        other = self._arm(otherwise, [orelse] if orelse is not None else [], text)
        if reached and other:
            self.state = merge([taken, self.state])
        elif reached:
            self.state = taken
        if reached != other:
            self.frame.guards = (*self.frame.guards, text)
        return reached or other

    def _else(self, orelse: cst.If | cst.Else | None) -> bool:
        if isinstance(orelse, cst.If):
            return self._if(orelse)
        return self.block(orelse.body.body) if orelse is not None else True

    def _arm(self, conditions: tuple[Condition, ...], body: Iterable[cst.CSTNode], guard: str = "") -> bool:
        frame = self.frame
        path, frame.path = frame.path, (*frame.path, *conditions)
        reached = self._guarded((guard or conditions[0][0],), body)
        frame.path = path
        return reached

    def _guarded(self, guards: tuple[str, ...], body: Iterable[cst.CSTNode]) -> bool:
        frame = self.frame
        before, frame.guards = frame.guards, (*frame.guards, *guards)
        reached = self.block(body)
        frame.guards = before
        return reached

    def assign(self, target: cst.BaseExpression, tracked: TrackedObject) -> None:
        """Bind ``target``; an element or an attribute that is stored is an event."""
        if isinstance(target, (cst.Tuple, cst.List)):
            for position, element in enumerate(target.elements):
                known = position < len(tracked.items)
                each = tracked.items[position] if known else TrackedObject(element.value, number=self.new_number())
                self.assign(element.value, each)
        elif isinstance(target, cst.Name):
            scopes = self.frame.scopes
            outer = [s for s in scopes[:-1] if target.value in self.state.scopes.get(s, ())] or scopes[:1]
            self.state.bind(outer[-1] if target.value in self.frame.outer else scopes[-1], target.value, tracked)
        elif isinstance(target, cst.Subscript):
            container, key = self.evaluate(target.value), self.key_of(target)
            for index in target.slice:
                self.visit(index)
            if container.number and key:
                self.state.put(container.number, key, tracked)
            holder = container.owner
            if isinstance(target.value, cst.Attribute) and isinstance(target.value.value, cst.Name):
                holder = self.evaluate(target.value.value)
            self._emit_store(target, tracked, container, holder)
        elif isinstance(target, cst.Attribute):
            self._store(target, tracked)

    def _store(self, target: cst.Attribute, tracked: TrackedObject) -> None:
        setting = self.resolved(target)
        if setting.startswith(_CONFIG):
            self.emit(Setting, target, name=setting, tracked=tracked)
            return
        owner = self.evaluate(target.value)
        name = target.attr.value
        if owner.number:
            self.state.record(owner, self.new_step(f".{name}=", target, owner, Arguments((tracked,))))
            self.state.put(owner.number, name, tracked)
        self._emit_store(target, tracked, owner)

    def _emit_store(
        self,
        target: cst.BaseExpression,
        tracked: TrackedObject,
        container: TrackedObject,
        holder: TrackedObject | None = None,
    ) -> None:
        self.emit(
            Store,
            target,
            target=target,
            tracked=tracked,
            path=self.frame.path,
            container=container,
            holder=holder,
            log=self.log,
            position=len(self.log),
            objects=self.state.objects,
            related=partial(self.related, self.frame.module),
        )


_SIMPLE: dict[type[cst.CSTNode], Callable[[Statements, Any], bool]] = {
    cst.Import: Statements._import,
    cst.ImportFrom: Statements._import,
    cst.Assign: Statements._assign,
    cst.AnnAssign: Statements._annotated,
    cst.Return: Statements._return,
    cst.Global: Statements._outer_names,
    cst.Nonlocal: Statements._outer_names,
    cst.Del: Statements._delete,
    cst.Raise: Statements._leave,
    cst.Continue: Statements._leave,
    cst.Break: Statements._leave,
    cst.Expr: Statements._expression,
}

_COMPOUND: dict[type[cst.CSTNode], Callable[[Statements, Any], bool]] = {
    cst.FunctionDef: Statements._define,
    cst.ClassDef: Statements._define,
    cst.If: Statements._if,
    cst.For: Statements._for,
    cst.While: Statements._while,
    cst.With: Statements._with,
    cst.Try: Statements._try,
    cst.Match: Statements._match,
}
