"""Lookups that the fixes of one file repeat: each result is found in one walk and kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst

from graphdoctor.fixes.core import torch_name
from graphdoctor.fixes.core.scope import Names, names_in
from graphdoctor.source import text
from graphdoctor.syntax.walk import by_class, walk
from graphdoctor.syntax.written import Written

_Kind = TypeVar("_Kind", bound=cst.CSTNode)
#: Patterns that begin with plain text, and look back for what must not stand before it, are searched for much faster.
_FUNCTION = re.compile(r"def(?<!\wdef)\s+(\w+)")
#: How a line begins that holds a node of the class: to search for it is much faster than a walk over the file.
_BEGIN: dict[type[cst.CSTNode], re.Pattern[str]] = {
    cst.Try: re.compile(r"^[ \t\f]*try\b", re.MULTILINE), cst.TryStar: re.compile(r"^[ \t\f]*try\b", re.MULTILINE),
    cst.With: re.compile(r"^[ \t\f]*(?:async\b|with\b)", re.MULTILINE),
}  # fmt: skip


class Lookup:
    """Answers about the names and nodes of one file and of its functions."""

    def __init__(self, module: Written) -> None:
        self.module = module
        self._names: dict[cst.CSTNode, Names] = {}
        self._within: dict[cst.CSTNode, Mapping[type[cst.CSTNode], Sequence[cst.CSTNode]]] = {}
        self._binds_torch: dict[cst.CSTNode, bool] = {}
        self._has_word: dict[str, bool] = {}

    def assignments(self, function: cst.CSTNode, name: str) -> Sequence[cst.CSTNode]:
        """The nodes in ``function``, or in the module, that bind the plain name ``name``, in source order."""
        return [self.module.current(node) for node in self._names_in(function).bound.get(name, ())]

    def mentions(self, function: cst.CSTNode, name: str) -> Sequence[cst.Name]:
        """The plain names ``name`` in ``function``, in source order."""
        return self._names_in(function).mentioned.get(name, [])

    def _names_in(self, function: cst.CSTNode) -> Names:
        if function not in self._names:
            self._names[function] = names_in(walk(function))
        return self._names[function]

    def mentions_anywhere(self, name: str) -> bool:
        """True when the plain name ``name`` occurs in the file."""
        return self.has_word(name) and name in self._counts

    def has_word(self, word: str) -> bool:
        """True when ``word`` occurs in the file: as a name, in a text or in a comment."""
        if word not in self._has_word:
            # Most are not there at all, and to look for plain text is a thousand times as fast as to collect the words.
            self._has_word[word] = text.has_word(word, self.module.text)
        return self._has_word[word]

    def defines_function(self, name: str) -> bool:
        """True when the file has a function or a property of that name, as a method or not."""
        if not self.has_word(name):
            return False
        pattern = rf"{re.escape(name)}(?<!\w{re.escape(name)})\s*=\s*[\w.]*property\b"
        return name in self._functions or self.module.has(re.compile(pattern))

    @cached_property
    def _functions(self) -> frozenset[str]:
        """The names of all functions in the file."""
        return frozenset(_FUNCTION.findall(self.module.text))

    def mentions_outside(self, function: cst.FunctionDef, name: str) -> bool:
        """True when the plain name ``name`` occurs in the file outside of ``function``."""
        return self.mentions_anywhere(name) and self._counts[name] > len(self.mentions(function, name))

    def every(self, kind: type[_Kind]) -> Sequence[_Kind]:
        """The nodes of the class ``kind`` in the file, in source order: as they are written, or as they were read."""
        begin = _BEGIN.get(kind)
        if begin is not None and not self.module.has(begin):
            return ()
        current: Sequence[Any] = [self.module.current(node) for node in self._by_class.get(kind, ())]
        return current

    def within(self, function: cst.FunctionDef, kind: type[_Kind]) -> Sequence[_Kind]:
        """The nodes of the class ``kind`` in ``function``, as it is written, in source order."""
        if function not in self._within:
            self._within[function] = by_class(function)
        found: Sequence[Any] = self._within[function].get(kind, ())
        return found

    def fresh(self, name: str) -> str:
        """``name``, with underscores after it until nothing in the file has it."""
        while self.mentions_anywhere(name):
            name += "_"
        return name

    @cached_property
    def _counts(self) -> Counter[str]:
        """How often each plain name occurs in the file."""
        return Counter(name.value for name in self.every(cst.Name))

    @cached_property
    def _by_class(self) -> Mapping[type[cst.CSTNode], Sequence[cst.CSTNode]]:
        """The nodes of the file by their class, each in source order, as they were when they were first needed."""
        return by_class(self.module.tree)

    @cached_property
    def torch_names(self) -> frozenset[str]:
        """The names at module level that stand for torch or a part of it: ``F``, ``nn``, ``where``."""
        return torch_name.parts(self.module.tree)

    def has_own_torch(self, function: cst.FunctionDef | cst.Lambda) -> bool:
        """True when ``torch`` is a parameter or a local name of ``function``."""
        if function not in self._binds_torch:
            self._binds_torch[function] = torch_name.is_local(function)
        return self._binds_torch[function]

    @cached_property
    def torch_import_line(self) -> cst.CSTNode | None:
        """The statement at module level that surely imports torch."""
        return torch_name.import_of(self.module.tree)

    @cached_property
    def torch(self) -> torch_name.Binding:
        """What ``torch`` stands for at module level."""
        return torch_name.at_module_level(self.module)
