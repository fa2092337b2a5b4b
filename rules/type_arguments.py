"""A type is given type arguments in code that runs, and not only in an annotation.

What: A call of a type with type arguments (`list[Tensor]()`, `defaultdict[str, int](int)`, `Result[Tensor](x)`), and
type arguments of a generic class of one's own, of `numpy.typing.NDArray`, of `Annotated`, or of a type alias such as
`Batch = dict[str, Tensor]`, as in `cast(list[Batch], x)`.

Why: Dynamo evaluates `list[Tensor]` and `Optional[Tensor]` while tracing, but it does not call such a type, and it has
no value for `Generic.__class_getitem__`, nor for the generic alias that another name stands for.

Fix: Call the type alone and annotate the name (`rows: list[Tensor] = []`); write the type of a `cast` in quotes. Types
in annotations of local variables are never evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import ReadItem
from graphdoctor.static.domain.values import Class, External, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

from ._shared import certainty, code, consequence

CODE = "GD409"
NAME = "type-arguments"
SEVERITY = "error"
GB_IDS = ("GB0147", "GB0116", "GB4880", "GB9137")
TORCH = ">=2.6"

#: Types of Python that are called with type arguments, and those of them that an alias is made of.
_BUILTIN = frozenset({"list", "dict", "tuple", "set", "frozenset", "type"})
_CONTAINERS = {
    *(f"builtins.{name}" for name in _BUILTIN),
    *(f"collections.{name}" for name in ("deque", "defaultdict", "OrderedDict", "Counter", "ChainMap")),
    *(f"typing.{name}" for name in ("List", "Dict", "Set", "Deque", "DefaultDict", "OrderedDict", "Counter")),
}
#: Types of which Dynamo evaluates no type arguments.
_OPAQUE = {"numpy.typing.NDArray", "typing.Annotated", "typing_extensions.Annotated"}

ONLY_WRITTEN = "write the type in quotes, or keep it to annotations"

BREAKS = (
    """\
import torch


def f(x):
    rows = list[torch.Tensor]()  # GB0147
    rows.append(x)
    return torch.stack(rows) + 1
""",
    """\
from collections import defaultdict


def f(x):
    found = defaultdict[str, list](list)  # GB0147
    found["x"].append(x * 2)
    return found["x"][0]
""",
    """\
from typing import Generic, TypeVar

import torch

T = TypeVar("T")


class Result(Generic[T]):
    def __init__(self, value: T):
        self.value = value


def f(x):
    return Result[torch.Tensor](x * 2).value + 1  # GB0116 GB0147
""",
    """\
from typing import cast

import numpy as np
from numpy.typing import NDArray


def f(x):
    return cast(NDArray[np.float64], x) + 1  # GB4880
""",
    """\
# torch >=2.13
from typing import List, cast

import torch

Batch = dict[str, torch.Tensor]


def f(x):
    (first,) = cast(List[Batch], [{"x": x}])  # GB9137
    return first["x"] + 1
""",
    """\
from typing import cast

import torch

Batch = dict[str, torch.Tensor]


def f(x):
    (first,) = cast(list[Batch], [{"x": x}])  # GB4880
    return first["x"] + 1
""",
    """\
from typing import Annotated, cast

import torch


def f(x):
    return cast(Annotated[torch.Tensor, "rows"], x) + 1  # GB0116
""",
)

CLEAN = (
    """\
import torch


def f(x):
    rows: list[torch.Tensor] = []
    rows.append(x)
    return torch.stack(rows) + 1
""",
    """\
from collections import defaultdict


def f(x):
    found: defaultdict[str, list] = defaultdict(list)
    found["x"].append(x * 2)
    return found["x"][0]
""",
    """\
from typing import Generic, TypeVar

import torch

T = TypeVar("T")


class Result(Generic[T]):
    def __init__(self, value: T):
        self.value = value


class OfTensor(Result[torch.Tensor]):
    pass


def f(x):
    result: Result[torch.Tensor] = Result(x * 2)
    return result.value + OfTensor(x).value
""",
    """\
