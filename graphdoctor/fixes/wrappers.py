"""Wrappers that add nothing to what is computed: left out, under compile or everywhere."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.purity import called
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def plain_iterable(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for i in tqdm(items):`` runs over ``items`` itself under compile."""
    call = hit.place
    loop = editor.parent(call)
    if not isinstance(call, cst.Call) or not isinstance(loop, (cst.For, cst.CompFor)) or loop.iter is not call:
        return Refusal("The progress bar is not what a loop runs over.")
    if not call.args or call.args[0].keyword is not None or call.args[0].star:
        return Refusal("What the progress bar runs over is not its first argument.")
    items = editor.code(call.args[0].value)
    if called(call) == "trange":
        items = f"range({', '.join(editor.code(a.value) for a in call.args if a.keyword is None)})"
    text = f"{items} if torch.compiler.is_compiling() else {editor.code(call)}"
    edit = editor.replace(call, f"({text})" if isinstance(loop, cst.CompFor) else text)
    reason = "In eager nothing changes; under compile there is no progress bar."
    return FixPlan((*editor.torch_import(call), edit), "safe", reason)
