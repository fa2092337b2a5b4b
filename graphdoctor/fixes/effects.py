"""Whether computing the arguments of a call leaves a trace, so that leaving the call out would lose something.

Asked when a call is left out under compile: ``print(x.mean())`` may go, ``print(next(batches))`` takes an item away.
What a call inside the arguments runs is what the interpreter found it to be; what it does not know counts as a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.namespaces import dotted_name
from graphdoctor.fixes.purity import PURE, called, words
from graphdoctor.source.walk import walk
from graphdoctor.static.events import ArgumentCall
from graphdoctor.static.values import (
    Const,
    External,
    Instance,
    Mapping,
    Method,
    Py,
    Returned,
    Seq,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    options,
)  # fmt: skip

#: Methods of tensors that read what a tensor is or holds, beside the operators.
_READS = words("""
    cpu data_ptr dense_dim device element_size get_device has_names is_coalesced is_conj is_contiguous is_inference
    is_leaf is_meta is_neg is_pinned is_shared is_signed is_sparse item itemsize ndimension nelement numpy qscheme
    storage_offset tolist
""")
#: Names that objects which are no tensors give to methods that change them; modules convert themselves in place.
_AMBIGUOUS = words("add bfloat16 copy cuda cpu div double flip float half log mul roll sub take type")
#: Functions of torch that take ``inplace`` by position, and how many arguments they have in front of it.
_INPLACE = {
    "celu": 2, "elu": 2, "hardsigmoid": 1, "hardswish": 1, "hardtanh": 3, "leaky_relu": 2, "mish": 1, "normalize": 4,
    "relu": 1, "relu6": 1, "rrelu": 4, "selu": 1, "silu": 1, "threshold": 3,
}  # fmt: skip
_TORCH = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.Tensor")
_NUMPY = words("abs all any array asarray max mean median min ndim prod round shape size sqrt std sum var")
#: Functions that read the state of the machine or of torch and change nothing.
READING = words("""
    datetime.date.today datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow datetime.timedelta
    inspect.currentframe inspect.isfunction inspect.signature logging.getLogger os.cpu_count os.getcwd os.getenv
    os.getpid os.getppid os.path.abspath os.path.basename os.path.dirname os.path.exists os.path.getsize os.path.isdir
    os.path.isfile os.path.join threading.current_thread threading.get_ident time.asctime time.clock_gettime time.ctime
    time.gmtime time.localtime time.monotonic time.monotonic_ns time.perf_counter time.perf_counter_ns
    time.process_time time.process_time_ns time.strftime time.thread_time time.time time.time_ns torch.Size
    torch.cuda.current_device torch.cuda.device_count torch.cuda.get_device_name torch.cuda.get_device_properties
    torch.cuda.is_available torch.cuda.max_memory_allocated torch.cuda.max_memory_reserved torch.cuda.memory_allocated
    torch.cuda.memory_reserved torch.device torch.distributed.get_rank torch.distributed.get_world_size
    torch.distributed.is_available torch.distributed.is_initialized torch.finfo torch.get_default_dtype
    torch.get_num_threads torch.iinfo torch.is_autocast_enabled torch.is_grad_enabled torch.is_inference_mode_enabled
    torch.is_tensor torch.numel torch.typename uuid.uuid1 uuid.uuid4
