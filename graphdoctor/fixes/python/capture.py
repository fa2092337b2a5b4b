"""Dynamo's settings that trace what it leaves out by default, where no rewrite of the code fits.

Measured on torch 2.13: with ``capture_scalar_outputs`` an ``.item()`` becomes a symbol of the graph, with
``capture_dynamic_output_shape_ops`` so does the size of a ``nonzero``; ``fullgraph=True`` sets both (since 2.10).
A branch on such a number still breaks. With ``allow_rnn`` recurrent layers are traced, which is
slow to compile for long sequences. With ``trace_autograd_ops`` (since 2.11) ``torch.autograd.grad`` and ``backward()``
are a part of the graph; gradients flow through what the first gives, also twice, and the second adds to those that are
there.
"""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.known_numbers import known_number
from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, calls, root, words
from graphdoctor.fixes.analysis.try_blocks import unhandled
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.imports import last_import
from graphdoctor.fixes.core.scope import names, parameters, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: Operators whose result gets a symbol for its size.
_WITH_SYMBOL = words(
    "argwhere bincount flatnonzero masked_select nonzero repeat_interleave unique unique_consecutive where"
)
#: Functions that must know their numbers when the graph is traced.
_OF_NUMBERS = words("range tril_indices triu_indices")
#: Functions of ``math`` that take a symbol.
_SYMBOLIC = words("acos asin atan ceil cos cosh floor log2 radians sin sinh sqrt tan tanh trunc")
#: Nodes that branch, with the field that decides.
_DECIDING: dict[type[cst.CSTNode], str] = {
    cst.If: "test", cst.While: "test", cst.IfExp: "test", cst.Assert: "test", cst.Match: "subject",
}  # fmt: skip
_SETTINGS = ("allow_rnn", "capture_dynamic_output_shape_ops", "capture_scalar_outputs", "trace_autograd_ops")
_TURNED_ON = re.compile(rf"\b({'|'.join(_SETTINGS)})\s*=\s*True\b")
#: What each reason of a setting ends with.
_EVERYWHERE = "It holds for every compiled call of the process, and one that only broke without it may fail."
_REASON = (
    "The code stays as it is; `torch._dynamo.config.{setting}` is set for the whole process when the file is imported, "
    f"so other compiled code records such values too. {_EVERYWHERE}"
)
_PATCH = "@torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True)"
_PATCHED = "The code stays as it is; while this function is traced, numbers of its arguments are recorded (torch 2.8)."
_GRADIENTS = (
    "The code stays as it is; `torch._dynamo.config.trace_autograd_ops` is set for the whole process when the file is "
    "imported, so other compiled code records its gradients too (torch 2.11). Without it, gradients of gradients "
    f"raise. {_EVERYWHERE}"
)
#: Names of classes and methods that put hooks on gradients. Measured on torch 2.13 with the backend aot_eager, hooks do
#: not run in a graph.
_HOOKS = (
    "DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel", "fully_shard", "accelerate", "lightning",
    "register_hook", "register_post_accumulate_grad_hook",
)  # fmt: skip
_RECURRENT = (
    "The code stays as it is; `torch._dynamo.config.allow_rnn` is set for the whole process when the file is imported: "
    f"recurrent layers are traced step by step, which compiles slowly for long sequences. {_EVERYWHERE}"
)


