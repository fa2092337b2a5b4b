"""Calls that only write for people to read: prints, log records, warnings. Compiled code may leave them out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.walk import walk

_LEVELS = "debug|info|warn|warning|error|critical|fatal|exception|log|success|trace"
_PRINTING = re.compile(
    r"builtins\.print|pprint\.pp(rint)?|(click|typer)\.s?echo|tqdm(\.\w+)*\.write"
    r"|sys\.(__)?std(out|err)(__)?\.(write|flush|writelines)"
)
_STACK = re.compile(
    r"traceback\.(print_(stack|exc|exception|last|tb)|format_\w+|extract_stack)|builtins\.breakpoint|i?pdb\.set_trace"
)
_WARNING = re.compile(r"warnings\.warn(_explicit)?|[\w.]+\.rank_zero_(warn|deprecation)")
#: Loggers of ``logging``, and of modules of that name that packages have around it.
_LOGGING = re.compile(
    rf"logging\.({_LEVELS})|([\w.]*\.)?logging\.(getLogger|get_logger|Logger|LoggerAdapter)\.({_LEVELS})(_once|_advice)?"
    rf"|(transformers|diffusers|accelerate|lightning|pytorch_lightning|absl|loguru|structlog)\.[\w.]+\.({_LEVELS})(_once)?"
    r"|[\w.]+\.rank_zero_(debug|info)"
)
#: Marks that a profiler shows.
_MARKING = re.compile(r"torch\.cuda\.nvtx\.(mark|range_(push|pop|start|end))|nvtx\.(mark|(push|pop|start|end)_range)")
_STREAMS = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")

#: Attributes that are always there, and functions that run without being called by their name.
_PRESENT = ("shape", "dtype", "device", "ndim", "requires_grad", "training", "__class__", "__name__")
_CALLED_BY_OTHERS = ("forward", "__call__")


@dataclass(frozen=True)
class _Capture:
    """How a file reads what was written, or replaces what writes: by one of ``words``, or as one of ``patterns``.

    Each pattern begins with plain text and looks back for what must not stand before it, which is searched for many
    times as fast.
    """

    words: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    def is_in(self, editor: Editor) -> bool:
        """Whether the file does so."""
        return any(map(editor.has_word, self.words)) or any(map(editor.module.has, self.patterns))


_CAPTURES = {
    "printed": _Capture(
        ("redirect_stdout", "redirect_stderr", "StringIO", "capsys", "capfd"),
        (
            re.compile(r"sys(?<!\wsys)\.__?std(?:out|err)"),
            re.compile(r"std(?<!\wstd)(?:out|err)\s*=[^=]"),
            re.compile(r"builtins(?<!\wbuiltins)\b.*\bprint\b"),
        ),
    ),
    "logged": _Capture(
        (
            "addFilter", "setLoggerClass", "setLogRecordFactory", "caplog", "assertLogs", "StringIO", "MemoryHandler",
            "QueueHandler",
        ),
        (
            re.compile(r"class(?<!\wclass)\s+\w+\s*\([^)]*(?:Handler|Filter|Formatter|LoggerAdapter|Logger)\b"),
            re.compile(rf"\.(?:{_LEVELS})\s*=[^=]"),
            # A sink of loguru may be any function.
            re.compile(r"logger(?<!\wlogger)\.(?:add|patch)\s*\("),
        ),
    ),
    "warned": _Capture(
        ("catch_warnings", "showwarning", "formatwarning", "captureWarnings", "recwarn"),
        (re.compile(r"pytest(?<!\wpytest)\.warns\b"), re.compile(r"error(?<=['\"]error)['\"]")),
    ),
}  # fmt: skip


def more_than_output(name: str, call: cst.Call, editor: Editor) -> str:
    """Why ``call``, of the function ``name``, may do more than write for people to read; empty when it does not."""
    kind = _kind(name)
    if not kind:
        return f"`{editor.code(call.func)}` changes more than what is shown"
    if any(arg.star == "**" for arg in call.args):
        return "its options are not written out"
    streams = [a.value for a in call.args if a.keyword is not None and a.keyword.value in ("file", "stream")]
    if name.startswith("pprint."):
        streams += [a.value for a in call.args[1:2] if a.keyword is None]
    if not all(editor.code(s) == "None" or dotted_name(s, editor) in _STREAMS for s in streams):
        return "what it writes to may be read by other code"
    captured = _CAPTURES.get(kind)
    if captured is not None and captured.is_in(editor):
        return f"this file also reads or replaces what is {kind}"
    if may_be_caught(call, call.args, editor, always=kind == "warned"):
        return "where it raises, code around it goes on in another way"
    return ""


def is_output(name: str) -> bool:
    """Whether the function ``name`` writes for people to read."""
    return bool(_kind(name))


def _kind(name: str) -> str:
    if _PRINTING.fullmatch(name):
        return "printed"
    if _LOGGING.fullmatch(name):
        return "logged"
    if _MARKING.fullmatch(name):
        return "marked"
    if _WARNING.fullmatch(name):
        return "warned"
    return "shown" if _STACK.fullmatch(name) else ""


def may_be_caught(place: cst.CSTNode, code: Sequence[cst.CSTNode], editor: Editor, always: bool = False) -> bool:
    """Whether an exception of ``code``, run at ``place``, is handled in the file, so that other code runs then.

    ``always``: it may raise, whatever stands in it.
    """
    if not always and not any(_may_raise(node, editor) for part in code for node in walk(part)):
        return False
    function = editor.function_of(place)
    for block in editor.every(cst.Try):
        if block.handlers and _enters(block.body, place, function):
            return True
    return any(
        any(_swallows(item.item, editor) for item in block.items) and _enters(block.body, place, function)
        for block in editor.every(cst.With)
    )


def _swallows(context: cst.BaseExpression, editor: Editor) -> bool:
    """Whether a context may handle exceptions: ``suppress``, or one that the file defines."""
    if isinstance(context, cst.Call) and dotted_name(context.func, editor).startswith("torch."):
        return False
    is_own = editor.has_word("__exit__") or editor.has_word("contextmanager")
    return is_own or (isinstance(context, cst.Call) and called(context) in ("suppress", "ExitStack"))


def _enters(body: cst.CSTNode, place: cst.CSTNode, function: cst.FunctionDef | None) -> bool:
    """Whether ``place`` stands in ``body``, or ``body`` calls the function that it stands in."""
    name = function.name.value if function is not None else ""
    return any(
        node is place or (isinstance(node, cst.Call) and (called(node) == name or name in _CALLED_BY_OTHERS))
        for node in walk(body)
    )


def _may_raise(node: cst.CSTNode, editor: Editor) -> bool:
    if isinstance(node, cst.Call):
        return not dotted_name(node.func, editor).startswith("time.")
    if isinstance(node, cst.Attribute):
        return node.attr.value not in _PRESENT and not dotted_name(node, editor).startswith("time.")
    if isinstance(node, cst.Subscript):
        return not (isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape")
    return isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.BaseComp))
