"""Numbers of tensors that must be known when a graph is traced: where they are recorded, compiling raises.

Measured on torch 2.13 with ``capture_scalar_outputs`` and the backend eager: a list, tuple, range or size that is
indexed by a recorded number raises, as do ``x[0, n]`` of a tensor, ``random.Random(n)`` and ``items.pop(n)``. Without
the setting the same code only breaks the graph. ``x[n]``, ``x[:n]`` and the items of a dict or ``nn.ModuleList`` take
such a number.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.value_functions import is_read, is_tensor
from graphdoctor.static.domain.values import PythonValue, Seq


def known_number(editor: Editor) -> str:
    """The code that needs to know a number that was read from a tensor, the first in the file; empty for none."""
    return next(_found(editor), "")


def _found(editor: Editor) -> Iterator[str]:
    for subscript in editor.every(cst.Subscript):
        indices = [e.slice.value for e in subscript.slice if isinstance(e.slice, cst.Index)]
        if any(is_read(editor.value(index)) for index in indices) and _needs_it(subscript, editor):
            yield editor.code(subscript)
    for call in editor.every(cst.Call):
        if call.args and is_read(editor.value(call.args[0].value)) and _is_given_it(call, editor):
            yield editor.code(call)


def _needs_it(subscript: cst.Subscript, editor: Editor) -> bool:
    indexed = editor.value(subscript.value)
    if is_tensor(indexed):
        return len(subscript.slice) > 1
    return isinstance(indexed, Seq) or (isinstance(indexed, PythonValue) and indexed.kind == "size")


def _is_given_it(call: cst.Call, editor: Editor) -> bool:
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "pop":
        return isinstance(editor.value(call.func.value), Seq)
    return dotted_name(call.func, editor) == "random.Random"
