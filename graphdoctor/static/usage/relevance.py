"""Which functions of imported modules are worth following: those that compile or wrap, and those that call one."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass

from graphdoctor.static.usage.modules import Modules
from graphdoctor.static.usage.outline import (
    Outline,
    Words,
    code_of,
    concerns_compiler,
    outline,
    part,
    used_among,
    used_names,
)
from graphdoctor.syntax.module import SourceModule

#: Methods that run where an object of their class is made or called.
_IMPLIED = ("__init__", "__new__", "__post_init__", "__call__")

#: A module that the file imports may import the function that uses the compiler from one more module.
_MAX_IMPORTS = 1


@dataclass(frozen=True)
class Answer:
    """Whether a function leads to the compiler, and the paths of the files, there or not, on which that depends."""

    leads: bool
    looked_for: frozenset[str]


#: By file, name of the function, and whether it is asked for the compiler alone: files that import the same modules ask
#: the same, so they share the answers.
Answers = dict[tuple[str, str, bool], Answer]


class Relevance:
    """Answers for one scanned file; ``modules`` finds what it and its imports import."""

    def __init__(self, main: SourceModule, modules: Modules | None, answers: Answers) -> None:
        self._main = main
        self._modules = modules
        self._answers = answers

    def uses_compiler(self) -> bool:
        """Whether the file, or a function of the project that it names, uses the compiler."""
        if concerns_compiler(self._main.text):
            return True
        text = code_of(self._main.text)
        names = Words(text)
        known = outline(self._main)
        used = used_names(text) if known.stars else used_among(known.imports.keys() - known.defined, text)
        foreign = sorted(_resolvable(known, used | frozenset(self._plain_bases())) - known.defined)
        starts = [start for name in foreign for start in self._named(self._main, name, names)]
        return any(self._leads(source, key, compiles=True) for source, key in starts)

    def _plain_bases(self) -> Iterator[str]:
        """The bases of classes that are no modules: constructors of modules are not followed."""
        for bases in outline(self._main).bases.values():
            yield from (base for base in bases if not self._is_module(self._main, base))

    def _find(self, importer: SourceModule, dotted: str) -> SourceModule | None:
        return self._modules.find(importer, dotted) if self._modules is not None else None

    def _is_module(self, source: SourceModule, name: str, depth: int = 4) -> bool:
        if name.endswith("Module") or depth == 0:
            return True
        known = outline(source)
        if name in known.bases:
            return any(self._is_module(source, base, depth - 1) for base in known.bases[name])
        if name not in known.imports:
            return False
        module, imported = known.imports[name]
        other = self._find(source, module)
        return other is not None and self._is_module(other, imported, depth - 1)

    def is_followed(self, source: SourceModule, qualname: str) -> bool:
        """Whether a call of the function ``qualname`` of ``source`` is worth following for what stands in it."""
        functions = outline(source).functions
        names = qualname.split(".")
        key = next((k for k in (".".join(names[:2]), names[0]) if k in functions), None)
        return source is self._main or key is None or self._leads(source, key, compiles=False)

    def compiles(self, source: SourceModule, called: str) -> bool:
        """Whether a function that ``source`` calls by this dotted name uses the compiler."""
        names = called.split(".")
        starts = self._named(source, names[0], names)
        return any(self._leads(other, key, compiles=True) for other, key in starts)

    def _leads(self, source: SourceModule, key: str, *, compiles: bool) -> bool:
        """Whether a function, or one that it names, uses the compiler, or anything that the rules know."""
        question = str(source.file), key, compiles
        if question not in self._answers:
            self._answers[question] = self._explored(source, key, compiles=compiles)
        answer = self._answers[question]
        if self._modules is not None:
            self._modules.depend_on(answer.looked_for)
        return answer.leads

    def _explored(self, source: SourceModule, key: str, *, compiles: bool) -> Answer:
        """Go from a function to those it names, over as few imports as possible."""
        seen: dict[tuple[str, str], SourceModule] = {}
        looked_for: set[str] = set()
        waiting = deque([(source, key, 0)])
        leads = False
        while waiting and not leads:
            where, name, imports = waiting.popleft()
            if (str(where.file), name) in seen:
                continue
            known = self._answers.get((str(where.file), name, compiles)) if imports == 0 else None
            if known is not None:
                looked_for |= known.looked_for
                leads = known.leads
                continue
            seen[str(where.file), name] = where
            text = part(where, name)
            leads = text.compiles or (text.watched and not compiles)
            for mentioned in () if leads else _resolvable(outline(where), text.names, text.owner):
                for other, found in self._named(where, mentioned, text.names, text.owner):
                    if other is where:
                        waiting.appendleft((other, found, imports))
                    elif imports < _MAX_IMPORTS:
                        waiting.append((other, found, imports + 1))
        if self._modules is not None:
            looked_for |= self._modules.looked_for(seen.values())
        return Answer(leads, frozenset(looked_for))

    def _named(
        self, source: SourceModule, name: str, names: Container[str], owner: str = "", imports: int = 0
    ) -> Iterator[tuple[SourceModule, str]]:
        """The functions that ``name`` may stand for in a text that mentions ``names`` and belongs to a class."""
        known = outline(source)
        if name in known.functions:
            yield source, name
        if f"{owner}.{name}" in known.functions:
            yield source, f"{owner}.{name}"
        for method in known.methods.get(name, ()):
            if method in names or method in _IMPLIED:
                yield source, f"{name}.{method}"
        if imports > _MAX_IMPORTS:
            return
        if name in known.imports:
            yield from self._imported(source, *known.imports[name], names, imports + 1)
        elif name not in known.defined:
            for star in known.stars:
                other = self._find(source, star)
                if other is not None:
                    yield from self._named(other, name, names, imports=imports + 1)

    def _imported(
        self, source: SourceModule, module: str, name: str, names: Container[str], imports: int
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
        if other is None:
            return
        for each in sorted(each for each in outline(other).defined if each in names):
            yield from self._named(other, each, names, imports=imports)


def _resolvable(known: Outline, names: frozenset[str], owner: str = "") -> frozenset[str]:
    """Those of ``names`` that may stand for a function of this module or of another: most are local variables."""
    if known.stars:
        return names
    return names & (known.defined | known.imports.keys() | set(known.methods.get(owner, ())))
