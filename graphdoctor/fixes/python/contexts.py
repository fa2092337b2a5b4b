"""Contexts that do not change what the code in them computes: entered in eager, not under compile."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: Dotted names of such contexts, without the packages in front.
_WITHOUT_EFFECT = words("""
    autograd.detect_anomaly autograd.graph.saved_tensors_hooks autograd.graph.save_on_cpu autograd.profiler.profile
    autograd.set_detect_anomaly cuda.nvtx.range cudnn.flags cuda.profiler.profile profiler.profile
    profiler.record_function random.fork_rng warnings.catch_warnings redirect_stdout redirect_stderr
""")


def skip_context(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``with cudnn.flags(...):`` enters ``contextlib.nullcontext()`` under compile."""
    item = next((n for n in (hit.place, *editor.ancestors(hit.place)) if isinstance(n, cst.WithItem)), None)
    if item is None:
        return Refusal("The context is not entered by a with statement of its own.")
    if not isinstance(item.item, cst.Call):
        return Refusal("The context was made elsewhere; enter it in the code that calls the compiled function.")
    dotted = editor.code(item.item.func)
    if not any(dotted == name or dotted.endswith(f".{name}") for name in _WITHOUT_EFFECT):
        return Refusal(f"`{dotted}` changes what the code in it computes, so it cannot be left out under compile.")
    if item.asname is not None:
        return Refusal("The block uses the context that was entered.")
    draws = dotted.endswith("fork_rng")
    lost = "the random numbers behind the block are others" if draws else f"`{dotted}` is not entered"
    text = f"contextlib.nullcontext() if torch.compiler.is_compiling() else {editor.code(item.item)}"
    edits = (*editor.torch_import(item), *import_edit("contextlib", editor), editor.replace(item.item, text))
    return FixPlan(edits, "unsafe", f"In eager nothing changes; under compile {lost}.")
