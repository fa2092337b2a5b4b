"""Wrappers that add nothing to what is computed: left out, under compile or everywhere."""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.fixes.analysis.effects import trace
from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import calls, is_pure
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: The bars of tqdm; ``tenumerate``, ``tzip`` and ``tmap`` also change what the loop gets.
_BAR = re.compile(r"(^|\.)(tqdm|trange|tqdm_notebook)$")
#: Functions that pair each item of a loop with another value.
_PAIRS = ("builtins.enumerate", "builtins.zip")


def plain_iterable(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for i in tqdm(items):`` runs over ``items`` itself under compile, also in ``enumerate(tqdm(items))``."""
    call = hit.place
    loop = _loop(call, editor)
    if not isinstance(call, cst.Call) or loop is None:
        return Refusal("No loop iterates over the progress bar itself.")
    if not call.args or call.args[0].keyword is not None or any(a.star for a in call.args):
        return Refusal("The iterable is not the first argument of the progress bar.")
    name = hit.event.qualname if isinstance(hit.event, Call) else ""
    if not _BAR.search(name):
        return Refusal("This does more than show how far a loop is.")
    items = editor.operand(call.args[0].value)
    options = call.args[1:]
    if name.endswith("trange"):
        items = f"range({', '.join(editor.code(a.value) for a in call.args if a.keyword is None)})"
        options = [a for a in call.args if a.keyword is not None]
    text = f"{items} if torch.compiler.is_compiling() else {editor.code(call)}"
    is_operand = isinstance(loop, cst.CompFor) and loop.iter is call
    edits = (*editor.torch_import(call), editor.replace(call, f"({text})" if is_operand else text))
    lost = trace(options, (), (), editor)
    if lost or any(a.keyword is not None and a.keyword.value == "file" for a in options):
        lost = lost or "file"
        return FixPlan(edits, "unsafe", f"Under compile there is no progress bar, and `{lost}` is left out with it.")
    if name.endswith("trange") and any(not is_pure(c, editor, python=True) for a in call.args for c in calls(a)):
        return FixPlan(edits, "unsafe", "In eager nothing changes; under compile the bounds are computed in the graph.")
    return FixPlan(edits, "safe", "In eager nothing changes; under compile there is no progress bar.")


def _loop(bar: cst.CSTNode, editor: Editor) -> cst.For | cst.CompFor | None:
    """The loop that runs over ``bar``, or over ``enumerate(bar)`` and ``zip(bar, other)``."""
    user = editor.parent(bar)
    if isinstance(user, cst.Arg):
        call = editor.parent(user)
        if not isinstance(call, cst.Call) or user.star or dotted_name(call.func, editor) not in _PAIRS:
            return None
        bar, user = call, editor.parent(call)
    return user if isinstance(user, (cst.For, cst.CompFor)) and user.iter is bar else None