""")
#: Builtins that make a value of their arguments, and those that go through what they are given.
_BUILTINS = words(
    "abs bool callable divmod float format getattr hasattr id int isinstance issubclass len range repr round str type"
)
_GOES_THROUGH = words("all any dict enumerate frozenset list max min reversed set sorted sum tuple zip")
_NUMBERS = words("abs bool divmod float format id int len repr round str")
_CONTAINER = {Mapping: words("copy get items keys values"), Seq: words("copy count index")}
_MODULE = words("buffers children modules named_buffers named_children named_modules named_parameters parameters")
_OF_TIME = words("date isoformat strftime time timestamp timetuple total_seconds weekday")
#: What a sequence may be to be gone through twice.
_LASTING = words("dict frozenset list range set size str tuple")
#: Methods by which an operator, an index or a conversion to text runs code of a class.
_BY_INDEX = ("__getitem__", "__missing__", "defaultdict")
_BY_NAME = ("__getattr__", "__getattribute__")
_BY_TEXT = ("__repr__", "__str__", "__format__", "__int__", "__float__", "__bool__", "__len__", "__index__", "__iter__")
_BY_OPERATOR = re.compile(
    r"\bdef __(r?(add|sub|mul|matmul|truediv|floordiv|mod|pow|and|or|xor|[lr]shift)|neg|pos|invert|eq|ne|lt|le|gt|ge|contains|hash)__"
)
_Known = dict[int, ArgumentCall]
_OPERATORS = (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison)


def trace(code: Sequence[cst.CSTNode], values: Sequence[Value], inner: Sequence[ArgumentCall], editor: Editor) -> str:
    """What in ``code`` may leave a trace when it is evaluated; empty when nothing does.

    ``values`` are those that are shown as text, ``inner`` what is known of the calls.
    """
    if any(_runs_text(value) for value in values) and _defines(_BY_TEXT, editor):
        return ", ".join(editor.code(node.value if isinstance(node, cst.Arg) else node) for node in code)
    known = {id(call.node): call for call in inner}
    return next((editor.code(node) for node in _traces(code, known, editor)), "")


def _traces(code: Sequence[cst.CSTNode], known: _Known, editor: Editor) -> Iterator[cst.CSTNode]:
    for node in (n for part in code for n in walk(part)):
        if isinstance(node, cst.Call):
            call = known.get(id(node))
            is_quiet = _is_quiet(call, editor) if call is not None else _is_plain(node, editor)
            if not is_quiet:
                yield node
        elif isinstance(node, cst.Attribute):
            is_property = not _is_called(node, editor) and editor.defines_function(node.attr.value)
            if is_property or _defines(_BY_NAME, editor):
                yield node
        elif isinstance(node, cst.Subscript):
            if _defines(_BY_INDEX, editor) and not _is_shape(node.value):
                yield node
        elif isinstance(node, _OPERATORS):
            if _BY_OPERATOR.search(editor.module.text):
                yield node
            for part in node.comparisons if isinstance(node, cst.Comparison) else ():
                if isinstance(part.operator, (cst.In, cst.NotIn)) and not _lasts(part.comparator, editor):
                    yield part.comparator
        elif isinstance(node, cst.FormattedStringExpression):
            if _defines(_BY_TEXT, editor) and not _is_shape(node.expression):
                yield node.expression
        elif isinstance(node, (cst.CompFor, cst.StarredElement)) or (isinstance(node, cst.Arg) and node.star == "*"):
            over = node.iter if isinstance(node, cst.CompFor) else node.value
            if not _lasts(over, editor):
                yield over


def _defines(names: tuple[str, ...], editor: Editor) -> bool:
    return any(editor.has_word(name) for name in names)


def _runs_text(value: Value) -> bool:
    return any(isinstance(option, (Instance, Unknown)) for option in options(value))


def _is_called(node: cst.Attribute, editor: Editor) -> bool:
    outer = editor.parent(node)
    return isinstance(outer, cst.Call) and outer.func is node


def _is_shape(node: cst.BaseExpression) -> bool:
    """``x.shape``, ``x.shape[0]``: nothing of a class of the file."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute) and node.attr.value in ("shape", "dtype", "device", "ndim")


def _is_plain(node: cst.Call, editor: Editor) -> bool:
    """A call that is known by its name alone: a clock, ``round(t, 3)``, a method of a text that is written out."""
    func, texts = node.func, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    if isinstance(func, cst.Attribute) and isinstance(func.value, texts):
        return func.attr.value != "join"
    if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call):
        return func.attr.value in _OF_TIME and dotted_name(func.value.func, editor) in READING
    name = dotted_name(func, editor)
    package, _, last = name.rpartition(".")
    if package == "builtins" and (last in _NUMBERS or (last in ("max", "min") and len(node.args) > 1)):
        return not _defines(_BY_TEXT, editor)
    return name in READING or package == "math"


