"""Which functions of imported modules are worth following: those that compile or wrap, and those that call one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphdoctor.static.usage.outline import code_of, concerns_compiler, names_in, outline, part, used_names
from graphdoctor.syntax.module import SourceModule

#: Finds the module that another one imports by a dotted name, which may be relative.
Find = Callable[[SourceModule, str], SourceModule | None]

#: Methods that run where an object of their class is made or called.
_IMPLIED = ("__init__", "__new__", "__post_init__", "__call__")

#: A module that the file imports may import the function that uses the compiler from one more module.
_MAX_IMPORTS = 1


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
        text = code_of(self._main.text)
        names = names_in(text)
        used = used_names(text) | frozenset(self._plain_bases())
        foreign = sorted(used - outline(self._main).defined)
        starts = [start for name in foreign for start in self._named(self._main, name, names)]
        return any(self._leads(source, key, compiles=True) for source, key in starts)

    def _plain_bases(self) -> Iterator[str]:
        """The bases of the classes that are no modules: what a module does when it is made is not followed."""
        for bases in outline(self._main).bases.values():
            yield from (base for base in bases if not self._is_module(self._main, base))

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

    def _leads(self, source: SourceModule, key: str, *, compiles: bool) -> bool:
        """Whether a function, or one that it names, uses the compiler, or anything that the rules know."""
        seen: dict[tuple[str, str, bool], int] = {}
        waiting = [(source, key, 0)]
        while waiting:
            where, name, imports = waiting.pop()
            question = (str(where.file), name, compiles)
            if question in seen or self._known.get(question) is False:
                continue
            text = part(where, name)
            if self._known.get(question) or text.compiles or (text.watched and not compiles):
                self._known[str(source.file), key, compiles] = True
                return True
            seen[question] = imports
            waiting += [
                (other, found, imports + (other is not where))
                for mentioned in text.names
                for other, found in self._named(where, mentioned, text.names, text.owner)
                if imports < _MAX_IMPORTS or other is where
            ]
        self._known.update(dict.fromkeys(seen, False))
        return False

    def _named(
        self, source: SourceModule, name: str, names: frozenset[str], owner: str = "", imports: int = 0
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
        for each in sorted(names & outline(other).defined):
            yield from self._named(other, each, names, imports=imports)


def _nothing(importer: SourceModule, name: str) -> SourceModule | None:  # noqa: ARG001
    return None
