"""The outline of a module by its text: which functions use the compiler, and which names they use.

By words alone, since interpreting every imported module of a package costs more than the rest of a scan.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import libcst as cst

from graphdoctor.source.text import has_word, words_at
from graphdoctor.static.usage.events import TrackedObject, dotted, imported_from
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import children

#: Each file that uses the compiler has one of these words or patterns. Marks on tensors and functions for a compiler
#: that others call do not count (``mark_dynamic``, ``disable``): the usage rules do not look at them.
_WORDS = ("compile_regions", "dynamo_backend", "DynamoPlugin", "torch_compile_mode", "TORCH_LOGS")
_OF_TORCH = re.compile(
    r"torch\.(compile(?!r\.(?:is_|disable))"
    r"|_dynamo(?!\.(?:mark_|maybe_mark_|allow_in_graph|assume_constant_result|is_compiling|disable))"
    r"|_inductor|_functorch|_export|export|_prims|_logging|ao\.quantization)"
)
#: Most files that compile only compile patterns.
_COMPILES = re.compile(r"(?<!\bre)\.compile\(")
_IMPORTED = re.compile(r"^[ \t]*(?:from|import)\b[^\n]*\bcompile\b", re.MULTILINE)
#: Further words that the usage rules look for: of wrapping, stepping, timing and loading.
_WATCHED = re.compile(
    r"\b(DDP|DistributedDataParallel|FSDP|FullyShardedDataParallel|fully_shard|Accelerator|Fabric|GradScaler|DataLoader"
    r"|optim|lr_scheduler|perf_counter|synchronize|quantize_)\b|\btime\.time\b"
)

#: Comments, text over several lines, and strings, which are dropped where they are sentences.
_TEXT = re.compile(r"\"\"\".*?\"\"\"|\'\'\'.*?\'\'\'|#[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|\'(?:[^\'\\\n]|\\.)*\'", re.DOTALL)
_CLASS_LINE = re.compile(r"^[ \t]*class\b[^\n]*", re.MULTILINE)
#: A name that is called, whose attribute is read, that decorates, or that is handed to a call first or by keyword.
#: It is matched from its first letter only: trying each letter takes time that grows with the square of its length.
_USED = re.compile(r"\b\w+\b(?=[ \t]*[(.])|(?<=@)\w+|(?<=[(=])\w+\b(?=[,)])")
_CALLED = re.compile(r"[ \t]*[(.]")


def concerns_compiler(text: str) -> bool:
    """Whether the text of a file, without its comments and docstrings, has something to do with the compiler."""
    return _concerns(text) and _concerns(code_of(text))


def is_foreign(receiver: TrackedObject | None, text: str) -> bool:
    """Whether an object whose class is not in the scanned code stands in a file that does not mention torch."""
    known = receiver is not None and (receiver.made_of is not None or receiver.code is not None)
    return not known and not any(word in text for word in ("torch", "lightning", "transformers", "diffusers"))


def code_of(text: str) -> str:
    """The text without comments, docstrings and sentences."""
    return _TEXT.sub(lambda found: found[0] if found[0][0] in "\"'" and " " not in found[0] else "", text)


class Words(Container[str]):
    """The words of a text. Few are asked for, so they are looked for one by one."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and has_word(word, self._text)


def used_names(code: str) -> frozenset[str]:
    """The names that are called, read from, handed on or used as decorators, the bases of classes left out."""
    return frozenset(_USED.findall(_CLASS_LINE.sub("", code)))


def used_among(names: Iterable[str], code: str) -> frozenset[str]:
    """Those of ``names`` that ``used_names`` gives: for the few that a file imports, many times as fast."""
    text = _CLASS_LINE.sub("", code)
    return frozenset(name for name in names if _is_used(name, text))


def _is_used(name: str, text: str) -> bool:
    for start in words_at(name, text):
        end = start + len(name)
        before, after = text[start - 1 : start], text[end : end + 1]
        handed_on = before == "@" or (before in ("(", "=") and after in (",", ")"))
        if handed_on or _CALLED.match(text, end):
            return True
    return False


