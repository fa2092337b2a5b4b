"""Which functions of imported modules are worth following: those that compile or wrap, and those that call one.

Decided by the words of the text, function by function: a package of 500 files imports modules that use the compiler
somewhere, and to follow every call into them costs more than everything else of a scan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import libcst as cst

from graphdoctor.static.usage.events import dotted
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import children

#: Finds the module that another one imports by a dotted name, which may be relative.
Find = Callable[[SourceModule, str], SourceModule | None]

#: What stands in every file that uses the compiler: one of these words, or one of these patterns.
_WORDS = ("compile_regions", "dynamo_backend", "DynamoPlugin", "TORCH_LOGS")
_OF_TORCH = re.compile(
    r"torch\.(compile(?!r\.is_)|_dynamo|_inductor|_functorch|_export|export|_prims|_logging|ao\.quantization)"
)
#: Most files that compile only compile patterns.
_COMPILES = re.compile(r"(?<!\bre)\.compile\(")
_IMPORTED = re.compile(r"\bimport\b[^\n]*\bcompile\b")
#: What the usage rules know of objects besides: how they are wrapped, stepped, timed and loaded.
_WATCHED = re.compile(
    r"\b(DDP|DistributedDataParallel|FSDP|FullyShardedDataParallel|fully_shard|Accelerator|Fabric|GradScaler|DataLoader"
    r"|optim|lr_scheduler|perf_counter|synchronize|quantize_)\b|\btime\.time\b"
)

#: Comments, text over several lines, and strings, which are dropped where they are sentences.
_TEXT = re.compile(r"\"\"\".*?\"\"\"|\'\'\'.*?\'\'\'|#[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|\'(?:[^\'\\\n]|\\.)*\'", re.DOTALL)
_CLASS_LINE = re.compile(r"^[ \t]*class\b[^\n]*", re.MULTILINE)
_NAME = re.compile(r"\w+")
#: A name that is called, whose attribute is read, that decorates, or that is handed to a call first or by keyword.
_USED = re.compile(r"\w+(?=[ \t]*[(.])|(?<=@)\w+|(?<=[(=])\w+(?=[,)])")

#: Methods that run where an object of their class is made or called.
_IMPLIED = ("__init__", "__new__", "__post_init__", "__call__")

#: A module that the file imports may import the function that uses the compiler from one more module.
_MAX_IMPORTS = 1


def concerns_compiler(text: str) -> bool:
    """Whether the text of a file, without its comments and docstrings, has something to do with the compiler."""
    return _concerns(text) and _concerns(_code(text))


def _code(text: str) -> str:
    return _TEXT.sub(lambda found: found[0] if found[0][0] in "\"'" and " " not in found[0] else "", text)


def _concerns(text: str) -> bool:
    if any(word in text for word in _WORDS) or _OF_TORCH.search(text) is not None:
        return True
    # Looking for the plain text first is ten times as fast.
    if ".compile(" in text and _COMPILES.search(text) is not None:
        return True
    return "compile" in text and _IMPORTED.search(text) is not None


@dataclass(frozen=True)
class _Part:
    """A function, or what a class holds beside its methods."""

    owner: str
    names: frozenset[str]
    compiles: bool
    watched: bool


@dataclass(frozen=True)
class _Outline:
    """The functions of a module by name, those of classes as ``Class.method``, its classes, and what it imports."""

    parts: Mapping[str, _Part]
    methods: Mapping[str, tuple[str, ...]]
    #: The last names of the bases of classes.
    bases: Mapping[str, tuple[str, ...]]
    #: By the name that they are bound to: the module as it is written, and the name in it, if it is one.
    imports: Mapping[str, tuple[str, str]]

    #: The modules of ``import *``.
    stars: tuple[str, ...]

    def defines(self, name: str) -> bool:
        """Whether it is a function or class of the module itself."""
        return name in self.parts or name in self.methods


class Relevance:
    """Answers for one scanned file; ``find`` looks up the modules that it and its imports import."""

    def __init__(self, main: SourceModule, find: Find | None) -> None:
        self._main = main
        self._find = find or _nothing
        self._known: dict[tuple[str, str, bool], bool] = {}

    def uses_compiler(self) -> bool:
        """Whether the file, or a function of the project that it names, uses the compiler."""
        if concerns_compiler(self._main.text):
            return True
        text = _code(self._main.text)
        names = frozenset(_NAME.findall(text))
        used = {*_USED.findall(_CLASS_LINE.sub("", text)), *self._plain_bases()}
        starts = [
            start
            for name in sorted(used)
            if not _outline(self._main).defines(name)
            for start in self._named(self._main, name, names)
        ]
        return any(self._leads(source, key, compiles=True) for source, key in starts)

    def _plain_bases(self) -> Iterator[str]:
        """The bases of the classes that are no modules: what a module does when it is made is not followed."""
        for bases in _outline(self._main).bases.values():
            yield from (base for base in bases if not self._is_module(self._main, base))

    def _is_module(self, source: SourceModule, name: str, depth: int = 4) -> bool:
        if name.endswith("Module") or depth == 0:
            return True
        outline = _outline(source)
        if name in outline.bases:
            return any(self._is_module(source, base, depth - 1) for base in outline.bases[name])
        if name not in outline.imports:
            return False
        module, imported = outline.imports[name]
        other = self._find(source, module)
        return other is not None and self._is_module(other, imported, depth - 1)

    def is_followed(self, source: SourceModule, qualname: str) -> bool:
        """Whether a call of the function ``qualname`` of ``source`` is worth following for what stands in it."""
        parts = _outline(source).parts
        names = qualname.split(".")
        key = next((k for k in (".".join(names[:2]), names[0]) if k in parts), None)
        return source is self._main or key is None or self._leads(source, key, compiles=False)

    def _leads(self, source: SourceModule, key: str, *, compiles: bool) -> bool:
        """Whether a function, or one that it names, uses the compiler, or anything that the rules know."""
        seen: dict[tuple[str, str, bool], int] = {}
        waiting = [(source, key, 0)]
        while waiting:
            where, name, imports = waiting.pop()
            question = (str(where.file), name, compiles)
            if question in seen or self._known.get(question) is False:
                continue
            part = _outline(where).parts[name]
            if self._known.get(question) or part.compiles or (part.watched and not compiles):
                self._known[str(source.file), key, compiles] = True
                return True
            seen[question] = imports
            waiting += [
                (other, found, imports + (other is not where))
                for mentioned in part.names
                for other, found in self._named(where, mentioned, part.names, part.owner)
                if imports < _MAX_IMPORTS or other is where
            ]
        self._known.update(dict.fromkeys(seen, False))
        return False

    def _named(
        self, source: SourceModule, name: str, names: frozenset[str], owner: str = "", imports: int = 0
    ) -> Iterator[tuple[SourceModule, str]]:
        """The functions that ``name`` may stand for in a text that mentions ``names`` and belongs to a class."""
        outline = _outline(source)
        if name in outline.parts:
            yield source, name
        if f"{owner}.{name}" in outline.parts:
            yield source, f"{owner}.{name}"
        for method in outline.methods.get(name, ()):
            if method in names or method in _IMPLIED:
                yield source, f"{name}.{method}"
        if imports > _MAX_IMPORTS:
            return
        if name in outline.imports:
            yield from self._imported(source, *outline.imports[name], names, imports + 1)
        elif not outline.defines(name):
            for star in outline.stars:
                other = self._find(source, star)
                if other is not None:
                    yield from self._named(other, name, names, imports=imports + 1)

    def _imported(
        self, source: SourceModule, module: str, name: str, names: frozenset[str], imports: int
    ) -> Iterator[tuple[SourceModule, str]]:
        """The functions behind ``from module import name``, or behind ``import module`` where there is no name."""
        other = self._find(source, module)
        if other is not None and name:
            found = list(self._named(other, name, names, imports=imports))
            if found:
                yield from found
                return
        if name:
            other = self._find(source, f"{module}{'' if module.endswith('.') else '.'}{name}")
        if other is None or other is self._main:
            return
        for each in names:
            if _outline(other).defines(each):
                yield from self._named(other, each, names, imports=imports)


def _nothing(importer: SourceModule, name: str) -> SourceModule | None:  # noqa: ARG001
    return None


_outlines: WeakKeyDictionary[SourceModule, _Outline] = WeakKeyDictionary()


def _outline(source: SourceModule) -> _Outline:
    """The outline of a module, made once."""
    if source not in _outlines:
        _outlines[source] = _outlined(source)
    return _outlines[source]


def _outlined(source: SourceModule) -> _Outline:
    parts: dict[str, _Part] = {}
    methods: dict[str, tuple[str, ...]] = {}
    bases: dict[str, tuple[str, ...]] = {}
    imports: dict[str, tuple[str, str]] = {}
    stars: list[str] = []
    for node in _statements(source.top.body):
        if isinstance(node, cst.FunctionDef):
            parts[node.name.value] = _part(source, node)
        elif isinstance(node, cst.ClassDef):
            inner = [each for each in _statements(node.body.body) if isinstance(each, cst.FunctionDef)]
            bases[node.name.value] = tuple(dotted(base.value).rpartition(".")[2] for base in node.bases)
            methods[node.name.value] = tuple(each.name.value for each in inner)
            parts.update({f"{node.name.value}.{m.name.value}": _part(source, m, node.name.value) for m in inner})
        elif isinstance(node, cst.Import):
            for alias in node.names:
                name = alias.evaluated_name
                imports[alias.evaluated_alias or name.partition(".")[0]] = name, ""
        elif isinstance(node, cst.ImportFrom):
            base = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
            if isinstance(node.names, cst.ImportStar):
                stars.append(base)
                continue
            for alias in node.names:
                imports[alias.evaluated_alias or alias.evaluated_name] = base, alias.evaluated_name
    return _Outline(parts, methods, bases, imports, tuple(stars))


def _statements(body: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements of a body, those in ``if`` and ``try`` too, not those in functions and classes."""
    for node in body:
        if isinstance(node, cst.SimpleStatementLine):
            yield from node.body
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            yield node
        else:
            yield from _statements(children(node))


def _part(source: SourceModule, node: cst.FunctionDef, owner: str = "") -> _Part:
    first = node.decorators[0].decorator if node.decorators else node
    lines = source.lines[source.location(first).line - 1 : source.location(node).end_line]
    text = _code("\n".join(lines))
    return _Part(owner, frozenset(_USED.findall(text)), _concerns(text), _WATCHED.search(text) is not None)
