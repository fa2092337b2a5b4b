"""Reads the statements of a file in order, outside compiled code, and makes the events of ``usage``.

It knows no values but literals. What it keeps of an object is which calls worked on it, under which conditions; calls
into the scanned code are followed, with what they are given, so that an object is known in helpers, attributes and
containers. After an ``if``, both arms count, each step with its condition. Functions that no call led into are entered
at the end, with arguments of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.source.text import words_at
from graphdoctor.static.domain.events import Event
from graphdoctor.static.usage.compiling_methods import compiling_methods
from graphdoctor.static.usage.events import Arguments, Class, Function, TrackedObject, dotted, imported_from
from graphdoctor.static.usage.frame import Frame
from graphdoctor.static.usage.modules import Bindings, Modules, bindings
from graphdoctor.static.usage.related import related_texts
from graphdoctor.static.usage.relevance import Answers, Relevance
from graphdoctor.static.usage.state import State
from graphdoctor.static.usage.statements import Statements
from graphdoctor.syntax.module import SourceModule


def usage_events(
    source: SourceModule, modules: Modules | None = None, answers: Answers | None = None
) -> Iterable[Event]:
    """The usage events of one file; none where nothing is compiled in it, or in what it imports from its project.

    ``modules`` finds the modules of the project that it imports, and ``answers`` keeps what is known of them.
    """
    relevance = Relevance(source, modules, answers if answers is not None else {})
    if not relevance.uses_compiler():
        return ()
    script = Script(modules, relevance)
    script.run(source)
    return script.events


@dataclass(frozen=True, eq=False)
class _Pending:
    """A function or class that was defined, and the state where its scope ended."""

    code: Function | Class
    state: State


class Script(Statements):
    """Walks one file. ``events`` grows as it goes."""

    def __init__(self, modules: Modules | None, relevance: Relevance) -> None:
        super().__init__()
        self._modules = modules
        self._relevance = relevance
        self._defined: list[Function | Class] = []
        self._pending: list[_Pending] = []
        #: The scopes of the modules, by path.
        self._scopes: dict[str, int] = {}
        self._bound: dict[str, Bindings] = {}
        #: The names of modules that are being looked up.
        self._looking: set[tuple[str, str]] = set()
        self._related: dict[str, Sequence[str]] = {}
        self._main: SourceModule

    def run(self, source: SourceModule) -> None:
        """Walk the top level, then what no call led into: first what no other code of the file names."""
        self._main = source
        self._module(source)
        self._settle()
        for named in (1, None):
            for pending in (each for each in self._rest() if named is None or _mentions(source, each.code) == named):
                self._enter_alone(pending)

    def _rest(self) -> Iterable[_Pending]:
        """The functions and classes that are pending; entering one may define more."""
        position = 0
        while position < len(self._pending):
            yield self._pending[position]
            position += 1

    def _settle(self) -> None:
        """Keep what was defined, with the state that it sees once its scope has ended."""
        state = self.state.copy()
        self._pending += [_Pending(code, state) for code in self._defined]
        self._defined = []

    def _module(self, source: SourceModule) -> None:
        scope = self._scopes[str(source.file)] = self.new_number()
        self.frame = Frame(source, (scope,), "<module>", source.top)
        self.block(source.top.body)

    def _enter_alone(self, pending: _Pending) -> None:
        code, self.state = pending.code, pending.state.copy()
        if isinstance(code, Function):
            if not self.was_followed(code) and not _is_compiled(code):
                self.begin_run()
                self.enter(code, alone=True)
                self._settle()
            return
        methods = [m.code for m in code.names.values() if isinstance(m.code, Function) and m.code.owner is code]
        waiting = [m for m in methods if not self.was_followed(m) and not _is_compiled(m)]
        if not waiting:
            return
        self.frame = Frame(code.module, (), code.qualname, code.node)
        step = self.new_step(code.node.name.value, code.node)
        instance = self.made(code.node, step, made_of=code)
        constructor = code.method("__init__")
        if constructor is not None:
            self._method(constructor, instance)
        begun, stored = self.state, self.state.copy()
        compiling = compiling_methods(waiting, self._relevance)
        # What compiles comes first: the other methods may use what it stores.
        for method in sorted(waiting, key=lambda each: each not in compiling):
            if method is not constructor and not self.was_followed(method):
                self.state = (begun if method in compiling else stored).copy()
                self._method(method, instance)
                if method in compiling:
                    stored.fill_in(instance.number, self.state)

    def _method(self, method: Function, instance: TrackedObject) -> None:
        self.begin_run()
        self.enter(replace(method, bound=instance), alone=True)
        self._settle()

    def run_body(self, code: Function) -> bool:
        """Walk the body of a function in the present frame."""
        if isinstance(code.node, cst.Lambda):
            self.evaluate(code.node.body)
            return True
        return self.block(code.module.body(code.node).body)

    def member(self, name: str) -> TrackedObject | None:
        """What a dotted name stands for in the modules of the project."""
        module, _, last = name.rpartition(".")
        source = self._modules.find(self.frame.module, module) if self._modules is not None and module else None
        return self._global(source, last) if source is not None and source is not self._main else None

    def global_name(self, name: str) -> TrackedObject | None:
        """What an unbound name stands for in the module of the frame, which may not have been walked."""
        return self._global(self.frame.module, name)

    def _global(self, source: SourceModule, name: str) -> TrackedObject | None:
        """What a module binds to ``name`` at its top level: of imported ones only these statements are walked."""
        key = str(source.file), name
        if key in self._looking:
            return None
        self._looking.add(key)
        frame, events, log, importing = self.frame, self.events, self.log, self.importing
        # What an imported module does by itself is reported when it is scanned.
        self.events, self.log, self.importing = [], [], True
        try:
            scope = self._scopes.setdefault(key[0], 0) or self.new_number()
            self._scopes[key[0]] = scope
            bindings = self._bindings(source)
            if source is not self._main and name not in self.state.scopes.get(scope, {}):
                self.frame = Frame(source, (scope,), "<module>", source.top)
                self.block(bindings.names.get(name, ()))
            found = self.state.find((scope,), name)
            if found is not None and found.name:
                self.frame = Frame(source, (scope,), "<module>", source.top)
                found = self.member(found.name) or found
            for star in bindings.stars if found is None else ():
                other = self._modules.find(source, star) if self._modules is not None else None
                found = found or (self._global(other, name) if other is not None else None)
            return found
        finally:
            self.frame, self.events, self.log, self.importing = frame, events, log, importing
            self._looking.discard(key)

    def _bindings(self, source: SourceModule) -> Bindings:
        if str(source.file) not in self._bound:
            self._bound[str(source.file)] = bindings(source)
        return self._bound[str(source.file)]

    def related(self, source: SourceModule) -> Sequence[str]:
        """The texts of the files that belong to one program with a module; so does the file that is scanned."""
        if source is self._main:
            return self._related_to(source)
        return [*self._related_to(source), self._main.text, *self._related_to(self._main)]

    def _related_to(self, source: SourceModule) -> Sequence[str]:
        key = str(source.file)
        if key not in self._related:
            self._related[key] = related_texts(source, self._modules) if self._modules is not None else ()
        return self._related[key]

    def is_main(self) -> bool:
        """Whether the module is the file that is scanned, and not one that it imports."""
        return self.frame.module is self._main

    def is_relevant(self, code: Function) -> bool:
        """Whether what stands in the function concerns the compiler."""
        return self._relevance.is_followed(code.module, code.qualname)

    def define(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        """Bind a function or class."""
        frame = self.frame
        name = node.name.value
        prefix = "" if frame.name == "<module>" else f"{frame.name}."
        tracked: TrackedObject
        if isinstance(node, cst.ClassDef):
            tracked = self._class(node, prefix + name)
        else:
            scopes = frame.scopes if frame.owner is None else frame.scopes[:-1]
            named = {self._marker(d.decorator) for d in node.decorators}
            code = Function(node, frame.module, scopes, prefix + name, frame.owner, markers=frozenset(named))
            if self.is_main() and frame.owner is None:
                self._defined.append(code)
            tracked = TrackedObject(node, code=code)
            for decorator in reversed(node.decorators):
                tracked = self._decorated(tracked, decorator.decorator)
        self.state.bind(frame.scopes[-1], name, tracked)

    def _marker(self, decorator: cst.BaseExpression) -> str:
        if self.is_compile(decorator):
            return "torch.compile"
        if isinstance(decorator, cst.Call) and not decorator.args:
            decorator = decorator.func
        return (self.resolved(decorator) or dotted(decorator)).rpartition(".")[2]

    def _decorated(self, tracked: TrackedObject, decorator: cst.BaseExpression) -> TrackedObject:
        """What a decorator makes of a function; of those of other packages, that it stays the same."""
        by = self.evaluate(decorator)
        waiting = by.find("torch.compile")
        if by.name == "torch.compile":
            return self.made(tracked.node, self.new_step(by.name, decorator, passed=Arguments((tracked,))), tracked)
        if waiting is not None:
            return self.made(tracked.node, replace(waiting, args=(tracked,)), tracked)
        if isinstance(by.code, Function) and self.is_relevant(by.code):
            returned = self.enter(by.code, Arguments((tracked,)))
            return returned if returned.code is not None or returned.steps else tracked
        return tracked

    def _class(self, node: cst.ClassDef, qualname: str) -> TrackedObject:
        frame, scope = self.frame, self.new_number()
        bases = tuple(self.evaluate(base.value) for base in node.bases)
        names: dict[str, TrackedObject] = {}
        code = Class(node, frame.module, qualname, bases, names)
        self.frame = replace(frame, scopes=(*frame.scopes, scope), name=qualname, owner=code, returns=[], outer=set())
        self.block(node.body.body)
        self.frame = frame
        names.update(self.state.scopes.get(scope, {}))
        if self.is_main():
            self._defined.append(code)
        return TrackedObject(node, code=code)

    def import_names(self, node: cst.Import | cst.ImportFrom) -> None:
        """Bind what is imported; what a module of the project holds is looked up when it is used."""
        scope = self.frame.scopes[-1]
        if isinstance(node, cst.Import):
            for alias in node.names:
                name = alias.evaluated_name
                self.mention(alias, name)
                top = name.partition(".")[0]
                bound = alias.evaluated_alias or top
                self.state.bind(scope, bound, TrackedObject(alias, name=name if alias.evaluated_alias else top))
            return
        base = imported_from(node)
        if node.relative and self._modules is not None:
            base = self._modules.absolute(self.frame.module, base)
        for alias in node.names if not isinstance(node.names, cst.ImportStar) else ():
            full = f"{base}.{alias.evaluated_name}"
            self.mention(alias, full)
            self.state.bind(scope, alias.evaluated_alias or alias.evaluated_name, TrackedObject(alias, name=full))


def _is_compiled(code: Function) -> bool:
    """Whether the function is compiled code itself."""
    name = code.node.name.value if isinstance(code.node, cst.FunctionDef) else ""
    return name == "forward" or "torch.compile" in code.markers


def _mentions(source: SourceModule, code: Function | Class) -> int:
    """How often the file names a function or class."""
    name = code.node.name.value if not isinstance(code.node, cst.Lambda) else ""
    return sum(1 for _ in words_at(name, source.text)) if name else 0
