"""Events: the operations that Dynamo may not be able to trace, as the interpreter meets them.

Rules subscribe to events and do not walk trees. Every event has the libcst ``node`` at which a finding is reported, and
the ``Site`` around it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

import libcst as cst

from graphdoctor.static.domain.fast_frozen import frozen
from graphdoctor.static.domain.values import Value

if TYPE_CHECKING:
    from graphdoctor.syntax.module import SourceModule


@frozen
class Block:
    """A loop, a ``try`` or a user context manager: a break in it drops the whole frame (GB7000, GB0066)."""

    #: Qualified name of the function that contains it, which may be a caller.
    function: str
    #: The keyword it begins with, its line, and the file.
    keyword: str
    line: int
    path: str


@frozen
class Caller:
    """A call in compiled code: the function that makes it, and the statement."""

    module: SourceModule
    function: str
    statement: cst.CSTNode


@frozen
class Site:
    """Where an event happens."""

    module: SourceModule
    #: Qualified name of the function, ``Net.forward``.
    function: str
    #: The statement that is being executed.
    statement: cst.CSTNode
    #: The block because of which a break here drops the whole frame; None where there is none.
    whole_frame: Block | None
    #: Under a condition that the trace decides (a flag, a shape): the line may not run for some inputs.
    conditional: bool
    #: Inside a region that will be compiled. Usage events have False.
    compiled: bool
    #: Under a condition that is false for the shapes of the sample, or true in the first call only.
    untaken: bool = False
    #: In a forward pass of which nothing shows that it is compiled.
    assumed: bool = False
    #: In code that the file declares the inputs of: a line that these do not lead to is ``untaken``.
    has_sample: bool = False
    #: After an operand of ``and`` or ``or`` that may end the expression.
    optional: bool = False
    #: The statement of the function at which the graph ended last: Dynamo compiles what follows as a separate function.
    resumed: cst.CSTNode | None = None
    #: The graph ended on every path that leads here.
    resumes: bool = False
    #: In a function that ``checkpoint`` runs again in the backward pass.
    recomputed: bool = False
    #: The call of a compiled function that is no scanned code: ``torch.compile(optimizer.step)()``.
    entering: bool = False
    #: Of usage events: the tests around the statement, or around a ``return`` before it, and "try".
    guards: tuple[str, ...] = ()
    #: The calls that lead here from where the compiled code begins, in their order.
    callers: tuple[Caller, ...] = ()


@frozen
class Event:
    """Base of all events."""

    node: cst.CSTNode
    site: Site


@frozen
class ArgumentCall:
    """A call inside the arguments of another one: what is called, and with what."""

    node: cst.Call
    callee: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@frozen
class Call(Event):
    """A call that is not followed into scanned code.

    ``qualname`` is the resolved dotted name of the callee ("torch.nonzero", "time.time", "builtins.print",
    "logging.getLogger.info" for a logger's method). For a method of a tensor it is "torch.Tensor.<name>", of a numpy
    array or scalar "numpy.ndarray.<name>", and ``receiver`` is its value. That of an extension module of the project,
    or of what numba compiles, begins with ``torch_tables.EXTENSION``.
    """

    qualname: str
    args: tuple[Value, ...]
    kwargs: dict[str, Value]
    receiver: Value | None = None
    #: The value of the call is used by the surrounding expression.
    used: bool = True
    #: The calls inside its arguments, in the order of evaluation, where its own value is not used.
    inner: tuple[ArgumentCall, ...] = ()


@frozen
class Truth(Event):
    """The truth of a value is tested. ``node`` is the expression, ``value`` its abstract value."""

    value: Value
    context: Literal["if", "while", "ternary", "and", "or", "not", "comprehension", "assert", "in", "call", "match"]
    #: For if/while/ternary/assert: the statement or expression that branches.
    branch: cst.CSTNode | None = None
    #: In ``max(tensors, key=len)``, whose keys are no tensors.
    by_key: bool = False


@frozen
class Assert(Event):
    """An assert statement; ``node`` is the statement."""

    test: Value
    message: Value | None
    #: In the backward of an ``autograd.Function``, or in a function that it calls.
    backward: bool = False


@frozen
class Convert(Event):
    """Tensor data becomes a Python value. ``node`` is the converting expression.

    ``to``: "int", "float", "bool", "complex", "str", "repr", "format", "hash", "index" (slice bound, list index),
    "range", "repeat" (how often a list is), "size" (an argument that must be a Python number), "math" (a math
    function), "iterate", "use" (of what was deferred, such as ``len(f"{t}")``).
    ``how`` names the function or operator ("int", "range", "reshape").
    """

    value: Value
    to: str
    how: str


@frozen
class Subscript(Event):
    """``receiver[index]`` on tensor data; ``mode`` is load, store, augment (``y[m] += 1``) or delete."""

    receiver: Value
    index: tuple[Value, ...]
    mode: Literal["load", "store", "augment", "delete"]


@frozen
class ReadItem(Event):
    """An item of a class, or of an object of a library, is read: ``list[Tensor]``, ``np.ogrid[:4]``.

    Not in annotations, where nothing is read.
    """

    receiver: Value
    index: tuple[Value, ...]


@frozen
class GetAttr(Event):
    """An attribute of tensor data or of an external object is read (not called)."""

    receiver: Value
    name: str


@frozen
class SetAttr(Event):
    """An attribute is written; ``augmented`` for ``self.n += 1``."""

    receiver: Value
    name: str
    value: Value
    augmented: bool
    #: The compiled call assigned the attribute before, whatever its old value was.
    begun: bool = False


@frozen
class Enter(Event):
    """A ``with`` item is entered. ``qualname`` as in ``Call`` when it is external, else None."""

    value: Value
    qualname: str | None


@frozen
class Define(Event):
    """A class statement inside a compiled function."""

    name: str


@frozen
class Import(Event):
    """An import statement inside a compiled function; ``optional`` inside a try."""

    names: tuple[str, ...]
    optional: bool


@frozen
class Compile(Event):
    """A use of ``torch.compile``: decorator, call or ``module.compile()``. Emitted outside regions too."""

    form: Literal["decorator", "call", "method"]
    target: Value
    kwargs: dict[str, Value]
    #: Whether the result is used, unlike that of a bare ``torch.compile(model)``.
    used: bool


@frozen
class CompiledCall(Event):
    """Code outside regions calls a compiled function in a loop."""

    target: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]
    #: The loops around the call in its function, innermost last.
    loops: tuple[cst.For | cst.While, ...]
    #: The data loaders that these loops iterate.
    loaders: tuple[Build, ...]
    #: Compiled for sizes that vary.
    dynamic: bool


@frozen
class Specialise(Event):
    """The trace depends on the exact size of a tensor, in code that is compiled for varying sizes."""

    how: Literal["range", "compare", "iterate"]


@frozen
class Decide(Event):
    """The trace depends on a number that was read from tensor data; ``how`` names the construct."""

    how: Literal["if", "range", "set", "repeat", "size"]


@frozen
class NeedDrawn(Event):
    """The trace needs the value of a number that Python's ``random`` drew in compiled code.

    ``sure`` is False where it is drawn on some paths only; ``decides`` says that it decides which way to go.
    """

    sure: bool
    decides: bool = False


@frozen
class Iterate(Event):
    """A tensor with a data-dependent number of rows is iterated."""

    value: Value


@frozen
class SetItem(Event):
    """An item of a list or dictionary that outlives the call is written; ``augmented`` for ``self.n["seen"] += 1``.

    ``holder`` is the object with the list or dictionary as an attribute; None for a global.
    """

    value: Value
    augmented: bool
    holder: Value | None = None


@frozen
class Grow(Event):
    """A list that outlives the call gets another element; ``container`` is the expression that names it."""

    container: cst.BaseExpression


@frozen
class ReadGlobal(Event):
    """A global number is read that a function or a loop rebinds."""

    name: str


@frozen
class Build(Event):
    """An object of scanned or external code is made outside a region (module level, main, a training script)."""

    qualname: str
    args: tuple[Value, ...]
    kwargs: dict[str, Value]
    #: Attributes written on the object afterwards in the same scope, by name.
    attributes: tuple[str, ...] = ()
    #: Keyword names of calls made on the object afterwards in the same scope.
    called_with: tuple[str, ...] = field(default=())