def capture_numbers(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Record the number as a symbol of the graph."""
    unhandled(hit.place, editor)
    needs = known_number(editor)
    if needs:
        return Refusal(f"With `capture_scalar_outputs` compiling raises: `{needs}` has to know its number.")
    plan = _capture("capture_scalar_outputs", hit, editor)
    function = editor.function_of(hit.place)
    if isinstance(plan, Refusal) or function is None or not _reads_input(hit.place, function, editor):
        return plan
    if any("capture_scalar_outputs" in editor.code(d.decorator) for d in function.decorators):
        return Refusal("Numbers of tensors are already recorded in this function.")
    line = editor.location(function).line
    edit = Edit(editor.path, (line, 1), (line, 1), f"{editor.indent_of(function)}{_PATCH}{editor.newline}")
    return FixPlan((edit,), "unsafe", _PATCHED, torch=">=2.8")


def _reads_input(place: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> bool:
    """Whether ``place`` reads an argument of a function that nothing in this file calls: an input of the graph.

    Measured on torch 2.13: for other tensors the graph asks for the setting that holds when tracing begins.
    """
    if not isinstance(place, cst.Call) or function.asynchronous is not None or editor.function_of(function) is not None:
        return False
    tensor = place.func.value if isinstance(place.func, cst.Attribute) and not place.args else None
    if isinstance(place.func, cst.Name) and called(place) in ("float", "int") and len(place.args) == 1:
        tensor = place.args[0].value
    if not isinstance(tensor, cst.Name) or tensor.value not in parameters(function) or called(place) == "tolist":
        return False
    is_method = any(isinstance(outer, cst.ClassDef) for outer in editor.ancestors(function))
    returned = isinstance(editor.parent(place), cst.Return)
    if is_method or returned or editor.assignments(function, tensor.value):
        return False
    return not any(called(call) == function.name.value for call in editor.every(cst.Call))


def capture_shapes(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Record the size that depends on data as a symbol of the graph."""
    if isinstance(hit.place, cst.Call) and called(hit.place) not in _WITH_SYMBOL:
        return Refusal(f"`{called(hit.place)}` breaks even when sizes that depend on data are recorded.")
    return _capture("capture_dynamic_output_shape_ops", hit, editor)


def trace_recurrent(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Trace ``nn.LSTM``, ``nn.GRU`` and ``nn.RNN``."""
    return _set("allow_rnn", _RECURRENT, hit, editor)


def trace_gradients(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Make ``torch.autograd.grad`` and ``backward()`` a part of the graph."""
    call, function = hit.place, editor.function_of(hit.place)
    name = called(call) if isinstance(call, cst.Call) else ""
    of_package = isinstance(call, cst.Call) and dotted_name(call.func, editor) == "torch.autograd.backward"
    if name not in ("backward", "grad") or of_package:
        return Refusal("It belongs before or after the call of the compiled function.")
    if name == "backward" and (function is None or any(called(call) == "step" for call in calls(function))):
        return Refusal("The step of an optimizer breaks the graph, too: compile the forward pass and the loss.")
    hooks = next((word for word in _HOOKS if name == "backward" and editor.has_word(word)), None)
    if hooks is not None:
        return Refusal(f"Hooks of gradients, which `{hooks}` may have, do not run in a graph.")
    plan = _set("trace_autograd_ops", _GRADIENTS, hit, editor)
    return replace(plan, torch=">=2.11") if isinstance(plan, FixPlan) else plan


def set_in(text: str) -> frozenset[str]:
    """The settings of this module that the ``text`` of a file turns on, also for a part of what it compiles."""
    # Hardly any file names one, and to look for plain text is many times as fast.
    if "_dynamo" not in text or not any(name in text for name in _SETTINGS):
        return frozenset()
    return frozenset(_TURNED_ON.findall(text))


def number_setting(hit: Hit, editor: Editor) -> str:
    """The setting with which the number is recorded; empty where the expression around it needs to know it.

    A branch that it decides later is a finding of its own; what it asserts is asserted when the graph runs.
    """
    branch = branch_of(hit.place, editor)
    decides = _decides_here(hit, editor) and not isinstance(branch, cst.Assert)
    return "" if decides or _is_needed(hit.place, editor) else "capture_scalar_outputs"


def shape_setting(hit: Hit, editor: Editor) -> str:
    """The setting with which the size is recorded; empty where none does."""
    symbolic = not isinstance(hit.place, cst.Call) or called(hit.place) in _WITH_SYMBOL
    return "capture_dynamic_output_shape_ops" if symbolic and not _branches(hit, editor) else ""


def _is_needed(place: cst.CSTNode, editor: Editor) -> bool:
    """Whether the number goes straight into ``range``, or what else must know it when the graph is traced."""
    outer = editor.parent(place)
    while isinstance(outer, cst.Arg):
        call = editor.parent(outer)
        name = called(call) if isinstance(call, cst.Call) else ""
        of_math = isinstance(call, cst.Call) and root(call.func) == "math" and name not in _SYMBOLIC
        if of_math or name in _OF_NUMBERS:
            return True
        if call is None or name not in ("abs", "float", "int", "round"):
            return False
        outer = editor.parent(call)
    return False


def _branches(hit: Hit, editor: Editor) -> bool:
    """Whether the value decides a branch."""
    return _decides_here(hit, editor) or _decides(hit.place, editor)


def _decides_here(hit: Hit, editor: Editor) -> bool:
    """Whether the value is part of the test of a branch, or of what an object is asked for by one."""
    function = editor.function_of(hit.place)
    is_truth = function is not None and function.name.value in ("__bool__", "__len__", "__index__", "__int__")
    return is_truth or branch_of(hit.place, editor) is not None


def _capture(setting: str, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if _branches(hit, editor):
        return Refusal("The value decides a branch, which breaks even when it is recorded.")
    return _set(setting, _REASON.format(setting=setting), hit, editor)


def _set(setting: str, reason: str, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    line = f"torch._dynamo.config.{setting} = True"
    if line in editor.module.text:
        return Refusal(f"`{line}` is already set in this file.")
    imports = editor.torch_import(hit.place)
    if imports and not editor.torch_names:
        return Refusal("The file does not import torch, so it is no place for a setting of torch.")
    last = last_import(editor.module.tree)
    if last is None:
        return Refusal("There is no place for a setting, because the imports are not at the top of the file.")
    place = editor.location(last)
    number = place.end_line + 1
    blank = editor.newline if editor.is_blank(number) else ""
    edit = Edit(editor.path, (number, 1), (number, 1), f"{blank}{line}{editor.newline}")
    return FixPlan((*imports, edit), "unsafe", reason, known=("setting",))


def _decides(place: cst.CSTNode, editor: Editor) -> bool:
    """True when a name that the value goes to stands in the test of a later branch of the same function.

    One that asks for None or for a class knows the answer, and handlers are not traced.
    """
    statement, function = editor.statement_of(place), editor.function_of(place)
    if not isinstance(statement, cst.Assign) or function is None:
        return False
    bound = {n for target in statement.targets for n in target_names(target.target)}
    loop = next((n for n in editor.ancestors(statement) if isinstance(n, (cst.For, cst.While))), None)
    start = editor.location(loop if loop is not None else statement)
    found = ((n, part) for kind, part in _DECIDING.items() for n in editor.within(function, kind))
    tests = (getattr(n, part) for n, part in found if editor.location(n) > start and not _in_handler(n, editor))
    return any(_deciding_names(test) & bound for test in tests)


def _in_handler(node: cst.CSTNode, editor: Editor) -> bool:
    return any(isinstance(outer, cst.ExceptHandler) for outer in editor.ancestors(node))


def _deciding_names(test: cst.CSTNode) -> frozenset[str]:
    """The names in ``test`` apart from those that it only asks for None or for a class."""
    if isinstance(test, cst.Comparison) and all(isinstance(c.operator, (cst.Is, cst.IsNot)) for c in test.comparisons):
        return frozenset()
    if isinstance(test, cst.Call) and called(test) == "isinstance":
        return frozenset()
    if isinstance(test, cst.BooleanOperation):
        return _deciding_names(test.left) | _deciding_names(test.right)
    return _deciding_names(test.expression) if isinstance(test, cst.UnaryOperation) else names(test)