def _concerns(text: str) -> bool:
    if any(word in text for word in _WORDS) or _OF_TORCH.search(text) is not None:
        return True
    # Looking for the plain text first is ten times as fast.
    if ".compile(" in text and _COMPILES.search(text) is not None:
        return True
    return "compile" in text and _IMPORTED.search(text) is not None


@dataclass(frozen=True)
class Part:
    """A function: the class that it belongs to, the names it uses, and whether its text has to do with the compiler."""

    owner: str
    names: frozenset[str]
    compiles: bool
    watched: bool


@dataclass(frozen=True)
class Outline:
    """The functions of a module, its classes, and what it imports."""

    #: The functions by name, those of classes as ``Class.method``, each with the name of its class.
    functions: Mapping[str, tuple[cst.FunctionDef, str]]
    #: The names of functions and classes.
    defined: frozenset[str]
    methods: Mapping[str, tuple[str, ...]]
    #: The last names of the bases of classes.
    bases: Mapping[str, tuple[str, ...]]
    #: By the name that they are bound to: the module as it is written, and the name in it, if it is one.
    imports: Mapping[str, tuple[str, str]]
    #: The modules of ``import *``.
    stars: tuple[str, ...]


_outlines: WeakKeyDictionary[SourceModule, Outline] = WeakKeyDictionary()
_parts: WeakKeyDictionary[SourceModule, dict[str, Part]] = WeakKeyDictionary()


def outline(source: SourceModule) -> Outline:
    """The outline of a module, made once."""
    found = _outlines.get(source)
    if found is None:
        found = _outlines[source] = _outlined(source)
    return found


def part(source: SourceModule, name: str) -> Part:
    """What the text of one of the functions of an outline says, read once: most of a module is never asked for."""
    known = _parts.setdefault(source, {})
    if name not in known:
        known[name] = _part(source, *outline(source).functions[name])
    return known[name]


def _outlined(source: SourceModule) -> Outline:
    functions: dict[str, tuple[cst.FunctionDef, str]] = {}
    methods: dict[str, tuple[str, ...]] = {}
    bases: dict[str, tuple[str, ...]] = {}
    imports: dict[str, tuple[str, str]] = {}
    stars: list[str] = []
    for node in _statements(source.top.body):
        if type(node) is cst.FunctionDef:
            functions[node.name.value] = node, ""
        elif type(node) is cst.ClassDef:
            inner = [each for each in _statements(node.body.body) if type(each) is cst.FunctionDef]
            bases[node.name.value] = tuple(dotted(base.value).rpartition(".")[2] for base in node.bases)
            methods[node.name.value] = tuple(each.name.value for each in inner)
            functions.update({f"{node.name.value}.{method.name.value}": (method, node.name.value) for method in inner})
        elif type(node) is cst.Import:
            for alias in node.names:
                name = alias.evaluated_name
                imports[alias.evaluated_alias or name.partition(".")[0]] = name, ""
        elif type(node) is cst.ImportFrom:
            base = imported_from(node)
            if isinstance(node.names, cst.ImportStar):
                stars.append(base)
                continue
            for alias in node.names:
                imports[alias.evaluated_alias or alias.evaluated_name] = base, alias.evaluated_name
    return Outline(functions, frozenset(functions) | frozenset(methods), methods, bases, imports, tuple(stars))


def _statements(body: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements of a body, those in ``if`` and ``try`` too, not those in functions and classes."""
    for node in body:
        if type(node) is cst.SimpleStatementLine:
            yield from node.body
        elif type(node) is cst.FunctionDef or type(node) is cst.ClassDef:
            yield node
        else:
            yield from _statements(children(node))


def _part(source: SourceModule, node: cst.FunctionDef, owner: str) -> Part:
    first = node.decorators[0].decorator if node.decorators else node
    lines = source.lines[source.location(first).line - 1 : source.location(node).end_line]
    text = code_of("\n".join(lines))
    return Part(owner, frozenset(_USED.findall(text)), _concerns(text), _WATCHED.search(text) is not None)
