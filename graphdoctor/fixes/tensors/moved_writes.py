"""Writes at a place that a 0-d tensor names, as queues and caches make: ``x[:, p:p + n] = v`` and ``x[p] = v``.

A slice needs numbers of Python. The positions ``p + torch.arange(n)`` are the same window.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.types import is_number, is_tensor_like
from graphdoctor.fixes.branches.loop_steps import is_place
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.tensors.number_parts import element, part
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import Call, Convert
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import Hit


def placed(node: cst.BaseExpression, text: str, hit: Hit, editor: Editor) -> Sequence[Edit]:
    """The edits where ``node``, an index or the bound of a slice, is the 0-d tensor ``text`` now.

    Raises Refuse where it must be a number of Python.
    """
    if isinstance(editor.parent(node), cst.Slice):
        moved = _moved_write(node, hit, editor)
        return part(node, text, editor) if moved is None else [moved]
    written = _written_element(node, text, hit, editor)
    return [editor.narrowed(*element(node, text, hit, editor)) if written is None else written]


def _moved_write(bound: cst.BaseExpression, hit: Hit, editor: Editor) -> Edit | None:
    """The statement with positions in place of the slice that ``bound`` is a bound of; None where it is no such write.

    Raises Refuse where the rest of the statement does not allow it.
    """
    window = editor.parent(bound)
    statement = editor.statement_of(bound)
    target = _target(statement)
    if not isinstance(window, cst.Slice) or target is None or not isinstance(statement, cst.Assign):
        return None
    start, width = window.lower, _width(window, editor)
    if not isinstance(start, cst.Name) or width is None or not isinstance(target.value, (cst.Name, cst.Attribute)):
        return None
    written = tensor_of(editor.value(target.value))
    parts = [each.slice for each in target.slice]
    if window not in parts:
        return None
    if written is None or written.numpy or not _fits(parts, parts.index(window), editor):
        raise Refuse(f"`{editor.code(target)}` is not shown to be one window of a tensor")
    value = statement.value
    if not is_tensor_like(value, editor) or start.value in names(value) | names(width):
        raise Refuse(f"`{editor.code(value)}` is not shown to be a tensor of the size of the window")
    tensor = editor.code(target.value)
    positions = f"{start.value} + torch.arange({editor.code(width)}, device={tensor}.device)"
    if not _is_whole(hit):
        positions = f"({positions}).long()"
    texts = [positions if each is window else editor.module.code(each).rstrip() for each in parts]
    editor.torch_import(statement)
    return editor.replace(statement, f"{tensor}[{', '.join(texts)}] = {receiver(editor.code(value))}.to({tensor})")


def _written_element(read: cst.BaseExpression, text: str, hit: Hit, editor: Editor) -> Edit | None:
    """The statement ``x[:, p] = v`` or ``x[p] += v``, whose index ``read`` is ``text`` now; None for other statements.

    Raises Refuse where the rest of the statement does not allow it.
    """
    index, statement = editor.parent(read), editor.statement_of(read)
    target = _target(statement)
    parts = [each.slice for each in target.slice] if target is not None else []
    if target is None or not isinstance(statement, (cst.Assign, cst.AugAssign)) or index not in parts:
        return None
    written, at = tensor_of(editor.value(target.value)), parts.index(index)  # type: ignore[arg-type]
    before = all(isinstance(p, cst.Slice) and p.lower is p.upper is p.step is None for p in parts[:at])
    is_named = isinstance(target.value, (cst.Name, cst.Attribute))
    if written is None or written.numpy or len(parts) != at + 1 or not before or not is_named or not _is_whole(hit):
        raise Refuse(f"`{editor.code(target)}` is not shown to be one place of a tensor")
    value, tensor = editor.code(statement.value), editor.code(target.value)
    if not is_number(statement.value, editor):
        if not is_tensor_like(statement.value, editor) or names(statement.value) & names(read):
            raise Refuse(f"`{value}` is neither shown to be a number nor a tensor")
        value = f"{receiver(value)}.to({tensor})" if isinstance(statement, cst.Assign) else value
    # What is written lines up with the dimensions behind the first.
    place = f"{tensor}.movedim({at}, 0)" if at else tensor
    sign = "=" if isinstance(statement, cst.Assign) else editor.module.tree.code_for_node(statement.operator).strip()
    return editor.replace(statement, f"{place}[{receiver(text)}.reshape(1)] {sign} {value}")


def _target(statement: cst.CSTNode | None) -> cst.Subscript | None:
    """The subscript that is all that ``statement`` writes to."""
    target: cst.CSTNode | None = statement.target if isinstance(statement, cst.AugAssign) else None
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
    return target if isinstance(target, cst.Subscript) else None


def _width(window: cst.Slice, editor: Editor) -> cst.BaseExpression | None:
    """``n`` of ``p:p + n``, a number of Python."""
    end = window.upper
    if window.step is not None or not isinstance(end, cst.BinaryOperation) or not isinstance(end.operator, cst.Add):
        return None
    sides = {True: end.right, False: end.left}
    for is_left, width in sides.items():
        start = end.left if is_left else end.right
        if isinstance(start, cst.Name) and isinstance(window.lower, cst.Name) and start.value == window.lower.value:
            return width if is_number(width, editor) else None
    return None


def _fits(parts: list[cst.BaseSlice], at: int, editor: Editor) -> bool:
    """Whether the other ``parts`` are slices, or numbers beside the one ``at``: apart from it, they move dimensions."""
    others = [position for position, each in enumerate(parts) if isinstance(each, cst.Index) and position != at]
    dots = [p for p in others if isinstance(parts[p].value, cst.Ellipsis)]  # type: ignore[attr-defined]
    beside = sorted({at, *others} - {*dots})
    together = beside == list(range(beside[0], beside[-1] + 1))
    return together and all(is_place(each, editor) for position, each in enumerate(parts) if position != at)


def _is_whole(hit: Hit) -> bool:
    """Whether the tensor that is read is known to hold whole numbers."""
    event = hit.event
    read = event.value if isinstance(event, Convert) else event.receiver if isinstance(event, Call) else None
    tensor = tensor_of(read) if read is not None else None
    return tensor is not None and tensor.dtype == "int"
