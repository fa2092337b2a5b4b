"""What is known of a call by what it calls: that it computes a value, or reads the machine, and does nothing else."""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import PURE, called, words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import ArgumentCall
from graphdoctor.static.domain.value_functions import options, walk
from graphdoctor.static.domain.values import (
    Const,
    External,
    ExternalObject,
    Instance,
    Mapping,
    Method,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)

#: Methods of tensors that read what a tensor is or holds, beside the operators.
_READS = words("""
    cpu data_ptr dense_dim device element_size get_device has_names is_coalesced is_conj is_contiguous is_inference
    is_leaf is_meta is_neg is_pinned is_shared is_signed is_sparse item itemsize ndimension nelement numpy qscheme
    storage_offset tolist
""")
#: Operators that only compute. They are not in ``PURE``, of which both sides may be computed: data decides their size.
_FINDS = words("argwhere masked_select nonzero unique unique_consecutive")
#: Names that objects which are no tensors give to methods that change them; modules convert themselves in place.
_AMBIGUOUS = words("add bfloat16 copy cuda cpu div double flip float half log mul roll sub take type")
#: Functions of torch that take ``inplace`` by position, and how many arguments they have in front of it.
_INPLACE = {
    "celu": 2, "elu": 2, "hardsigmoid": 1, "hardswish": 1, "hardtanh": 3, "leaky_relu": 2, "mish": 1, "normalize": 4,
    "relu": 1, "relu6": 1, "rrelu": 4, "selu": 1, "silu": 1, "threshold": 3,
}  # fmt: skip
_TORCH = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.Tensor")
_NUMPY = words(
    "abs all any array asarray isfinite isinf isnan max mean median min ndim prod round shape size sqrt std sum var"
)
#: Functions that read the state of the machine or of torch and change nothing.
READING = words("""
    datetime.date.today datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow datetime.timedelta
    inspect.currentframe inspect.isfunction inspect.signature logging.getLogger os.cpu_count os.environ.get os.getcwd
    os.getenv os.getpid os.getppid os.path.abspath os.path.basename os.path.dirname os.path.exists os.path.getsize
    os.path.isdir os.path.isfile os.path.join threading.current_thread threading.get_ident time.asctime
    time.clock_gettime time.ctime time.gmtime time.localtime time.monotonic time.monotonic_ns time.perf_counter
    time.perf_counter_ns
    time.process_time time.process_time_ns time.strftime time.thread_time time.time time.time_ns torch.Size
    torch.cuda.current_device torch.cuda.device_count torch.cuda.get_device_name torch.cuda.get_device_properties
    torch.cuda.is_available torch.cuda.max_memory_allocated torch.cuda.max_memory_reserved torch.cuda.memory_allocated
    torch.cuda.memory_reserved torch.device torch.distributed.get_rank torch.distributed.get_world_size
    torch.distributed.is_available torch.distributed.is_initialized torch.finfo torch.get_default_dtype
    torch.get_num_threads torch.iinfo torch.is_autocast_enabled torch.is_grad_enabled torch.is_inference_mode_enabled
    torch.is_tensor torch.numel torch.typename uuid.uuid1 uuid.uuid4
""")
#: Methods that ask a logger about itself.
_ASKS_LOGGER = re.compile(
    r"([\w.]*\.)?logging\.(getLogger|get_logger|Logger)\.(isEnabledFor|getEffectiveLevel|hasHandlers)"
)
#: Builtins that make a value of their arguments, and those that go through what they are given.
_BUILTINS = words(
    "abs bool callable divmod float format getattr hasattr id int isinstance issubclass len range repr round str type"
)
_GOES_THROUGH = words("all any dict enumerate frozenset list max min reversed set sorted sum tuple zip")
_NUMBERS = words("abs bool divmod float format id int len repr round str")
_CONTAINER = {Mapping: words("copy get items keys values"), Seq: words("copy count index")}
_MODULE = words("buffers children modules named_buffers named_children named_modules named_parameters parameters")
_OF_TIME = words("date isoformat strftime time timestamp timetuple total_seconds weekday")
#: The kinds of sequences that can be iterated twice.
_LASTING = words("dict frozenset list range set size str tuple")
#: Methods by which a conversion runs code of a class, and by which reading any attribute does.
_BY_CONVERSION = tuple(
    f"__{name}__"
    for name in words("""
        abs add bool complex contains divmod eq float floor ceil ge gt hash index int invert iter le len lt ne neg next
        radd reversed round trunc
    """)
)
BY_TEXT = ("__repr__", "__str__", "__format__")
BY_NAME = ("__getattr__", "__getattribute__")


def is_quiet(call: ArgumentCall, editor: Editor) -> bool:
    """Whether ``call`` computes a value and does nothing else."""
    return all(_computes(option, call, editor) for option in options(call.callee))


def _computes(callee: Value, call: ArgumentCall, editor: Editor) -> bool:
    if isinstance(callee, External):
        return _external(callee.qualname, call, editor)
    if not isinstance(callee, Method):
        return False
    return all(_method(receiver, callee.name, call, editor) for receiver in options(callee.receiver))