from typing import cast

import numpy as np
from numpy.typing import NDArray


def f(x):
    return cast("NDArray[np.float64]", x) + 1
""",
    """\
from typing import Dict, List, Optional, Union, cast

import torch

Batch = Dict[str, torch.Tensor]


def f(x):
    (first,) = cast(List[Batch], [{"x": x}])
    second = cast(Optional[Batch], first)
    return cast(Union[torch.Tensor, List[torch.Tensor]], second["x"]) + 1
""",
    """\
# torch >=2.9
from typing import cast

import torch


def f(x):
    (rows,) = cast(list[list[torch.Tensor]], [[x, x]])
    return cast(tuple[torch.Tensor, ...], rows)[0] + 1
""",
    """\
# torch >=2.9
from typing import cast

import torch

Batch = dict[str, torch.Tensor]


def f(x):
    def first(batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        return [batch["x"]]

    return first(cast(Batch, {"x": x}))[0] + 1
""",
    """\
import torch

ACTIVATIONS = {"relu": torch.relu}


def f(x):
    return ACTIVATIONS["relu"](x)
""",
)


def check_readitem(event: ReadItem) -> Hit | None:
    node = event.node
    if not isinstance(node, cst.Subscript):
        return None
    if _is_called(event) and (isinstance(event.receiver, Class) or _name(event.receiver) in _CONTAINERS):
        what, advice = "is called with its type arguments", "call the type alone, and annotate the name"
    elif _is_generic(event.receiver) or _name(event.receiver) in _OPAQUE:
        what, advice = "gives type arguments to a generic type", ONLY_WRITTEN
    elif any(_aliases(event, node)):
        what, advice = "makes a type of a type alias", ONLY_WRITTEN
    else:
        return None
    return Hit(
        event,
        f"{code(event)} {what}, which Dynamo does not trace",
        advice,
        certainty(event),
        consequence=consequence(event),
    )


def _is_called(event: ReadItem) -> bool:
    return any(call.func is event.node for call in find(event.site.statement, cst.Call))


def _name(value: Value) -> str:
    return value.qualname if isinstance(value, External) else ""


def _is_generic(value: Value) -> bool:
    return isinstance(value, Class) and value.info.derives("typing.Generic", "typing.Protocol")


def _aliases(event: ReadItem, node: cst.Subscript) -> Iterator[bool]:
    """Whether the type, and each of its arguments, is a builtin container under another name: a type alias."""
    yield _is_alias(node.value, event.receiver)
    for element, value in zip(node.slice, event.index, strict=False):
        yield isinstance(element.slice, cst.Index) and _is_alias(element.slice.value, value)


def _is_alias(node: cst.BaseExpression, value: Value) -> bool:
    package, _, name = _name(value).rpartition(".")
    return package == "builtins" and name in _BUILTIN and isinstance(node, cst.Name) and node.value != name


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    node, user = hit.place, editor.parent(hit.place)
    assert isinstance(hit.event, ReadItem) and isinstance(node, cst.Subscript)
    if isinstance(user, cst.Call) and user.func is node:
        if _name(hit.event.receiver).startswith("typing."):
            return Refusal(
                "The types of `typing` cannot be called alone: call the builtin or collection they stand for."
            )
        alone = (editor.replace(node, editor.code(node.value)),)
        if _name(hit.event.receiver):
            return FixPlan(alone, "safe", "Type arguments change nothing of what is made.")
        return FixPlan(alone, "unsafe", "The object no longer keeps its type arguments, as `__orig_class__`.")
    call = next((outer for outer in editor.ancestors(node) if isinstance(outer, cst.Call)), None)
    if call is None or dotted_name(call.func, editor) != "typing.cast" or node not in walk(call.args[0]):
        return Refusal("The type is a value here, and is not given to `typing.cast`.")
    declared = call.args[0].value
    text = " ".join(editor.code(declared).split())
    quoted = repr(text) if '"' in text or "\\" in text else f'"{text}"'
    return FixPlan((editor.replace(declared, quoted),), "safe", "`cast` does not look at the type.")
