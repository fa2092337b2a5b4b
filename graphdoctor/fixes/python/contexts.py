"""Contexts that do not change what the code in them computes: entered in eager, not under compile."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, words
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
    lost = "the random numbers after the block are others" if draws else f"`{dotted}` is not entered"
    text = f"contextlib.nullcontext() if torch.compiler.is_compiling() else {editor.code(item.item)}"
    edits = (*editor.torch_import(item), *import_edit("contextlib", editor), editor.replace(item.item, text))
    return FixPlan(edits, "unsafe", f"In eager nothing changes; under compile {lost}.")


#: The arguments of ``torch.backends.cuda.sdp_kernel`` in their order, True where not given, and the backends.
_BACKENDS = {
    "enable_flash": "FLASH_ATTENTION", "enable_math": "MATH", "enable_mem_efficient": "EFFICIENT_ATTENTION",
    "enable_cudnn": "CUDNN_ATTENTION",
}  # fmt: skip


def attention_backends(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``sdp_kernel(enable_flash=False)`` becomes ``torch.nn.attention.sdpa_kernel([...])``, which Dynamo traces."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "sdp_kernel":
        return Refusal("This is no call of sdp_kernel.")
    arguments: dict[str, str] = {}
    for name, argument in zip(_BACKENDS, call.args, strict=False):
        arguments[argument.keyword.value if argument.keyword is not None else name] = editor.code(argument.value)
    if any(a.star for a in call.args) or set(arguments) - set(_BACKENDS) or set(arguments.values()) - {"True", "False"}:
        return Refusal("Which backends are used is not written out.")
    used = [backend for name, backend in _BACKENDS.items() if arguments.get(name, "True") == "True"]
    if not used:
        return Refusal("No backend is left.")
    backends = ", ".join(f"torch.nn.attention.SDPBackend.{name}" for name in used)
    # Both are imported with torch itself since 2.3.
    text = f"torch.nn.attention.sdpa_kernel([{backends}])"
    edits = (*editor.torch_import(call), editor.replace(call, text))
    return FixPlan(edits, "unsafe", "The same backends; without the warning that `sdp_kernel` is deprecated.")