def is_plain(node: cst.Call, editor: Editor) -> bool:
    """A call that is known by its name alone: a clock, ``round(t, 3)``, a method of a text that is written out."""
    func, texts = node.func, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    if isinstance(func, cst.Attribute) and isinstance(func.value, texts):
        return func.attr.value != "join"
    if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call):
        return func.attr.value in _OF_TIME and dotted_name(func.value.func, editor) in READING
    name = dotted_name(func, editor)
    package, _, last = name.rpartition(".")
    if package == "builtins" and (last in _NUMBERS or (last in ("max", "min") and len(node.args) > 1)):
        return not defines((*BY_TEXT, *_BY_CONVERSION), editor)
    return name in READING or package == "math" or bool(_ASKS_LOGGER.fullmatch(name))


def _external(name: str, call: ArgumentCall, editor: Editor) -> bool:
    package, _, last = name.rpartition(".")
    if name in READING or package == "math" or _ASKS_LOGGER.fullmatch(name):
        return True
    if package == "builtins":
        return _builtin(last, call, editor)
    if package in _TORCH:
        return (last in PURE or last in _FINDS) and _keeps_operands(last, call)
    return package == "numpy" and last in _NUMPY and "out" not in call.kwargs


def _builtin(name: str, call: ArgumentCall, editor: Editor) -> bool:
    if name in ("getattr", "hasattr"):
        attribute = call.args[1] if len(call.args) > 1 else None
        if not isinstance(attribute, Const) or not isinstance(attribute.value, str):
            return False
        return not editor.defines_function(attribute.value) and not defines(BY_NAME, editor)
    if name in ("id", "isinstance", "type"):
        return True
    if any(runs_code(arg, (*BY_TEXT, *_BY_CONVERSION), editor) for arg in call.args):
        return False
    if name in _BUILTINS:
        return True
    if name not in _GOES_THROUGH or set(call.kwargs) - {"start", "reverse", "default", "strict"}:
        return False
    if name in ("max", "min") and len(call.args) > 1:
        return True
    written = [arg.value for arg in call.node.args]
    fresh = len(written) == len(call.args) and all(isinstance(w, cst.GeneratorExp) or is_new(w) for w in written)
    return fresh or all(_is_lasting(arg) for arg in call.args)


def _method(receiver: Value, name: str, call: ArgumentCall, editor: Editor) -> bool:
    if isinstance(receiver, Tensor):
        is_known = receiver.is_known or name not in _AMBIGUOUS
        return is_known and (name in PURE or name in _READS or name in _FINDS) and _keeps_operands(name, call)
    if isinstance(receiver, (Const, PythonValue)):
        is_text = isinstance(receiver, PythonValue) and receiver.kind == "str"
        if is_text or (isinstance(receiver, Const) and isinstance(receiver.value, str)):
            return name != "join" or all(_is_lasting(arg) or _is_generator(arg) for arg in call.args)
        return receiver == Const(None) or (
            isinstance(receiver, PythonValue) and receiver.kind in ("int", "float", "bool", "size")
        )
    if isinstance(receiver, (Mapping, Seq)):
        compared = any(runs_code(v, _BY_CONVERSION, editor) for v in (receiver, *call.args))
        return name in _CONTAINER[type(receiver)] and (not compared or name in ("copy", "items", "keys", "values"))
    if isinstance(receiver, (Instance, TorchModule)):
        return name in _MODULE and not call.args
    if isinstance(receiver, ExternalObject) and _ASKS_LOGGER.fullmatch(f"{receiver.qualname}.{name}"):
        return True
    return isinstance(receiver, ExternalObject) and receiver.qualname.startswith("datetime.") and name in _OF_TIME


def _keeps_operands(name: str, call: ArgumentCall) -> bool:
    """Not with ``out=`` or ``inplace=``, by name or by place."""
    if {"out", "inplace", "**"} & set(call.kwargs):
        return False
    is_method = isinstance(call.callee, Method)
    return name not in _INPLACE or len(call.args) + is_method <= _INPLACE[name]


def _is_lasting(value: Value) -> bool:
    return all(
        isinstance(o, (Tensor, Mapping, Const)) or (isinstance(o, Seq) and o.kind in _LASTING) for o in options(value)
    )


def _is_generator(value: Value) -> bool:
    """A generator that is written where it is used: what it iterates is checked by itself."""
    return isinstance(value, Seq) and value.kind == "generator"


def is_new(node: cst.CSTNode) -> bool:
    """A call that returns a new object; whether making it leaves a trace is checked for the call itself."""
    return isinstance(node, cst.Call) and called(node) not in ("copy", "get", "getattr", "max", "min")


def runs_code(value: Value, names: tuple[str, ...], editor: Editor) -> bool:
    """Whether one of the special methods ``names`` of a class may run for ``value``, or for what it holds."""
    for option in walk(value):
        if isinstance(option, Instance) and any(option.info.lookup(name) is not None for name in names):
            return True
        if isinstance(option, Unknown) and defines(names, editor):
            return True
    return False


def defines(names: tuple[str, ...], editor: Editor) -> bool:
    """Whether any of ``names`` occurs in the file."""
    return any(editor.has_word(name) for name in names)
