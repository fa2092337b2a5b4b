"""Explanations of graph breaks in plain words, with a rewrite that is known to work on torch 2.13. Pure.

Dynamo's own explanation stays the fallback: the registry has over 500 types, and most are rare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphdoctor.breaks.messages import Message, one_line


@dataclass(frozen=True)
class Words:
    """The words for a break whose text matches ``pattern``.

    ``{0}`` in ``reason`` is the pattern's first group; ``{explanation}`` is Dynamo's own text, for the ids whose text
    in the registry is made at run time. ``intended`` says that the reason tells that torch wants the break.
    """

    reason: str
    hint: str
    pattern: str = ""
    intended: bool = False

    @property
    def general(self) -> str:
        """The reason where there is no message, with ``...`` for what only a message knows."""
        return self.reason.format("...", explanation="...").removesuffix(": ...")

    @property
    def general_hint(self) -> str:
        """The hint where there is no message."""
        return self.hint.format("<name>")


#: How a hint goes on that says to remove another break first.
GOES_WITH = "first: this one is usually gone with it."
_GUARD = "Put it under `if not torch.compiler.is_compiling():`, or move it out of the compiled code."
#: What the user can do about a print in a library.
_PRINT = (
    "Put it under `if not torch.compiler.is_compiling():`, or leave all of them out under compile with "
    "`torch._dynamo.config.ignore_logging_functions.add(print)` (torch 2.11 or newer)."
)
_LOGGER = (
    "Put it under `if not torch.compiler.is_compiling():`, or leave all of them out under compile with "
    "`import logging; torch._dynamo.config.ignore_logging_functions.add(logging.Logger.{0})` (torch 2.11 or newer)."
)
_OUTSIDE = "Call it outside the compiled code and pass the result in, or compute it once in __init__."
#: A hint that is of no use where the code ran to its end in eager.
IN_EAGER = "Run the same inputs in eager and correct the error that shows up there."
_FAKE = (
    "Give a custom operator a fake implementation (torch.library.register_fake); call one of torch's own outside the "
    "compiled code."
)
_TRAINING_LOOP = "Compile the forward pass and the loss only; leave this call to the eager training loop."
#: Dynamo does not call the getter of a property that is read through ``super()``.
_OF_SUPER = Words(
    "`{0}` is a property that is read through `super()`, and Dynamo does not evaluate it",
    "Read `self.{0}` where that is the same, or make the property a method and call it.",
    r"GetAttrVariable\(SuperVariable\(\), (\w+)\)",
)

#: By GB id (torch/_dynamo/graph_break_registry.json); the first entry whose pattern is found in the message holds.
WORDS: dict[str, tuple[Words, ...]] = {
    "GB0002": (Words("an assertion on sizes fails while the code is traced", IN_EAGER),),
    "GB0007": (
        Words("warnings.warn() is a side effect that cannot be part of a graph", _GUARD, r"`_?warnings\.warn`|`warn`"),
        Words(
            "torch.manual_seed() and random generators cannot be part of a graph",
            "Seed outside the compiled code.",
            r"manual_seed|qualname: seed",
        ),
        Words(
            "torch keeps `{0}` out of graphs on purpose",
            _TRAINING_LOOP,
            r"module: torch\.optim\.[\w.]*, qualname: ([\w.<>]+)",
            intended=True,
        ),
        Words(
            "`{0}` is implemented in C or marked as not traceable, so the graph ends at the call",
            _OUTSIDE,
            r"qualname: ([\w.<>]+)",
        ),
    ),
    "GB0008": (
        Words("torch keeps `{0}` out of graphs on purpose", _TRAINING_LOOP, r"(\w*[zZ]ero_grad|Optimizer\.\w+)", True),
        Words("`{0}` is marked as not to be traced", _OUTSIDE, r"qualname: ([\w.<>]+)"),
    ),
    "GB0010": (Words("a variable is read after it was deleted", IN_EAGER),),
    "GB0014": (
        Words(
            "nn.LSTM, nn.GRU and nn.RNN are not traced",
            "Leave the recurrent layer outside the compiled part, or replace it (nn.LSTMCell in a loop is traced).",
        ),
    ),
    "GB0015": (Words("sparse tensors are not traced", "Use a dense tensor inside the compiled code."),),
    "GB0021": (
        Words(
            "a text is made of a number that is no constant of the graph",
            "Where the function is compiled by itself because of another graph break, and called with several numbers, "
            f"remove that break {GOES_WITH} Else make the text outside the compiled code.",
        ),
    ),
    "GB0025": (
        Words("torch's optimizers break the graph here on purpose", _TRAINING_LOOP, r"_use_grad|optimizer", True),
        Words("torch._dynamo.graph_break() is called here", "Remove the call."),
    ),
    "GB0033": (
        Words(
            "`{0}` turns tensor data into a Python value, which is not known while tracing",
            "Stay with tensor operations, or let the caller pass a Python number.",
            r"Operator `([\w.]+)`",
        ),
    ),
    "GB0036": (
        Words(
            "the shape of the result of `{0}` depends on tensor data",
            "Keep the full shape and mask instead (torch.where, masked_fill, a multiplied mask), "
            "or set `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.",
            r"Operator `([\w.]+)`",
        ),
    ),
    "GB0043": (Words("a custom operator is not fit for torch.compile: {explanation}", _FAKE),),
    "GB0049": (
        Words(
            "an operator of torch.ops cannot be looked up: {explanation}",
            "Import the library that registers it before the compiled call, and check the spelling.",
        ),
    ),
    "GB0055": (
        _OF_SUPER,
        Words(
            "an argument of a torch function cannot be recorded in a graph",
            "Pass tensors, numbers, or lists and dicts of them; for other objects call the function outside the "
            "compiled code.",
        ),
    ),
    "GB0059": (
        Words("print() is a side effect that cannot be part of a graph", _PRINT, r"builtin operator `print`"),
        Words("open() reads the disk, which cannot be part of a graph", _OUTSIDE, r"builtin operator `open`"),
        Words(
            "`{0}` makes a text of a number that is no constant here, such as a size that varies",
            "Work with the value itself: a tuple of sizes is a key of a dict as well as its text is.",
            r"builtin operator `(str|repr)` with argument types \['(?:list|tuple|dict|set|Size|int|float)'\]",
        ),
        Words(
            "the builtin `{0}` cannot be traced with these arguments",
            "Use a torch operation, or Python numbers that do not come from tensor data.",
            r"builtin operator `([^`]+)`",
        ),
    ),
    "GB0064": (Words("an operator fails while it is traced without data: {explanation}", IN_EAGER),),
    "GB0081": (Words("an attribute or method is missing while the code is traced: {explanation}", IN_EAGER),),
    "GB0083": (
        Words(
            "backward hooks of a module are not traced",
            "Register hooks on eager modules only, or set `torch._dynamo.config.compiled_autograd = True`.",
        ),
    ),
    "GB0087": (
        Words(
            "an array of a list of numbers that numpy computed is not traced",
            "Compute the array in one expression (`np.arange(n)[:, None] / rates`), or once in __init__.",
            r"failed to convert \[+FakeTensor",
        ),
        Words("an operator has no implementation for tensors without data: {explanation}", _FAKE),
    ),
    "GB0088": (
        Words(
            "an exception is raised here while tracing and not caught in the traced code: {0}",
            "Run the model with fullgraph=True to see the exception; code that raises only under compile often reads "
            "a default that `if not torch.compiler.is_compiling():` left unset.",
            r"raised exception (\w+\([^)]*\))",
        ),
        Words(
            "an exception is raised here while tracing and not caught in the traced code",
            "Run the model with fullgraph=True to see the exception.",
        ),
    ),
    "GB0090": (Words("an operator has no implementation for tensors without data", _FAKE),),
    "GB0092": (
        Words(
            "a graph ends in the middle of this loop or comprehension, and Dynamo cannot make its iterator again",
            f"Remove the graph break inside it {GOES_WITH}",
            r"variable \w*Iterator\b",
        ),
        Words(
            "a graph ends while `{0}` is in use, and Dynamo cannot make it again",
            "Remove the graph break around here first, or make the object outside the compiled code.",
            r"variable ([\w.]+)",
        ),
    ),
    "GB0098": (
        Words(
            "the called function is excluded with torch.compiler.disable",
            "Remove the decorator if the function can be traced, or call it before or after the compiled part.",
        ),
    ),
    "GB0099": (
        Words(
            "`{0}` is excluded with torch.compiler.disable",
            "Remove the decorator if the function can be traced, or call it before or after the compiled part.",
            r"<function ([\w.<>]+) at ",
        ),
    ),
    "GB0104": (Words("`.grad_fn` of a tensor is read", "Read `.requires_grad` instead."),),
    "GB0109": (
        Words(
            ".tolist() turns tensor data into Python numbers, which are not known while tracing",
            "Index the tensor instead, or let the caller pass Python numbers.",
        ),
    ),
    "GB0111": (Words("a TypeError is raised while the code is traced: {explanation}", IN_EAGER),),
    "GB0112": (
        Words(
            "an operator is called with arguments that it does not take",
            f"{IN_EAGER} Where eager takes them, a comparison of sizes may be passed as a flag, which is a symbol once "
            "the size varies: write `True if ... else False`.",
        ),
    ),
    "GB0123": (Words("backward() is called inside the compiled code", _TRAINING_LOOP),),
    "GB0124": (
        Words(
            "tensor data becomes a Python number (.item(), int(), float(), an index or a size)",
            "Keep it a tensor, or set `torch._dynamo.config.capture_scalar_outputs = True`.",
        ),
    ),
    "GB0142": (Words("the context manager cannot be traced", "Enter it outside the compiled code."),),
    "GB0149": (Words("a transform of torch.func cannot be traced here: {explanation}", _OUTSIDE),),
    "GB0156": (Words("the method `{0}` cannot be traced", _OUTSIDE, r"method `([^`]+)`"),),
    "GB0170": (
        Words(
            "a branch depends on tensor data, which is not known while tracing",
            "Select with torch.where (or torch.cond for costly branches); "
            'a check that raises becomes `assert condition, "literal message"`.',
        ),
    ),
    "GB0196": (Words("a dict has no such key while the code is traced: {explanation}", IN_EAGER),),
    "GB0206": (
        Words("requires_grad is set on a tensor inside the compiled code", "Set it outside the compiled code."),
    ),
    "GB0208": (Words("a torch function that returns no tensor cannot be part of a graph", _OUTSIDE),),
    "GB0264": (
        Words(
            "a parameter is created inside the compiled code",
            "Create the layer or parameter in __init__.",
        ),
    ),
    "GB0291": (
        Words("a logger call is a side effect that cannot be part of a graph", _LOGGER, r"method: [^,]*\.(\w+), args"),
        Words("a logger call is a side effect that cannot be part of a graph", _GUARD),
    ),
    "GB0569": (Words("repr() of a tensor needs its data, which is not known while tracing", _GUARD),),
    "GB2922": (Words("a value that the code needs cannot be computed while it is traced", IN_EAGER),),
    "GB4198": (Words("copy.deepcopy() of a tensor cannot be traced", "Use .clone() (or .detach().clone())."),),
    "GB4315": (
        Words(
            "a tensor type such as torch.FloatTensor is called with data of another dtype, which eager converts and "
            "Dynamo does not",
            "Write `torch.as_tensor(data, dtype=...)` with the dtype of the tensor type.",
            r"TypeError\(['\"]expected TensorOptions\(.*\(got TensorOptions\(",
        ),
        Words("an operator fails while it is traced without data: {explanation}", IN_EAGER),
    ),
    "GB4347": (
        Words(
            "a comprehension is compiled on its own, because its function is not, and Dynamo cannot start in its "
            "iterator",
            f"Remove the graph break in the function {GOES_WITH}",
            r"next\(\) on (?:list|tuple|dict|set|str)\w*iterator",
        ),
        Words(
            "the next item of a `{0}` is asked for, which Dynamo does not trace",
            "Make a list of it outside the compiled code.",
            r"next\(\) on ([\w.]+\w)",
        ),
    ),
    "GB4413": (
        Words(
            "`{0}` is set in a function that becomes one operator of the graph, such as a checkpointed one",
            "Return the value, and set the attribute after the call; a count may be a tensor buffer with `.add_(1)`.",
            r"Attribute '(\w+)' on an outer-scope object",
        ),
    ),
    "GB4695": (Words("a scripted module cannot be traced", "Use the plain module instead of torch.jit.script."),),
    "GB4841": (_OF_SUPER,),
    "GB5173": (
        Words(
            "tensors on different devices are used in one operation: {explanation}",
            "Move inputs, parameters and buffers to one device; create tensors with `device=x.device`.",
        ),
    ),
    "GB7000": (
        Words(
            "a graph break inside a loop: the whole function runs uncompiled",
            "Remove the break, or move the loop body that breaks out of the compiled function.",
        ),
    ),
    "GB7324": (
        Words(
            "requires_grad_() is called on a tensor that the compiled code returns: {explanation}",
            "Let the caller set requires_grad on the result, or derive by it with torch.func.grad.",
        ),
    ),
    "GB8335": (
        Words(
            "a graph ends while a generator is in use, and Dynamo cannot make it again",
            f"Remove the graph break inside it {GOES_WITH}",
        ),
    ),
    "GB8985": (
        Words(
            "requires_grad_() is called on a tensor that the compiled code returns",
            "Let the caller set requires_grad on the result, or derive by it with torch.func.grad.",
        ),
    ),
    "GB9186": (Words("torch.autograd.grad() is called inside the compiled code", "Use torch.func.grad."),),
}


#: How a hint begins that is about torch itself (torch/_dynamo/graph_break_hints.py).
_FOR_DEVELOPERS = "It may be possible to write Dynamo tracing rules"
_OTHERWISE = "Compute it before the compiled code is called, or write it with what Dynamo traces."

#: Explanations of Dynamo's that do not name what they are about.
_NOT_SUPPORTED = re.compile(
    r"(Dynamo does not support|`torch\.compile` currently can't trace) this\.?"
    r"|(This is )?(currently )?not supported\.?",
    re.IGNORECASE,
)


def in_plain_words(message: Message) -> tuple[str, tuple[str, ...]]:
    """The reason of a break in one sentence, and hints: ours first, else Dynamo's own."""
    words, match = _fitting(message)
    if words is not None and match is not None:
        explanation = one_line(message.explanation)
        return words.reason.format(*match.groups(), explanation=explanation), (words.hint.format(*match.groups()),)
    reason, hints = one_line(message.explanation), _for_users(message.hints)
    if message.gb_type and _NOT_SUPPORTED.fullmatch(reason):
        return f"{message.gb_type}, which Dynamo does not support", hints
    return reason or message.gb_type or "unknown reason", hints


