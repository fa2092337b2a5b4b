"""Whole numbers that a module keeps in buffers, read as Python numbers: sizes, strides, paddings.

What is computed from them and from shapes is then known while tracing, where it was data before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.fixes.python.buffers import is_buffer
from graphdoctor.fixes.python.layers import at_end_of_init
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_TO_INT = re.compile(r"\.(to\((torch\.)?(int64|long)\)|long\(\)|int\(\))")
_REASON = (
    "The buffers are read as Python numbers, once, when the module is made: what is loaded or written to them later no "
    "longer counts."
)


def numbers_of_buffers(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``self.stride`` of a buffer that holds one whole number, in the class of the hit. Refuses where none does."""
    owner = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.ClassDef)), None)
    if owner is None or not (editor.has_word("register_buffer") or editor.has_word("Buffer")):
        return Refusal("The class keeps no whole number in a buffer.")
    reads = [n for n in find(owner, cst.Attribute) if _is_read(n, owner, editor)]
    names = list(dict.fromkeys(editor.code(n) for n in reads))
    if not names:
        return Refusal("The class keeps no whole number in a buffer.")
    numbers = {name: f"self._{name.removeprefix('self.')}_number" for name in names}
    if any(number in editor.module.text for number in numbers.values()):
        raise Refuse("the class has an attribute of the name that the number would get")
    edits = [editor.replace(n, numbers[editor.code(n)]) for n in reads]
    edits += [at_end_of_init(owner, f"{number} = int({name})", editor) for name, number in numbers.items()]
    for call in find(owner, cst.Call):
        edits += _rounded(call, editor)
    return FixPlan(tuple(edits), "unsafe", _REASON, known=("once",))


def _is_read(node: cst.Attribute, owner: cst.ClassDef, editor: Editor) -> bool:
    """Whether a method other than ``__init__`` reads such a buffer at ``node``."""
    if type(node.value) is not cst.Name or node.value.value != "self":
        return False
    known = tensor_of(editor.value(node))
    if known is None or known.dtype != "int" or known.ndim not in (0, None):
        return False
    function = editor.function_of(node)
    if function is None or function.name.value == "__init__":
        return False
    return is_buffer(node.attr.value, owner, editor)


def _rounded(call: cst.Call, editor: Editor) -> Sequence[Edit]:
    """``torch.ceil(n).to(torch.int64)`` of what is now a Python number becomes ``math.ceil(n)``."""
    inner = call.func.value if isinstance(call.func, cst.Attribute) else None
    if not isinstance(inner, cst.Call) or called(inner) not in ("ceil", "floor") or len(inner.args) != 1:
        return ()
    if not _TO_INT.fullmatch(editor.code(call).removeprefix(editor.code(inner))):
        return ()
    end, last = editor.location(inner), editor.location(call)
    suffix = Edit(editor.path, (end.end_line, end.end_column), (last.end_line, last.end_column), "")
    return (*import_edit("math", editor), editor.replace(inner.func, f"math.{called(inner)}"), suffix)
