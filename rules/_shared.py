"""What several rules share: the parts of messages, and the confidence of findings. Not a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath

import libcst as cst

from graphdoctor.model.consequence import SPLIT, Block, Consequence
from graphdoctor.model.findings import Confidence
from graphdoctor.static.domain.events import Call, Event, Truth
from graphdoctor.static.domain.other_frameworks import is_of_other_framework
from graphdoctor.static.domain.torch_tables import AUTOGRAD_FUNCTION, MODULE_BASE_NAMES
from graphdoctor.static.domain.value_functions import may_be_tensor, options
from graphdoctor.static.domain.values import ExternalObject, Instance, Tensor, Unknown, Value
from graphdoctor.static.usage.events import (
    MISSING,
    Operation,
    Store,
    Timed,
    TrackedObject,
    Use,
    backend,
    dotted,
)
from graphdoctor.syntax.walk import find, walk
from graphdoctor.target_torch.compile_names import is_known


def code(event: Event, node: cst.CSTNode | None = None, limit: int = 60) -> str:
    """The source of ``node`` (by default the event's) on one line, cut to ``limit`` characters, in backticks."""
    text = " ".join(event.site.module.code(node if node is not None else event.node).split())
    return f"`{text}`" if len(text) <= limit else f"`{text[: limit - 3]}...`"


def consequence(event: Event) -> Consequence:
    """What a break at ``event`` costs."""
    block = event.site.whole_frame
    if block is None:
        return SPLIT
    if block.path == event.site.module.path:
        return Consequence("whole", block.function, Block(block.keyword, block.line))
    # A line of another file would be taken for one of this.
    return Consequence("whole", block.function, Block(block.keyword, file=PurePath(block.path).name))


def leaves_function(event: Event) -> Consequence:
    """What a break at ``event`` costs where nothing of its function is compiled."""
    return Consequence("whole", event.site.function)


def certainty(event: Event, value: Value | None = None) -> Confidence:
    """``certain`` when the line is reached by every trace and ``value`` is known to be tensor data, else ``likely``."""
    known = value is None or all(isinstance(o, Tensor) and o.is_known for o in options(value))
    return "certain" if known and not event.site.conditional else "likely"


#: Functions and methods that tell of what should not be.
WARN = frozenset(
    {"warn", "warning", "warning_once", "warn_explicit", "rank_zero_warn", "error", "exception", "critical"}
)


def certainty_of_message(event: Call) -> Confidence:
    """As ``certainty``, but no declared inputs show that a warning or error behind a test is told: it says what should
    not be.
    """
    may_be_told = event.site.has_sample or not event.site.conditional
    return certainty(event) if may_be_told or event.qualname.rpartition(".")[2] not in WARN else "possible"


def takes_tensor(event: Call, operand: Value) -> bool:
    """Whether ``operand``, which a call computes with, may be a tensor. Functions of torch are given nothing else."""
    is_open = event.receiver is None and isinstance(operand, (Unknown, ExternalObject))
    return is_open or may_be_tensor(operand)


def asks_mode(test: cst.BaseExpression) -> bool:
    """True for ``self.training and ...``, ``not self.training or ...`` and their opposites: one mode asks the rest."""
    if not isinstance(test, cst.BooleanOperation):
        return False
    operand: cst.BaseExpression = test.left
    if isinstance(operand, cst.UnaryOperation) and isinstance(operand.operator, cst.Not):
        operand = operand.expression
    return isinstance(operand, cst.Attribute) and operand.attr.value == "training"


def asks_for_elements(test: cst.BaseExpression) -> bool:
    """True for ``len(x) > 1 and ...``, ``x.numel() > 0 and ...``, ``i < len(x) and ...``: most inputs have elements."""
    if not isinstance(test, cst.BooleanOperation) or not isinstance(test.operator, cst.And):
        return False
    compared = test.left
    if not isinstance(compared, cst.Comparison) or len(compared.comparisons) != 1:
        return False
    operator, other = compared.comparisons[0].operator, compared.comparisons[0].comparator
    if isinstance(operator, (cst.LessThan, cst.LessThanEqual)):
        return _counts_elements(other) and isinstance(compared.left, (cst.Name, cst.Integer))
    few = isinstance(other, cst.Integer) and other.evaluated_value <= 1
    return few and isinstance(operator, (cst.GreaterThan, cst.NotEqual)) and _counts_elements(compared.left)


def _counts_elements(node: cst.BaseExpression) -> bool:
    if not isinstance(node, cst.Call):
        return False
    if isinstance(node.func, cst.Attribute):
        return node.func.attr.value == "numel"
    return isinstance(node.func, cst.Name) and node.func.value == "len"


def in_assert(event: Event) -> bool:
    """True when the statement of ``event`` is an ``assert``."""
    statement = event.site.statement
    return isinstance(statement, cst.SimpleStatementLine) and any(isinstance(s, cst.Assert) for s in statement.body)


def only_raises(event: Truth) -> bool:
    """True when ``event`` is the condition of an ``if`` without ``else`` whose body ends in ``raise``."""
    branch = event.branch
    if not isinstance(branch, cst.If):
        branch = event.site.statement
    if not isinstance(branch, cst.If) or event.context not in ("if", "and", "or", "not") or branch.orelse is not None:
        return False
    last = branch.body.body[-1] if branch.body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise)


