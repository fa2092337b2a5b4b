"""``contextlib.ExitStack``, which Dynamo does not trace: the contexts that are entered first, in the with itself."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def plain_with(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``with ExitStack() as s: s.enter_context(a); ...`` becomes ``with a: ...``.

    Raises Refuse where it does not fit.
    """
    block = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.With) and _name(n, editor)), None)
    if block is None or block.asynchronous is not None or not isinstance(block.body, cst.IndentedBlock):
        return Refusal("The stack is not made by a with statement around this.")
    name, function = _name(block, editor), editor.function_of(block)
    contexts: list[str] = []
    entered: list[cst.CSTNode] = []
    for line in block.body.body:
        made = _contexts(line, name, editor)
        if not made:
            break
        contexts += made
        entered.append(line)
    used = sum(isinstance(n, cst.Name) and n.value == name for n in walk(function if function is not None else block))
    if not entered or used != 1 + sum(_uses(line, name) for line in entered):
        raise Refuse(f"`{name}` does more than enter contexts at the beginning of its block")
    if len(entered) == len(block.body.body):
        raise Refuse("the contexts are all that the block has")
    start, end = editor.location(block), editor.location(entered[-1])
    last = (end.end_line, end.end_column)
    comments = [text for place, text in editor.module.comments(block) if (place.line, place.column) < last]
    text = editor.lines(editor.indent_of(block), *comments, f"with {', '.join(contexts)}:")
    edits = [Edit(editor.path, (start.line, start.column), (end.end_line, end.end_column), text)]
    imports = import_edit("contextlib", editor) if any("contextlib." in context for context in contexts) else ()
    return FixPlan((*imports, *edits), "unsafe", "The same contexts are entered, in the same order.")


def _name(block: cst.With, editor: Editor) -> str:
    """``s`` of ``with ExitStack() as s``; empty for other blocks."""
    item = block.items[0]
    call, target = item.item, item.asname.name if item.asname is not None else None
    is_stack = isinstance(call, cst.Call) and not call.args
    if len(block.items) > 1 or not is_stack or not isinstance(call, cst.Call) or not isinstance(target, cst.Name):
        return ""
    return target.value if dotted_name(call.func, editor) == "contextlib.ExitStack" else ""


def _contexts(line: cst.CSTNode, stack: str, editor: Editor) -> Sequence[str]:
    """The items of a with for what ``line`` enters, behind an ``if`` or not; none where it does anything else."""
    if isinstance(line, cst.If):
        inner = [c for each in _lines(line.body) for c in _contexts(each, stack, editor)]
        is_plain = line.orelse is None and len(inner) == len(_lines(line.body)) and not any(" as " in c for c in inner)
        test = editor.operand(line.test)
        return [f"{context} if {test} else contextlib.nullcontext()" for context in inner] if is_plain else []
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    target = ""
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Name):
        target = f" as {small.targets[0].target.value}"
    value = small.value if isinstance(small, (cst.Expr, cst.Assign)) and (target or type(small) is cst.Expr) else None
    if not isinstance(value, cst.Call) or editor.code(value.func) != f"{stack}.enter_context" or len(value.args) != 1:
        return []
    return [editor.code(value.args[0].value) + target]


def _lines(block: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    return block.body if isinstance(block, cst.IndentedBlock) else []


def _uses(line: cst.CSTNode, name: str) -> int:
    return sum(isinstance(n, cst.Name) and n.value == name for n in walk(line))
