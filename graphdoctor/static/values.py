"""Abstract values: what the static pass knows of an expression without running it.

The question asked of every value is the one Dynamo asks: is it *tensor data* (its contents are unknown while tracing),
or something a trace may look at (shapes, dtypes, flags, None, Python numbers, configuration)?
Unknown stays ``Unknown``, and rules are silent about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

from graphdoctor.static.frozen import frozen

if TYPE_CHECKING:
    from graphdoctor.static.index import ClassInfo, FunctionInfo


class Value:
    """Base of all abstract values."""

    __slots__ = ()


@frozen
class Unknown(Value):
    """Nothing is known."""


@frozen
class Tensor(Value):
    """Tensor data. ``sure`` is False where tensor-ness is assumed (an unannotated argument of ``forward``)."""

    #: "bool", "int", "float" or "complex".
    dtype: str | None = None
    ndim: int | None = None
    #: A numpy array: Dynamo traces it as a tensor (config.trace_numpy).
    numpy: bool = False
    sure: bool = True
    #: Set where the object is a leaf that the module owns (``nn.Parameter``, a buffer).
    owned: bool = False
    #: A function argument, not the result of an operator.
    argument: bool = False
    sparse: bool = False
    #: 0-d and made from Python numbers alone (``torch.tensor(3)``, ``torch.div(n, 2)``): usable as a size.
    constant: bool = False
    #: The sizes, where a literal says them: ``torch.rand(4, 8)``.
    sizes: tuple[int, ...] | None = None
    #: How many rows it has depends on data, as with what ``nonzero`` gives in compiled code: an unbacked size.
    unbacked: bool = False


@frozen
class Const(Value):
    """A Python constant whose value is known: None, bool, int, float, str, bytes, Ellipsis."""

    value: Any

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(other.value) is type(self.value) and other.value == self.value


@frozen
class Missing(Const):
    """None that eager code would have replaced: ``if mask is None and not is_compiling(): mask = ...``.

    ``origin`` tells the tests apart: what stands behind the first use of such a None is never reached.
    """

    origin: int = 0

    # It is the same constant as None.
    __eq__ = Const.__eq__
    __hash__ = Const.__hash__


@frozen
class Py(Value):
    """A Python value that is not tensor data and whose value is not known.

    ``kind`` is a type name ("int", "float", "bool", "str", "dtype", "device", "size", "object").
    ``shape`` is True for numbers that come from a tensor's shape. ``sample`` is what such a number, or a comparison of
    it, is for the sample that the file declares: other inputs may have other shapes.
    """

    kind: str = "object"
    shape: bool = False
    sample: int | None = None
    #: For a dtype: "bool", "int", "float" or "complex".
    family: str | None = None
    #: A number that compiled code read from tensor data (``item``, ``tolist``), or a list of such numbers: kept as a
    #: symbol, of which nobody may ask what it is.
    read: bool = False


@frozen
class NameOf(Py):
    """The ``__name__`` of a class of the scanned code. What is asked of it is asked of the class."""

    info: ClassInfo | None = None


@frozen
class Deferred(Value):
    """Text or a hash made of tensor data: Dynamo makes it when the graph has run, so only storing it is traced."""

    #: "str" or "int".
    kind: str


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
        for name, value in self.items:
            if type(name) is type(key) and name == key:
                return value
        return self.rest


@frozen
class External(Value):
    """Something imported from outside the scanned code, by dotted name: ``External("torch.nn.functional.relu")``."""

    qualname: str


@frozen
class Imported(Value):
    """A name imported from another scanned module, looked up when it is first used: ``from .layers import Block``."""

    module: str
    name: str
    #: The dotted name of the module whose import statement it is.
    importer: str


@frozen
class Returned(Value):
    """An object made by calling something external that is not a tensor: ``Returned("logging.getLogger")``.

    ``build`` is its number among the objects made outside regions (0: not one of them).
    """

    qualname: str
    build: int = 0


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
    """A class of the scanned code; not ``exact``: or a subclass of it, as that of a promised object may be."""

    info: ClassInfo
    exact: bool = True

    def __hash__(self) -> int:
        return id(self.info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Class) and other.info is self.info


@dataclass(eq=False)
class Instance(Value):
    """An object of a class of the scanned code. Compared by identity; ``attrs`` is its heap."""

    info: ClassInfo
    attrs: dict[str, Value] = field(default_factory=dict)
    #: Made by an imported module, which other files import too: what one of them stores in it is not kept.
    shared: bool = False
    #: Made outside compiled code, and stands for all objects that are made of such arguments: what is stored in one of
    #: them, others do not have.
    many: bool = False
    #: Known by an annotation, or of an imported class, and no module: which names and tables its class holds is not
    #: taken for a fact.
    promised: bool = False


@frozen
class TorchModule(Value):
    """An ``nn.Module`` of torch itself: ``TorchModule("torch.nn.Linear")``; containers keep their ``children``."""

    qualname: str
    children: Value | None = None
    #: Functions that run after each call.
    hooks: tuple[Value, ...] = ()


@frozen
class Partial(Value):
    """``functools.partial``, a bound method of a builtin, or a wrapper: ``function`` with leading arguments."""

    function: Value
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()


@frozen
class Method(Value):
    """A method that is not scanned code: ``tensor.sum``, ``[].append``, ``logger.info``."""

    receiver: Value
    name: str


@frozen
class Compiled(Value):
    """What ``torch.compile(target)`` gives: calling it runs ``target`` as a compiled region."""

    target: Value


@frozen
class Super(Value):
    """``super()``: attributes of ``instance`` looked up after ``after`` in the order of its bases."""

    instance: Value
    after: ClassInfo

    def __hash__(self) -> int:
        return hash((id(self.instance), id(self.after)))


@frozen
class Either(Value):
    """One of several values, by the path taken: ``mask`` of ``mask=None``."""

    options: tuple[Value, ...]


UNKNOWN = Unknown()
NONE = Const(None)


def kinds(value: Value) -> frozenset[type]:
    """The classes of the alternatives of ``value``; of a constant that of what it holds."""
    return frozenset(type(o.value) if type(o) is Const else type(o) for o in options(value))


def options(value: Value) -> tuple[Value, ...]:
    """The alternatives of ``value``: one for everything but ``Either``."""
    return value.options if type(value) is Either else (value,)


#: Of values with more alternatives nothing is known.
_MOST_OPTIONS = 6


def join(*values: Value) -> Value:
    """The value that is one of ``values``."""
    first = values[0]
    seen = list(options(first))
    for value in values:
        if value is not first:
            for option in options(value):
                if option not in seen:
                    seen.append(option)
    if len(seen) == len(options(first)):
        return first
    found = [type(option) for option in seen]
    if found.count(Tensor) > 1:
        merged = reduce(merge_tensors, [o for o in seen if isinstance(o, Tensor)])
        seen = [merged] + [o for o in seen if not isinstance(o, Tensor)]
    if found.count(Py) > 1:
        seen = list(dict.fromkeys(replace(o, sample=None) if isinstance(o, Py) else o for o in seen))
    if found.count(Const) > 3:
        constants = [o for o in seen if isinstance(o, Const) and o.value is not None]
        if len(constants) > 3:
            names = {type(o.value).__name__ for o in constants}
            seen = [o for o in seen if o not in constants] + [Py(names.pop() if len(names) == 1 else "object")]
    if len(seen) == 1:
        return seen[0]
    return Either(tuple(seen)) if len(seen) <= _MOST_OPTIONS else UNKNOWN


def merge_tensors(a: Tensor, b: Tensor) -> Tensor:
    """What holds of both."""
    return Tensor(
        dtype=a.dtype if a.dtype == b.dtype else None,
        ndim=a.ndim if a.ndim == b.ndim else None,
        numpy=a.numpy and b.numpy,
        sure=a.sure and b.sure,
        owned=a.owned and b.owned,
        argument=a.argument and b.argument,
        sparse=a.sparse and b.sparse,
        constant=a.constant and b.constant,
        sizes=a.sizes if a.sizes == b.sizes else None,
        unbacked=a.unbacked and b.unbacked,
    )


def as_arguments(value: Value) -> Value:
    """``value`` with the tensors in it as inputs of a graph, not results in it."""
    if type(value) not in _HOLDERS:
        return value
    if isinstance(value, Tensor):
        return value if value.argument else _as_argument(value)
    if isinstance(value, Either):
        return join(*[as_arguments(option) for option in value.options])
    if isinstance(value, Seq):
        items = None if value.items is None else tuple([as_arguments(item) for item in value.items])
        return Seq(value.kind, items, as_arguments(value.element))
    if isinstance(value, Mapping):
        rest = None if value.rest is None else as_arguments(value.rest)
        return Mapping(tuple((key, as_arguments(item)) for key, item in value.items), rest)
    return value


@cache
def _as_argument(tensor: Tensor) -> Tensor:
    return replace(tensor, argument=True, constant=False)


#: What tensors are or are in.
_HOLDERS = frozenset((Tensor, Either, Seq, Mapping))


def without_text(value: Value) -> Value:
    """``value``, but for the names and tables in it just that they are some."""
    return join(*(_without_text(option) for option in options(value)))


def _without_text(value: Value) -> Value:
    if type(value) is Const and type(value.value) is str:
        return Py("str")
    return Mapping((), UNKNOWN) if type(value) is Mapping else value


def without_numbers(value: Value) -> Value:
    """``value``, but for the numbers and flags in it just that they are some."""
    return join(*(_without_number(option) for option in options(value)))


def _without_number(value: Value) -> Value:
    if type(value) is Const and type(value.value) in (int, float, bool):
        return Py(type(value.value).__name__)
    return value


def set_of(kind: str, items: Sequence[Value]) -> Seq:
    """A set of ``items``: equal constants count once, and of other values it is not known whether they are equal."""
    if all(isinstance(item, Const) for item in items):
        return Seq(kind, tuple(dict.fromkeys(items)))
    return Seq(kind, tuple(items)) if len(items) == 1 else Seq(kind, None, join(*items))


def keep(value: Value, test: Callable[[Value], bool]) -> Value:
    """``value`` narrowed to the alternatives that pass ``test``; unchanged when none does."""
    kept = [o for o in options(value) if test(o)]
    return join(*kept) if kept else value


def is_tensor(value: Value) -> bool:
    """True when every alternative is tensor data."""
    return type(value) is Tensor or all(type(o) is Tensor for o in options(value))


def is_read(value: Value) -> bool:
    """True when every alternative is a number that was read from tensor data."""
    if type(value) is Either:
        return all(type(o) is Py and o.read for o in value.options)
    return type(value) is Py and value.read


def is_sure_tensor(value: Value) -> bool:
    """True when ``value`` is tensor data and nothing else, and not only by assumption."""
    return isinstance(value, Tensor) and value.sure


def may_be_tensor(value: Value) -> bool:
    """True when some alternative is tensor data."""
    return type(value) is Tensor or (type(value) is Either and any(type(o) is Tensor for o in value.options))


def tensor_of(value: Value) -> Tensor | None:
    """The tensor alternative of ``value``, if any."""
    for option in options(value):
        if isinstance(option, Tensor):
            return option
    return None


def walk(value: Value, depth: int = 3) -> Iterator[Value]:
    """``value`` and what it contains, containers opened to ``depth``."""
    for option in options(value):
        yield option
        if depth <= 0:
            continue
        if isinstance(option, Seq):
            for item in option.items if option.items is not None else (option.element,):
                yield from walk(item, depth - 1)
        elif isinstance(option, Mapping):
            for _, item in option.items:
                yield from walk(item, depth - 1)
            if option.rest is not None:
                yield from walk(option.rest, depth - 1)
        elif isinstance(option, Instance):
            for item in list(option.attrs.values()):
                yield from walk(item, depth - 1)


def holds_tensor(value: Value) -> bool:
    """True when ``value`` is a tensor or a container (or object) that holds one."""
    return any(isinstance(v, Tensor) for v in walk(value))


def assumed(value: Value) -> Value:
    """``value`` with its tensors marked as assumed rather than known."""
    return join(*(replace(o, sure=False) if isinstance(o, Tensor) else o for o in options(value)))
