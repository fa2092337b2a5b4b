"""Classes that compile a part of themselves and that nothing in their file builds, as in a library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Class, Function
from graphdoctor.static.regions.definitions import defined
from graphdoctor.syntax.walk import walk

#: A call of ``compile`` in a text: most files that have the word have none. A pattern that begins with plain text is
#: searched for many times as fast.
_CALLED = re.compile(r"\.compile(?<!\bre\.compile)\s*\(")


def classes_that_compile(module: ModuleInfo, seen: Collection[cst.CSTNode]) -> Iterator[tuple[Class, list[Function]]]:
    """The classes of the file with a call of ``compile`` that is not among ``seen``, and their methods that have one.

    A constructor is none of these methods: who builds the class calls it.
    """
    if not _CALLED.search(module.source.text):
        return
    for _, value in defined(module):
        if not isinstance(value, Class) or value.info.module is not module:
            continue
        functions = [
            option
            for attribute in value.info.attrs.values()
            for option in options(attribute)
            if isinstance(option, Function) and _compiles(option.info.body, seen)
        ]
        if functions:
            yield value, [function for function in functions if function.info.name != "__init__"]


def _compiles(body: cst.CSTNode, seen: Collection[cst.CSTNode]) -> bool:
    return any(type(node) is cst.Call and node not in seen and _is_compile(node.func) for node in walk(body))


def _is_compile(func: cst.BaseExpression) -> bool:
    """Whether a call of ``func`` may be one of torch.compile, or of ``compile`` of a module."""
    if type(func) is not cst.Attribute or func.attr.value != "compile":
        return False
    return type(func.value) is not cst.Name or func.value.value not in ("re", "regex")
