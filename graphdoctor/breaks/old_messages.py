"""Graph breaks of torch 2.6, whose messages have neither a type nor an id: the id that later versions give them. Pure.

Collected by running the examples of the rules on torch 2.6 and 2.13 and comparing what breaks on the same line. What
2.6 says of several kinds of breaks is left out.
"""

from __future__ import annotations

import re

#: How a message begins, the id, and the words that an explanation of that id looks for, with the pattern's groups.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (r"Data-dependent jump", "GB0170", ""),
    (r"Dynamic control flow is not supported at the moment", "GB0170", ""),
    (r"partial tensor op: BuiltinVariable\((?:lt|le|gt|ge|eq|ne)\)", "GB0170", ""),
    (r"data dependent operator: ([\w.]+)", "GB0033", r"Operator `\1`"),
    (r"dynamic shape operator: ([\w.]+)", "GB0036", r"Operator `\1`"),
    (r"Tensor\.(?:item|tolist)\b", "GB0124", ""),
    (r"builtin: (?:bool|int|float) \[<class 'torch\._dynamo\.variables\.tensor\.TensorVariable'>\]", "GB0124", ""),
    (r"Dynamic slicing on data-dependent value", "GB0124", ""),
    (
        r"builtin: (print|open|input|str|range|globals|locals|callable|bytearray|complex) \[",
        "GB0059",
        r"builtin operator `\1`",
    ),
    (r"builtin: setattr \[", "GB0467", ""),
    (r"builtin: repr \[", "GB0569", ""),
    (r"'?skip function (\w+) in file", "GB0007", r"`\1`, qualname: \1"),
    (r"Graph break due to unsupported (?:Python )?builtin (?:None\.)?([\w.]+)\. ", "GB0007", r"qualname: \1"),
    (r"'?inline in skipfiles: ([\w.]+)", "GB0008", r"qualname: \1"),
    (r"TorchDynamo purposely graph breaks on RNN", "GB0014", ""),
    (r"torch\.compile does not support sparse Tensors", "GB0015", ""),
    (r"torch\.compile does not support strided NestedTensor", "GB0090", ""),
    (r"HigherOrderOperator: Mutating a variable not in the current scope", "GB0067", ""),
    (r"reconstruct: ", "GB0092", ""),
    (r"call torch\._dynamo\.disable\(\) wrapped function", "GB0098", ""),
    (r"Tensor\.backward\b", "GB0123", ""),
    (r"Tensor\.requires_grad_\b", "GB0125", ""),
    (r"Tensor\.resize_\B", "GB0126", ""),
    (r"BEFORE_WITH ", "GB0142", ""),
    (r"call_method UserDefinedObjectVariable\(\w+\) (\w+)", "GB0156", r"method `\1`"),
    (r"torch\.\* op returned non-Tensor", "GB0208", ""),
    (r"factory functions that return tensors that require grad", "GB0225", ""),
    (r"out variants with resizing on graph inputs", "GB0247", ""),
    (r"UserDefined with non-function __getattr__", "GB0256", ""),
    (r"Logger not supported for non-export cases", "GB0291", ""),
    (r"Can't find numpy function", "GB0294", ""),
    (r"copy\.deepcopy ", "GB4198", ""),
    (r"ScriptModules aren't supported", "GB4695", ""),
    (r"missing: LOAD_BUILD_CLASS", "GB8977", ""),
)
_PATTERNS = tuple((re.compile(begin), gb_id, words) for begin, gb_id, words in _KNOWN)


def id_and_words(text: str) -> tuple[str, str] | None:
    """The id for the message ``text``, and what explanations of that id look for in messages that have one."""
    for pattern, gb_id, words in _PATTERNS:
        if match := pattern.match(text):
            return gb_id, match.expand(words)
    return None