def _lasts(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether going through ``node`` leaves it as it was: a list is there afterwards, an iterator is used up."""
    if isinstance(node, (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.BaseComp, cst.SimpleString, cst.FormattedString)):
        return True
    if isinstance(node, cst.Call):
        return _is_new(node)
    if _is_shape(node):
        return True
    function = editor.function_of(node)
    if not isinstance(node, cst.Name) or function is None:
        return False
    star = [p for p in (function.params.star_arg, function.params.star_kwarg) if isinstance(p, cst.Param)]
    bound = editor.assignments(function, node.value)
    if any(p.name.value == node.value for p in star):
        return not bound
    displays = (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.ListComp, cst.SetComp, cst.DictComp)
    return bool(bound) and all(isinstance(b, cst.Assign) and isinstance(b.value, displays) for b in bound)


def _is_new(node: cst.CSTNode) -> bool:
    """A call that makes what it gives; whether making it leaves a trace is asked of the call itself."""
    return isinstance(node, cst.Call) and called(node) not in ("copy", "get", "getattr", "max", "min")


def _is_quiet(call: ArgumentCall, editor: Editor) -> bool:
    """Whether ``call`` computes a value and does nothing else."""
    options_ = options(call.callee)
    return all(
        _external(option.qualname, call, editor) if isinstance(option, External)
        else isinstance(option, Method) and all(_method(receiver, option.name, call) for receiver in options(option.receiver))
        for option in options_
    )  # fmt: skip


def _external(name: str, call: ArgumentCall, editor: Editor) -> bool:
    package, _, last = name.rpartition(".")
    if name in READING or package == "math":
        return True
    if package == "builtins":
        return _builtin(last, call, editor)
    if package in _TORCH:
        return last in PURE and _keeps_operands(last, call)
    return package == "numpy" and last in _NUMPY and "out" not in call.kwargs


def _builtin(name: str, call: ArgumentCall, editor: Editor) -> bool:
    if name in ("getattr", "hasattr"):
        attribute = call.args[1] if len(call.args) > 1 else None
        known = isinstance(attribute, Const) and isinstance(attribute.value, str)
        return known and not editor.defines_function(attribute.value) and not _defines(_BY_NAME, editor)  # type: ignore[union-attr]
    if any(isinstance(o, Instance) for arg in call.args for o in options(arg)) and name not in (
        "id",
        "isinstance",
        "type",
    ):
        return False
    if name in _BUILTINS:
        return not (_defines(_BY_TEXT, editor) and any(isinstance(o, Unknown) for a in call.args for o in options(a)))
    if name not in _GOES_THROUGH or set(call.kwargs) - {"start", "reverse", "default", "strict"}:
        return False
    if name in ("max", "min") and len(call.args) > 1:
        return True
    written = [arg.value for arg in call.node.args]
    fresh = len(written) == len(call.args) and all(isinstance(w, cst.GeneratorExp) or _is_new(w) for w in written)
    return fresh or all(_is_lasting(arg) for arg in call.args)


def _is_lasting(value: Value) -> bool:
    return all(
        isinstance(o, (Tensor, Mapping, Const)) or (isinstance(o, Seq) and o.kind in _LASTING) for o in options(value)
    )


def _method(receiver: Value, name: str, call: ArgumentCall) -> bool:
    if isinstance(receiver, Tensor):
        is_known = receiver.sure or name not in _AMBIGUOUS
        return is_known and (name in PURE or name in _READS) and _keeps_operands(name, call)
    if isinstance(receiver, (Const, Py)):
        is_text = isinstance(receiver, Py) and receiver.kind == "str"
        if is_text or (isinstance(receiver, Const) and isinstance(receiver.value, str)):
            return name != "join" or all(_is_lasting(arg) or _is_generator(arg) for arg in call.args)
        return receiver == Const(None) or (
            isinstance(receiver, Py) and receiver.kind in ("int", "float", "bool", "size")
        )
    if isinstance(receiver, (Mapping, Seq)):
        return name in _CONTAINER[type(receiver)]
    if isinstance(receiver, (Instance, TorchModule)):
        return name in _MODULE and not call.args
    return isinstance(receiver, Returned) and receiver.qualname.startswith("datetime.") and name in _OF_TIME


def _is_generator(value: Value) -> bool:
    """A generator that is written where it is used: what it goes through is asked by itself."""
    return isinstance(value, Seq) and value.kind == "generator"


def _keeps_operands(name: str, call: ArgumentCall) -> bool:
    """Not with ``out=`` or ``inplace=``, by name or by place."""
    if {"out", "inplace", "**"} & set(call.kwargs):
        return False
    is_method = isinstance(call.callee, Method)
    return name not in _INPLACE or len(call.args) + is_method <= _INPLACE[name]