def says_intended(message: Message) -> bool:
    """Whether the reason in plain words tells that torch makes the break on purpose."""
    words, _ = _fitting(message)
    return words is not None and words.intended


def _fitting(message: Message) -> tuple[Words | None, re.Match[str] | None]:
    """The first words for the id of ``message`` whose pattern is found in it."""
    text = f"{message.explanation} {message.context}"
    found = ((words, re.search(words.pattern, text)) for words in WORDS.get(message.gb_id or "", ()))
    return next(((words, match) for words, match in found if match), (None, None))


#: Messages in place of those of Dynamo that name its internal symbols and tensors, by the class of the error.
_INTERNAL = {
    "PendingUnbackedSymbolNotFound": "Dynamo loses track of a size that depends on data, which an operator is given",
}


def error_in_words(text: str) -> str:
    """An exception of ``torch.compile`` that is no graph break, in one line."""
    name = text.partition(":")[0]
    return f"{_INTERNAL[name]} ({name})" if name in _INTERNAL else one_line(text)


#: What torch says of a call for a GPU where there is none, or in a build without CUDA.
_WITHOUT_GPU = (
    "Torch not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available",
    "module 'torch._C' has no attribute '_cuda_",
)  # fmt: skip


def remedy_of_error(message: str) -> str:
    """What to do about an error that torch raises outside of compiling; empty where its message says it, or nobody can.

    Of an output of a CUDA graph that was read too late, torch's own advice names a call that does not keep it.
    """
    if "Default process group has not been initialized" in message:
        return (
            'make a process group of one where the model is built: `torch.distributed.init_process_group("gloo", '
            "store=torch.distributed.HashStore(), rank=0, world_size=1)`"
        )
    if any(text in message for text in _WITHOUT_GPU):
        return (
            "run it where torch finds a GPU; or make the code take the device of its inputs, as in `device=x.device`, "
            "in place of `.cuda()`"
        )
    if message.startswith("FileNotFoundError"):
        return (
            "make it, or scan from the folder that its path is relative to; where the model need not read it, build "
            "the model without it in a `graphdoctor_target()`"
        )
    if "Type-check error whilst checking" in message or "violates type hint <class 'jaxtyping." in message:
        return "take the type checker off what is compiled, or run it with `python -O`, which leaves its checks out"
    if "of CUDAGraphs that has been overwritten by a subsequent run" not in message:
        return ""
    if "gradient tensor" in message:
        return "set the gradients to None before each backward pass, or make them before the first compiled one"
    return (
        "keep `.clone()` of what the compiled function gives, made outside it, where it is read after the next call; "
        'or compile with `mode="max-autotune-no-cudagraphs"`'
    )


def _for_users(hints: tuple[str, ...]) -> tuple[str, ...]:
    """Dynamo's hints; where the only ones ask for changes of torch, what its user can do."""
    useful = tuple(hint for hint in hints if not hint.startswith(_FOR_DEVELOPERS))
    return useful or ((_OTHERWISE,) if hints else ())