def stays_eager(event: Event) -> bool:
    """Whether a forward pass of which nothing shows that it is compiled is one that is not meant to be.

    A test shows how its classes are used; a forward pass that gives back what it gets, or nothing, only looks at
    it, such as that of an observer.
    """
    if not event.site.assumed:
        return False
    module = event.site.module
    if module.file.stem.startswith("test_") and "compile" not in module.text:
        return True
    function = function_named(event)
    return function is not None and _only_looks(function)


# Of a few functions, of which many events come one after the other.
@lru_cache(maxsize=8)
def _only_looks(function: cst.FunctionDef) -> bool:
    """Whether ``function`` gives back what it gets, or nothing."""
    returned = [node.value for node in find(function.body, cst.Return) if node.value is not None]
    names = {value.value for value in returned if isinstance(value, cst.Name)}
    parameters = {param.name.value for param in (*function.params.posonly_params, *function.params.params)}
    if not all(isinstance(value, cst.Name) for value in returned) or not names <= parameters:
        return False
    assigned = (node.target for node in find(function.body, cst.AssignTarget))
    bound = [*assigned, *(node.target for node in find(function.body, cst.AugAssign))]
    return names.isdisjoint(name.value for target in bound for name in find(target, cst.Name))


def function_named(event: Event) -> cst.FunctionDef | None:
    """The function that ``event`` is in, by its qualified name."""
    return event.site.module.function(event.site.function)


def is_autograd_context(value: Value) -> bool:
    """Whether ``value`` is the ``ctx`` in which an ``autograd.Function`` keeps things for its backward."""
    return isinstance(value, Instance) and value.info.derives(*AUTOGRAD_FUNCTION)


def is_handled(event: Event) -> bool:
    """Whether the function, or the top level, handles what fails at ``event``: it stands in a ``try`` with handlers."""
    function = function_named(event)
    around = find(function.body if function is not None else event.site.module.tree, cst.Try)
    return any(each.handlers and any(node is event.node for node in walk(each.body)) for each in around)


def is_module(tracked: TrackedObject) -> bool:
    """Whether an object is surely a module: of a class of the scanned code, or a layer of torch."""
    if tracked.made_of is None:
        return tracked.made_by.startswith("torch.nn.")
    return any(
        root.startswith("torch.nn.") or (root.endswith(MODULE_BASE_NAMES) and not is_of_other_framework(root))
        for root in tracked.made_of.roots
    )


#: The program names the prefix, other than in a comment: it may take it away.
_NAMES_PREFIX = re.compile(r"^[^#\n]*_orig_mod", re.MULTILINE)


def deals_with_prefix(event: Use | Store) -> bool:
    """Whether a program deals with the ``_orig_mod.`` that ``torch.compile`` puts before the keys of a state dict."""
    own = event.site.module.text
    return _NAMES_PREFIX.search(own) is not None or any(map(_NAMES_PREFIX.search, event.related()))


