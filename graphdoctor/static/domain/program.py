"""The program under analysis: modules, classes and functions of the scanned code, and where names live."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import libcst as cst

from graphdoctor.source.module_files import package_of
from graphdoctor.static.domain.class_lookups import LookupLog
from graphdoctor.static.domain.counters import counters_of
from graphdoctor.static.domain.decorators import NOTHING, Effect, effect, gives_own_function, keeps_in_table
from graphdoctor.static.domain.other_frameworks import is_of_other_framework
from graphdoctor.static.domain.tensor_methods import ASKED_OF_TENSORS, shown_tensors
from graphdoctor.static.domain.torch_tables import MODULE_BASE_NAMES, is_recurrent_layer
from graphdoctor.static.domain.value_functions import options, widen_numbers, widen_strings
from graphdoctor.static.domain.values import Class, External, Function, Value
from graphdoctor.syntax import declared
from graphdoctor.syntax.assigned import assigned
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import find, walk


@dataclass(eq=False)
class Scope:
    """Names of one module, class body or function call, and the scope around it."""

    kind: str
    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    #: Names declared ``global`` or ``nonlocal`` here.
    outer: set[str] = field(default_factory=set)
    #: Names of which an attribute or item was ever narrowed here: assigning any other name forgets nothing.
    narrowed: set[str] = field(default_factory=set)

    def holder(self, name: str) -> Scope | None:
        """The scope that ``find`` takes ``name`` from."""
        scope: Scope | None = self
        while scope is not None and ((scope is not self and scope.kind == "class") or name not in scope.names):
            scope = scope.parent
        return scope

    def find(self, name: str) -> Value | None:
        """The value of ``name`` here or in the scopes around, as Python looks it up (class bodies are skipped)."""
        scope: Scope | None = self
        while scope is not None:
            if (scope is self or scope.kind != "class") and name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def assign(self, name: str, value: Value) -> None:
        """Bind ``name``, honouring ``global`` and ``nonlocal``."""
        self.target(name).names[name] = value

    def target(self, name: str) -> Scope:
        """The scope that ``assign`` binds ``name`` in."""
        scope = self.parent if name in self.outer else self
        while scope is not None and scope is not self and name not in scope.names and scope.parent is not None:
            scope = scope.parent
        return scope or self

    def forget(self, dotted: str) -> None:
        """Drop the narrowed values of ``dotted``, its attributes and items, because it is bound again."""
        if dotted.partition(".")[0] in self.narrowed:
            for name in [n for n in self.names if "." in n and (n == dotted or n.startswith(dotted + "."))]:
                del self.names[name]

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(eq=False)
class ModuleInfo:
    """One module of the scanned code. ``name`` is its dotted name, ``package`` what relative imports start from."""

    source: SourceModule
    name: str
    package: str
    scope: Scope
    #: Files that were looked for when it, or a function of it, imported something.
    looked_for: set[str] = field(default_factory=set)
    #: The files of the modules that it imports, by dotted name; None for a module outside the project.
    imported: dict[str, Path | None] = field(default_factory=dict)
    #: True after ``from m import *`` where the module m is not followed, or has such an import itself.
    imports_unknown_names: bool = False
    #: For the scanned file: the scopes of calls in which functions were defined.
    closures: list[Scope] = field(default_factory=list)

    @cached_property
    def key(self) -> str:
        """Identifies the module; several modules may have the same name."""
        return str(self.source.file)

    @cached_property
    def has_generators(self) -> bool:
        """Whether any of its functions may be a generator."""
        return "yield" in self.source.text

    @cached_property
    def changes_path(self) -> bool:
        """Whether its code may change ``sys.path``."""
        return "sys.path" in self.source.text

    @cached_property
    def root(self) -> Path:
        """The folder that contains its top-level package, by its dotted name: a folder needs no ``__init__.py``."""
        file, parts = self.source.resolved, tuple(self.name.split("."))
        place = file.parent if file.stem == "__init__" else file.with_suffix("")
        if place.parts[-len(parts) :] == parts:
            return place.parents[len(parts) - 1]
        return package_of(file)[1]

    def break_reference_cycles(self) -> None:
        """Break the reference cycles of functions and classes with their module, when its analysis is done.

        The memory is freed at once then: a pass of the garbage collector costs a tenth of a scan.
        """
        for value in (option for named in self.scope.names.values() for option in options(named)):
            if isinstance(value, Class) and value.info.module is self:
                value.info.attrs.clear()
                value.info.__dict__.pop("mro", None)
        for scope in (self.scope, *self.closures):
            scope.names.clear()
        self.closures.clear()


@dataclass(eq=False)
class FunctionInfo:
    """A function or lambda of the scanned code."""

    node: cst.FunctionDef | cst.Lambda
    name: str
    qualname: str
    module: ModuleInfo
    owner: ClassInfo | None
    #: ``staticmethod``, ``classmethod``, ``property``, ``disable``, ``contextmanager``, ... by resolved name.
    markers: frozenset[str]
    defaults: dict[str, Value]
    #: The values of annotations that were needed so far, by the ids of their nodes.
    annotated: dict[int, Value] = field(default_factory=dict)
    #: The wrappers that decorators of other modules put in its place.
    wrappers: tuple[Function, ...] = ()
    #: Of a decorator: the wrapper that it puts in the place of the decorated function, computed once.
    wrapper: Function | None = None
    #: Whether it makes an ``nn.Module``, computed once for all files that import it.
    builds_module_or_logger: bool | None = None
    #: The names that it uses as tensors, and those that it uses as numbers, computed once.
    uses: tuple[frozenset[str], frozenset[str]] | None = None

    @cached_property
    def generator(self) -> bool:
        """True when calling it makes a generator."""
        if isinstance(self.node, cst.Lambda) or not self.module.has_generators:
            return False
        source = self.module.source
        place = source.location(self.node)
        if not any("yield" in line for line in source.lines[place.line - 1 : place.end_line]):
            return False
        inner = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
        return any(type(child) is cst.Yield for child in walk(self.body, stop=inner))

    @cached_property
    def gives_own_function(self) -> bool:
        """Whether its last statement returns a function that is defined in it."""
        return isinstance(self.node, cst.FunctionDef) and gives_own_function(self.body)

    @cached_property
    def keeps_in_table(self) -> bool:
        """Whether it stores an argument under a key, as registries of classes do."""
        return isinstance(self.node, cst.FunctionDef) and keeps_in_table(self.node, self.body)

    @cached_property
    def effect(self) -> Effect:
        """What it does where it is a decorator."""
        return effect(self.node, self.body) if isinstance(self.node, cst.FunctionDef) else NOTHING

    @cached_property
    def first_values(self) -> dict[str, cst.BaseExpression]:
        """The first value that the body assigns to each name, in source order; of a tuple, the value that has it."""
        values: dict[str, cst.BaseExpression] = {}
        for node in find(self.body, cst.Assign):
            for target in node.targets:
                for part, value in assigned(target.target, node.value):
                    if type(part) is cst.Name:
                        values.setdefault(part.value, value)
        return values

    @cached_property
    def shown_tensors(self) -> frozenset[str]:
        """The names whose only value its body asks for what tensors alone have."""
        asks = ASKED_OF_TENSORS.search(self.module.source.code(self.node)) is not None
        return shown_tensors(self.node.params, self.body) if asks else frozenset()

    @cached_property
    def body(self) -> cst.BaseSuite | cst.BaseExpression:
        """What runs when it is called."""
        return self.node.body if isinstance(self.node, cst.Lambda) else self.module.source.body(self.node)


@dataclass(eq=False)
class ClassInfo:
    """A class of the scanned code. ``bases`` are values: other classes, or ``External``."""

    node: cst.ClassDef
    name: str
    qualname: str
    module: ModuleInfo
    bases: tuple[Value, ...]
    attrs: dict[str, Value]
    #: Annotated names of the body in order: the fields of a dataclass or NamedTuple.
    fields: tuple[str, ...] = ()
    dataclass: bool = False
    lookups: LookupLog = field(default_factory=LookupLog)
    #: The attributes that users may set by its own methods, computed once for all files that import it.
    set_by_users: frozenset[str] | None = None

    @cached_property
    def mro(self) -> tuple[ClassInfo, ...]:
        """This class and its bases in the scanned code, depth first."""
        found: list[ClassInfo] = []
        stack: list[ClassInfo] = [self]
        while stack:
            info = stack.pop(0)
            if any(info is known for known in found):
                continue
            found.append(info)
            stack = [b.info for b in info.bases if isinstance(b, Class)] + stack
        return tuple(found)

    @cached_property
    def counters(self) -> frozenset[str]:
        """The attributes that its own methods add to."""
        source = self.module.source
        written = source.syntax_of(self.node)
        return counters_of(written, source.lines) if isinstance(written, ast.ClassDef) else frozenset()

    @cached_property
    def externals(self) -> tuple[str, ...]:
        """Names of the bases outside the scanned code."""
        return tuple(b.qualname for info in self.mro for b in info.bases if isinstance(b, External))

    def lookup(self, name: str, after: ClassInfo | None = None) -> Value | None:
        """The class attribute ``name`` in the order of the bases, after ``after`` when given (``super()``)."""
        found = self._find(name, after)
        if self.lookups.log is not None:
            self.lookups.log.append((self, "lookup", (name, after), found))
        return found

    def is_one_of(self, names: tuple[object, ...]) -> bool:
        """Whether its ``__name__`` is one of ``names``."""
        found = self.name in names
        if self.lookups.log is not None:
            self.lookups.log.append((self, "is_one_of", (names,), found))
        return found

    def found_in_name(self, pattern: str) -> tuple[str, ...]:
        """The result of ``re.findall(pattern, cls.__name__)``."""
        found = tuple(re.findall(pattern, self.name))
        if self.lookups.log is not None:
            self.lookups.log.append((self, "found_in_name", (pattern,), found))
        return found

    def counts(self, name: str) -> bool:
        """Whether a method, not the constructor, adds to the attribute ``name``: each call may find another number."""
        found = any(name in info.counters for info in self.mro)
        if self.lookups.log is not None:
            self.lookups.log.append((self, "counts", (name,), found))
        return found

    def methods_between(self, begin: str, end: str) -> tuple[str, ...]:
        """The names of its functions that begin and end so, alphabetically."""
        named = {name for info in self.mro for name, value in info.attrs.items() if isinstance(value, Function)}
        found = tuple(sorted(n for n in named if len(n) > len(begin + end) and n.startswith(begin) and n.endswith(end)))
        if self.lookups.log is not None:
            self.lookups.log.append((self, "methods_between", (begin, end), found))
        return found

    def lookup_in_subclasses(self, name: str) -> Value | None:
        """The class attribute ``name`` of an object that may be of a subclass, with another name or table there.

        A field has its default, or another number.
        """
        found = self._find(name, None)
        found = None if found is None else widen_strings(found)
        if found is not None and name in self.fields:
            found = widen_numbers(found)
        if self.lookups.log is not None:
            self.lookups.log.append((self, "lookup_in_subclasses", (name,), found))
        return found

    def _find(self, name: str, after: ClassInfo | None) -> Value | None:
        passed = after is None
        for info in self.mro:
            if passed and name in info.attrs:
                return info.attrs[name]
            passed = passed or info is after
        return None

    def is_a(self, other: ClassInfo) -> bool:
        """Whether ``other`` is this class or one of its bases."""
        found = any(info is other for info in self.mro)
        if self.lookups.log is not None:
            self.lookups.log.append((self, "is_a", (other,), found))
        return found

    def declared_tensor(self, name: str) -> tuple[ModuleInfo, cst.BaseExpression] | None:
        """The annotation that says that the attribute ``name`` is a tensor, and the module that it stands in."""
        if self.lookups.log is not None and not self.is_module:
            self.lookups.log.append((self, "declared_as", (name,), self.declared_as(name)))
        return None if self.is_module else self._declared_tensors.get(name)

    def declared_as(self, name: str) -> str | None:
        """The text of the annotation that says that the attribute ``name`` is a tensor."""
        found = None if self.is_module else self._declared_tensors.get(name)
        return None if found is None else found[0].source.code(found[1])

    @cached_property
    def is_record_of_tensors(self) -> bool:
        """Whether it is a dataclass or a named tuple with a field that is a tensor."""
        return not self.is_module and any(name in self._declared_tensors for name in self.fields)

    @property
    def holds_tensors(self) -> bool:
        """Whether an attribute of its objects is declared to be a tensor."""
        return not self.is_module and bool(self._declared_tensors)

    @cached_property
    def _declared_tensors(self) -> dict[str, tuple[ModuleInfo, cst.BaseExpression]]:
        """For attributes that the body declares, or that the constructor sets to a parameter."""
        found: dict[str, tuple[ModuleInfo, cst.BaseExpression]] = {}
        for info in (known for known in self.mro if "Tensor" in known.module.source.text):
            init = info.attrs.get("__init__")
            body = (init.info.node, init.info.body) if isinstance(init, Function) else None
            for name, node in declared.tensors(info.node, body):
                found.setdefault(name, (info.module, node))
        return found

    @cached_property
    def has_text_members(self) -> bool:
        """Whether it is an enum of texts: ``class Mode(str, Enum)`` or ``class Mode(StrEnum)``."""
        return self.derives("enum.StrEnum") or (self.derives("enum.Enum") and self.derives("builtins.str"))

    @cached_property
    def is_module(self) -> bool:
        """True when it derives from nn.Module, judging by the names of its bases."""
        return any(map(_is_of_modules, self.externals))

    @cached_property
    def is_tensor(self) -> bool:
        """Whether its objects are tensors: ``class Labelled(torch.Tensor)``."""
        return self.derives("torch.Tensor", "torch._tensor.Tensor")

    def has_own_call(self) -> bool:
        """Whether a call of its objects runs a `__call__` of the scanned code.

        Where nn.Module comes first, as in ``class Net(nn.Module, Action)``, the call runs the forward.
        """
        found = self._find("__call__", None) is not None and self._calls_before_module()
        if self.lookups.log is not None:
            self.lookups.log.append((self, "has_own_call", (), found))
        return found

    def _calls_before_module(self) -> bool:
        after_module = False
        bases: list[Value] = [Class(self)]
        while bases:
            base = bases.pop(0)
            if isinstance(base, External):
                after_module = after_module or _is_of_modules(base.qualname)
            elif isinstance(base, Class):
                if "__call__" in base.info.attrs and (base.info.is_module or not after_module):
                    return True
                bases = [*base.info.bases, *bases]
        return False

    @cached_property
    def recurrent_layer(self) -> str | None:
        """The recurrent layer of torch that it derives from: Dynamo traces no call of its objects."""
        return next((name for name in self.externals if is_recurrent_layer(name)), None)

    def derives(self, *qualnames: str) -> bool:
        """True when one of its bases outside the scanned code is named so."""
        return any(name in qualnames for name in self.externals)


def _is_of_modules(name: str) -> bool:
    """Whether the base ``name`` is nn.Module, or a class of a library that by its name derives from it."""
    last = name.rpartition(".")[2]
    named = last.endswith(MODULE_BASE_NAMES) and not is_of_other_framework(name)
    return named or name.startswith("torch.nn.")
