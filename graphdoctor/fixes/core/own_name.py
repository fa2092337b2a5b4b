"""A file that calls torch by another name, ``import torch as th``, gets no second import: a rewrite uses that name."""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import assignments
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan
from graphdoctor.syntax.walk import find, walk

#: Text in quotes, which stays as it is, or the name of the package where something of it is used.
_QUOTED_OR_TORCH = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|(?<![\w.])torch(?=\.)", re.S
)
_IMPORT = re.compile(r"(?:\r\n|\r|\n)?import torch(?:\r\n|\r|\n|$)")


def with_own_name(plan: FixPlan, editor: Editor) -> FixPlan:
    """``plan`` without the ``import torch`` that it adds, where the file has a name for torch from its top on."""
    if not any(_adds_import(edit) for edit in plan.edits):
        return plan
    found = _own_name(editor)
    if found is None or any(edit.start[0] <= found[1] for edit in plan.edits if not _adds_import(edit)):
        return plan
    edits = (replace(edit, text=_renamed(_without_import(edit), found[0])) for edit in plan.edits)
    kept = tuple(edit for edit in edits if edit.text or edit.start != edit.end)
    return replace(plan, edits=kept)


def _adds_import(edit: Edit) -> bool:
    return edit.start == edit.end and _IMPORT.match(edit.text) is not None


def _without_import(edit: Edit) -> str:
    return _IMPORT.sub("", edit.text, count=1) if _adds_import(edit) else edit.text


def _own_name(editor: Editor) -> tuple[str, int] | None:
    """The name that an import at the top of the file gives to torch, and nothing else in it; and the import's line."""
    tree = editor.module.tree
    lines = (line for line in tree.body if isinstance(line, cst.SimpleStatementLine))
    for statement in (small for line in lines for small in line.body if isinstance(small, cst.Import)):
        for alias in statement.names:
            is_torch = isinstance(alias.name, cst.Name) and alias.name.value == "torch"
            if is_torch and alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                name = alias.asname.name.value
                return (name, editor.location(statement).line) if _stands_for_one(name, tree) else None
    return None


def _stands_for_one(name: str, tree: cst.Module) -> bool:
    """Whether the import is all that binds ``name``, in every scope."""
    named = (cst.Param, cst.FunctionDef, cst.ClassDef)
    if any(isinstance(node, named) and node.name.value == name for node in walk(tree)):
        return False
    plain = (alias for line in find(tree, cst.Import) for alias in line.names if alias.asname is None)
    if any(isinstance(alias.name, cst.Name) and alias.name.value == name for alias in plain):
        return False
    return len(assignments(tree, name)) == 1


def _renamed(text: str, name: str) -> str:
    return _QUOTED_OR_TORCH.sub(lambda found: name if found.group() == "torch" else found.group(), text)