def is_of_torch(module: TrackedObject | None) -> bool:
    """Whether a module is known to be a layer of torch, or a container of such layers alone."""
    made: Operation | None = module.maker if module is not None else None
    if made is None or not made.name.startswith("torch.nn.") or made.name.count(".") != 2 or "*" in made.kwargs:
        return False
    if made.name == "torch.nn.Sequential":
        return bool(made.args) and all(map(is_of_torch, made.args))
    if made.name in ("torch.nn.TransformerEncoder", "torch.nn.TransformerDecoder"):
        return is_of_torch(made.argument(0, "encoder_layer", "decoder_layer"))
    return made.name not in ("torch.nn.Module", "torch.nn.DataParallel", "torch.nn.Transformer")


#: Backends of torch itself: another one may not be installed, which raises at once.
OWN_BACKENDS = ("inductor", "eager", "aot_eager", "cudagraphs")

#: Arguments of a `compile` that is torch's, in place.
_OF_TORCH = frozenset(("backend", "dynamic", "fullgraph"))


def is_compilation(step: Operation) -> bool:
    """Whether a step compiles a model, with a backend and a mode that torch has or that are not spelled out."""
    in_place = step.name == ".compile" and not step.followed and not _OF_TORCH.isdisjoint(step.kwargs)
    wraps = step.name == "torch.compile" and step.argument(0, "model") is not None
    mode = step.option("mode")
    known = backend(step) in (*OWN_BACKENDS, MISSING) and (not isinstance(mode, str) or is_known("modes", mode))
    return (in_place or wraps) and known and step.option("disable") is not True


#: Modes that use CUDA graphs.
RECORDING = ("reduce-overhead", "max-autotune")


def records_cuda_graphs(step: Operation) -> bool:
    """Whether a compiling step asks for CUDA graphs where it is spelled out."""
    if backend(step) != "inductor":
        return bool(backend(step) == "cudagraphs")
    options = step.kwargs.get("options")
    entries = options.entries if options is not None else ()
    return step.option("mode") in RECORDING or any(
        key.value == "triton.cudagraphs" and value.value is True for key, value in entries
    )


def device_of(tracked: TrackedObject) -> str:
    """The device that an object was moved to last, where it is spelled out; "" where it is not, or was not moved."""
    step = next((s for s in reversed(tracked.steps) if s.name in (".cuda", ".cpu") or _device(s) is not None), None)
    if step is None or step.name != ".to":
        return step.name[1:] if step is not None else ""
    device = _device(step)
    if device is not None and device.maker is not None and device.made_by == "torch.device":
        device = device.maker.argument(0)
    return device.value.partition(":")[0] if device is not None and isinstance(device.value, str) else ""


def _device(step: Operation) -> TrackedObject | None:
    return step.argument(0, "device") if step.name == ".to" else None


#: What neither calls a model nor hands it to what does.
_CALLS_NO_MODEL = re.compile(
    r"print|torch\.compile|(log|logger|logging|warn|warnings|time|platform|sys|os|re|torch\._dynamo|torch\.cuda)\..*"
    r"|torch\.(set_.*|backends\..*|device|manual_seed)"
    r"|str|int|float|repr|len|getattr|hasattr|setattr|isinstance|type|dict|bool|callable"
    r"|\.(debug|info|warning|error|log|append|get|to|eval|train|cuda|format|lower|startswith|pop|update|copy)"
    r"|(.*[._])?(log|print|log_(debug|info|warning|error)|print_(once|rank|master|main)\w*|print_?0|rank_zero_\w+)"
    r"|(.*\.)?(get_\w*rank|is_main_process)"
)


def call_no_model(steps: Iterable[Operation]) -> bool:
    """Whether none of some steps calls a model, or hands it to a function that may and was not followed."""
    return all(each.followed or is_compilation(each) or _CALLS_NO_MODEL.fullmatch(each.name) for each in steps)


def assigned(event: Timed) -> str:
    """The name that a time is assigned to; "" where it is not."""
    statement = event.site.statement
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    taken = (part for part in parts if isinstance(part, cst.Assign) and event.node in list(walk(part.value)))
    return next((dotted(part.targets[0].target) for part in taken), "")


def speaks_of(event: Timed, text: str) -> str:
    """The statement that takes a time, and the lines of ``text`` that name what it is assigned to, in lower case.

    What is printed says what was measured.
    """
    lines, name = [event.site.module.code(event.site.statement)], assigned(event)
    if name:
        lines += re.findall(rf"^.*\b{re.escape(name)}\b.*$", text, re.MULTILINE)
    return "\n".join(lines).lower()
