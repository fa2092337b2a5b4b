"""Reads the statements of a file in order, outside compiled code, and makes the events of ``usage``.

It is simpler than the interpreter: it follows no calls and knows no values but literals. What it keeps of an object is
which calls worked on it, under which conditions. After an ``if``, both arms count, each step with its condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from graphdoctor.source.module import SourceModule
from graphdoctor.source.walk import walk
from graphdoctor.static.events import Event, Site
from graphdoctor.static.script_expressions import Expressions
from graphdoctor.static.script_state import State, merge
from graphdoctor.static.usage import Mention, Place, Setting, Step, Thing, dotted

#: What the settings of torch that rules know begin with.
_CONFIG = ("torch._dynamo.config.", "torch._inductor.config.", "torch._functorch.config.")

#: Context managers that take the errors of what stands in them.
_TAKES_ERRORS = ("contextlib.suppress", "pytest.raises", "suppress")

#: What stands in every file that has something to do with the compiler: one of these words, or one of these patterns.
_WORDS = ("import compile", "dynamo_backend", "DynamoPlugin")
_OF_TORCH = re.compile(r"torch\.(compile|_dynamo|_inductor|_functorch|_export|export|_prims|ao\.quantization)")
#: Most files that compile only compile patterns.
_COMPILES = re.compile(r"(?<!\bre)\.compile\(")


def usage_events(source: SourceModule) -> Iterable[Event]:
    """The usage events of one file, in source order of each scope; none where nothing is compiled in it."""
    if not _concerns_compiler(source.text):
        return ()
    script = Script(source)
    script.run_scope(source.tree.body, State())
    return script.events


def _concerns_compiler(text: str) -> bool:
    if any(word in text for word in _WORDS) or _OF_TORCH.search(text) is not None:
        return True
    # Looking for the plain text first is ten times as fast.
    return ".compile(" in text and _COMPILES.search(text) is not None


class Script(Expressions):
    """Walks one file. ``events`` grows as it goes."""

    #: What the statement depends on, see ``Site.guards``.
    guards: tuple[str, ...] = ()

    def run_scope(self, body: Iterable[cst.CSTNode], state: State) -> None:
        """Run the statements of a module or function, then the functions defined in it."""
        self.state = state
        self.deferred: list[cst.FunctionDef | cst.ClassDef] = []
        self.block(body)
        outer, deferred = self.state, self.deferred
        for definition in deferred:
            self._define(definition, outer)
        self.state = outer

    def _define(self, node: cst.FunctionDef | cst.ClassDef, outer: State) -> None:
        if isinstance(node, cst.ClassDef):
            self._class(node, outer)
            return
        if node.name.value == "forward" or any(self.is_compile(d.decorator) for d in node.decorators):
            return
        saved = self.function, self.loops, self.path, self.guards
        self.function = f"{self.function}.{node.name.value}" if self.function != "<module>" else node.name.value
        self.loops, self.path, self.guards = (), (), ()
        inner = outer.copy()
        for param in walk(node.params):
            # Of ``self`` it is known what the constructor stored.
            if isinstance(param, cst.Param) and param.name.value != "self":
                inner.forget(param.name.value)
        self.run_scope(node.body.body, inner)
        self.function, self.loops, self.path, self.guards = saved

    def _class(self, node: cst.ClassDef, outer: State) -> None:
        """Methods see what ``__init__`` stored on ``self``."""
        methods = [s for s in node.body.body if isinstance(s, cst.FunctionDef)]
        methods.sort(key=lambda method: method.name.value != "__init__")
        function, self.function = self.function, node.name.value
        shared = outer.copy()
        for method in methods:
            self._define(method, shared)
            if method.name.value == "__init__":
                shared.take(self.state, "self.")
        self.function = function

    def block(self, statements: Iterable[cst.CSTNode]) -> bool:
        """Run statements; False when the end is not reached."""
        before = self.guards
        try:
            for statement in statements:
                self.statement = statement
                if isinstance(statement, cst.SimpleStatementLine):
                    if not all(self._simple(small) for small in statement.body):
                        return False
                elif not self._compound(statement):
                    return False
            return True
        finally:
            # An arm that ends the block guards what stands behind it, up to the end of the block.
            self.guards = before

    def _simple(self, node: cst.BaseSmallStatement) -> bool:
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            self._import(node)
        elif isinstance(node, cst.Assign):
            value = self.evaluate(node.value)
            for each in node.targets:
                self.assign(each.target, value)
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            self.assign(node.target, self.evaluate(node.value))
        elif isinstance(node, cst.Expr):
            self.evaluate(node.value)
        elif isinstance(node, (cst.Return, cst.Raise, cst.Continue, cst.Break)):
            self.visit(node)
            return False
        else:
            self.visit(node)
        return True

    def _compound(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            if isinstance(node, cst.FunctionDef):
                for decorator in node.decorators:
                    self.decorate(node, decorator.decorator)
            else:
                self.state.classes[node.name.value] = node
            self.deferred.append(node)
        elif isinstance(node, cst.If):
            return self._if(node)
        elif isinstance(node, (cst.For, cst.While)):
            if isinstance(node, cst.For):
                iterated = self.evaluate(node.iter)
                self.assign(node.target, Thing(node.target, steps=iterated.steps if not iterated.items else ()))
            else:
                self.visit(node.test)
            self.loops = (*self.loops, node)
            self.block(node.body.body)
            self.loops = self.loops[:-1]
        elif isinstance(node, cst.With):
            guards: tuple[str, ...] = ()
            for item in node.items:
                value = self.evaluate(item.item)
                guards = ("try",) if value.made_by in _TAKES_ERRORS else guards
                if item.asname is not None:
                    self.assign(item.asname.name, value)
            return self._guarded(guards, node.body.body)
        elif isinstance(node, cst.Try):
            before = self.state.copy()
            reached = self._guarded(("try",) if node.handlers else (), node.body.body)
            after = self.state
            for handler in node.handlers:
                self.state = before.copy()
                self._arm((f"except at {id(handler)}", True), handler.body.body)
            self.state = after
            return reached and (node.finalbody is None or self.block(node.finalbody.body.body))
        return True

    def _if(self, node: cst.If) -> bool:
        """Both arms run on a state of their own; an arm that ends the block leaves the state to the other one."""
        text = " ".join(self.source.code(node.test).split())
        holds = not text.startswith("not ")
        text = text.removeprefix("not ")
        if text == '__name__ == "__main__"' or text == "__name__ == '__main__'":
            return self.block(node.body.body)
        self.visit(node.test)
        before = self.state
        self.state = before.copy()
        reached = self._arm((text, holds), node.body.body)
        taken, self.state = self.state, before.copy()
        orelse = node.orelse
        other = True
        if isinstance(orelse, cst.Else):
            other = self._arm((text, not holds), orelse.body.body)
        elif isinstance(orelse, cst.If):
            other = self._arm((text, not holds), [orelse])
        if reached and other:
            self.state = merge(taken, self.state)
        elif reached:
            self.state = taken
        if reached != other:
            self.guards = (*self.guards, text)
        return reached or other

    def _arm(self, condition: tuple[str, bool], body: Iterable[cst.CSTNode]) -> bool:
        self.path = (*self.path, condition)
        reached = self._guarded((condition[0],), body)
        self.path = self.path[:-1]
        return reached

    def _guarded(self, guards: tuple[str, ...], body: Iterable[cst.CSTNode]) -> bool:
        before, self.guards = self.guards, (*self.guards, *guards)
        reached = self.block(body)
        self.guards = before
        return reached

    def assign(self, target: cst.BaseExpression, thing: Thing) -> None:
        """Bind ``target``; an element or an attribute that is stored is an event."""
        if isinstance(target, (cst.Tuple, cst.List)):
            for position, element in enumerate(target.elements):
                known = position < len(thing.items)
                self.assign(element.value, thing.items[position] if known else Thing(element.value))
            return
        if isinstance(target, cst.Subscript):
            self.visit(target)
        chain = dotted(target)
        setting = self.imported(chain)
        if setting.startswith(_CONFIG):
            self.emit(Setting, target, name=setting, thing=thing)
            return
        if chain:
            if isinstance(target, cst.Attribute) and (owner := self.state.find(chain.rpartition(".")[0], target)):
                self.state.record(owner, Step(f".{target.attr.value}=", target, self.path, owner, (thing,)))
            self.state.bind(chain, thing)
        if isinstance(target, (cst.Subscript, cst.Attribute)):
            self.emit(Place, target, target=target, thing=thing, path=self.path)

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        if isinstance(node, cst.Import):
            for alias in node.names:
                name = alias.evaluated_name
                self.mention(alias, name)
                top = name.partition(".")[0]
                self.state.bind_import(alias.evaluated_alias or top, name if alias.evaluated_alias else top)
            return
        base = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
        for alias in node.names if not isinstance(node.names, cst.ImportStar) else ():
            self.mention(alias, f"{base}.{alias.evaluated_name}")
            self.state.bind_import(alias.evaluated_alias or alias.evaluated_name, f"{base}.{alias.evaluated_name}")

    def mention(self, node: cst.CSTNode, name: str) -> None:
        """Emit that a name of torch is used."""
        if name.startswith(("torch.", "functorch")):
            self.emit(Mention, node, name=name)

    def emit(self, kind: type[Event], node: cst.CSTNode, **fields: object) -> None:
        """Keep an event at ``node``."""
        site = Site(self.source, self.function, self.statement, "", bool(self.path), compiled=False, guards=self.guards)
        self.events.append(kind(node=node, site=site, **fields))
