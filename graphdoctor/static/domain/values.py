"""Abstract values: what the static pass knows of an expression without running it.

For every value the question is the one of Dynamo: is it *tensor data* (its contents are unknown while tracing),
or something a trace may look at (shapes, dtypes, flags, None, Python numbers, configuration)?
Unknown stays ``Unknown``, and rules are silent about it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from graphdoctor.static.domain.fast_frozen import frozen

if TYPE_CHECKING:
    from graphdoctor.static.domain.program import ClassInfo, FunctionInfo


class Value:
    """Base of all abstract values."""

    __slots__ = ()


@frozen
class Unknown(Value):
    """Nothing is known."""


@frozen
class Tensor(Value):
    """Tensor data. ``is_known`` is False where that is only assumed (an unannotated argument of ``forward``)."""

    #: "bool", "int", "float" or "complex".
    dtype: str | None = None
    ndim: int | None = None
    #: A numpy array: Dynamo traces it as a tensor (config.trace_numpy).
    numpy: bool = False
    is_known: bool = True
    #: Whether it is a leaf that the module owns (``nn.Parameter``, a buffer).
    owned: bool = False
    #: A function argument, not the result of an operator.
    argument: bool = False
    sparse: bool = False
    #: Of one element, and made from Python numbers alone (``torch.tensor([3])``, ``torch.div(n, 2)``): used as a size.
    constant: bool = False
    #: The sizes, where they are literals: ``torch.rand(4, 8)``.
    sizes: tuple[int, ...] | None = None
    #: Whether the number of rows depends on data, as that of ``nonzero`` in compiled code: an unbacked size.
    unbacked: bool = False
    #: Whether ``as_subclass`` made it, or an operator of such a tensor.
    subclass: bool = False


#: What decides a branch that sets a flag: nothing that matters here, data of a tensor, or ``self.training``.
ChosenBy = Literal["", "data", "mode"]


@frozen
class Const(Value):
    """A Python constant whose value is known: None, bool, int, float, str, bytes, Ellipsis.

    ``chosen_by`` says of a flag or a number that one side of a branch sets where the other side has a tensor what
    decides the branch, if it is "data" of a tensor or the "mode", ``self.training``.
    """

    value: Any
    chosen_by: ChosenBy = ""

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(other.value) is type(self.value) and other.value == self.value


class EnumNumber(int):
    """The value of a ``Const`` that is a member of ``class Mode(Enum)``: an object, and no number."""


class EnumText(str):
    """The value of a ``Const`` that is a member of ``class Mode(str, Enum)``."""


@frozen
class SkippedDefault(Const):
    """None that eager code would have replaced: ``if mask is None and not is_compiling(): mask = ...``.

    ``origin`` identifies the test: code after the first use of such a None is never reached.
    """

    origin: int = 0

    # It is the same constant as None.
    __eq__ = Const.__eq__
    __hash__ = Const.__hash__


@frozen
class PythonValue(Value):
    """A Python value that is not tensor data and whose value is not known.

    ``kind`` is a type name ("int", "float", "bool", "str", "dtype", "device", "size", "object").
    ``shape`` is True for numbers that come from a tensor's shape. ``sample`` is the value that such a number, or a
    comparison of it, has for the sample that the file declares: other inputs may have other shapes. For a string from
    the environment it is the value where the variable is not set.
    """

    kind: str = "object"
    shape: bool = False
    sample: int | str | None = None
    #: For a dtype: "bool", "int", "float" or "complex". For a string: "device" where it is the type of a device.
    family: str | None = None
    #: A number that compiled code read from tensor data (``item``, ``tolist``), or a list of such numbers: an
    #: unbacked SymInt or SymFloat, on which no branch can be decided.
    data_dependent: bool = False
    #: A number that Python's ``random`` drew in compiled code: an input of the graph, which has no value in the trace.
    drawn: bool = False
    #: For a string: its known beginning and its known end, where only the part between is unknown.
    affixes: tuple[str, str] | None = None


@frozen
class NameOf(PythonValue):
    """The ``__name__`` of ``info``, a class of the scanned code: a table of names is looked up by that class."""

    info: ClassInfo | None = None


@frozen
class LazyText(Value):
    """Text or a hash of tensor data: Dynamo computes it after the graph has run, so it can be stored, but not used."""

    #: "str" or "int".
    kind: str


#: The ``kind`` of a ``Seq`` among arguments that stands for ``*args`` of unknown length.
STAR = "star"
#: The ``kind`` of a ``Seq`` that is a keyword argument: only some of the dicts that ``**options`` may be pass its
#: ``element``.
MAYBE = "maybe"


@frozen
class Seq(Value):
    """A list, tuple, set, generator or iterator; ``items`` when each element is known, else ``element`` for all."""

    kind: str
    items: tuple[Value, ...] | None = None
    element: Value = field(default_factory=Unknown)


@frozen
class Mapping(Value):
    """A dict, keyed by constant keys; ``rest`` stands for any other key."""

    items: tuple[tuple[Any, Value], ...] = ()
    rest: Value | None = None

    def get(self, key: Any) -> Value | None:
        """The value of the constant ``key``; None where there is none."""
        for name, value in self.items:
            if type(name) is type(key) and name == key:
                return value
        return self.rest


@frozen
class External(Value):
    """Something imported from outside the scanned code, by dotted name: ``External("torch.nn.functional.relu")``."""

    qualname: str


@frozen
class TypeAlias(Value):
    """An alias of a type for annotations, ``Scalar = Union[float, Tensor]``; ``value`` is a value of the type."""

    value: Value


@frozen
class Imported(Value):
    """A name imported from another scanned module, looked up when it is first used: ``from .layers import Block``."""

    module: str
    name: str
    #: The dotted name of the module whose import statement it is.
    importer: str


@frozen
class ExternalObject(Value):
    """An object made by calling something external that is not a tensor: ``ExternalObject("logging.getLogger")``.

    ``build`` is its number among the objects that the scanned file makes outside regions (0: not one of them).
    ``in_region`` is True for what compiled code makes. ``shown`` is what a progress bar goes through.
    """

    qualname: str
    build: int = 0
    in_region: bool = False
    shown: Value | None = None


@frozen
class Function(Value):
    """A function of the scanned code; ``bound`` is its ``self``; ``cells`` the scopes it closes over."""

    info: FunctionInfo
    bound: Value | None = None
    cells: Any = None

    def __hash__(self) -> int:
        return hash((id(self.info), id(self.bound)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and other.info is self.info and other.bound is self.bound

    def to(self, receiver: Value) -> Function:
        """It as a method of ``receiver``."""
        return Function(self.info, receiver, self.cells)


@frozen
class Class(Value):
    """A class of the scanned code; not ``exact``: or a subclass of it, where only an annotation names it."""

    info: ClassInfo
    exact: bool = True

    def __hash__(self) -> int:
        return id(self.info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Class) and other.info is self.info


#: Entries of ``Instance.attrs`` that are no attributes: the children of a container of modules, and the forward hooks.
CHILDREN, HOOKS = "#children", "#hooks"


@dataclass(eq=False)
class Instance(Value):
    """An object of a class of the scanned code. Compared by identity; ``attrs`` is its heap."""

    info: ClassInfo
    attrs: dict[str, Value] = field(default_factory=dict)
    #: Whether it was made by an imported module, which other files import too: their changes to it are not kept.
    shared: bool = False
    #: Whether it was made outside compiled code, and stands for all objects made with such arguments. A change of one
    #: of them is no change of the others.
    is_representative: bool = False
    #: How many more such objects were made: a hook that is registered on one of them is not registered on the others.
    copies: int = 0
    #: Whether it was made in compiled code, so that each call has another one.
    inside: bool = False
    #: Whether it is passed to compiled code and is not a module: its ints become symbols, while those of other objects
    #: are constants.
    is_passed: bool = False
    #: How often compiled code stored a kind of value in it that it did not hold before.
    changes: int = 0
    #: Whether it may be of a subclass, whose strings and dicts may differ: only an annotation names its class, or the
    #: class is imported, and it is not a module.
    may_be_subclass: bool = False


@frozen
class TorchModule(Value):
    """An ``nn.Module`` of torch itself: ``TorchModule("torch.nn.Linear")``; containers keep their ``children``."""

    qualname: str
    children: Value | None = None
    hooks: tuple[Hook, ...] = ()


@frozen
class Hook(Value):
    """A forward hook of a module, and the handle that registering it gives."""

    function: Value
    #: The id of the call that registers it.
    site: int
    #: Whether it runs before the forward.
    is_before: bool
    with_kwargs: bool


@frozen
class ModulePart(Value):
    """A module in ``module``, or that module itself, of which nothing else is known: ``for part in net.modules()``."""

    module: Instance


@frozen
class Partial(Value):
    """``functools.partial``, a bound method of a builtin, or a wrapper: ``function`` with leading arguments."""

    function: Value
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()
    #: What a call gives, where that is not what the function gives: the derivative of ``torch.func.grad(function)``.
    result: Value | None = None


@frozen
class Method(Value):
    """A method that is not scanned code: ``tensor.sum``, ``[].append``, ``logger.info``."""

    receiver: Value
    name: str


@frozen
class Compiled(Value):
    """What ``torch.compile(target)`` gives: calling it runs ``target`` as a compiled region."""

    target: Value
    fullgraph: bool = False


@frozen
class Super(Value):
    """``super()``: attributes of ``instance`` looked up after ``after`` in the order of its bases."""

    instance: Value
    after: ClassInfo

    def __hash__(self) -> int:
        return hash((id(self.instance), id(self.after)))


@frozen
class OneOf(Value):
    """One of several values, by the path taken: ``mask`` of ``mask=None``."""

    options: tuple[Value, ...]


UNKNOWN = Unknown()
NONE = Const(None)
