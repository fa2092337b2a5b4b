"""What helps against a recompile, by the guard that failed. A trace cannot try it out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from graphdoctor.breaks.grouping import resumed
from graphdoctor.breaks.number_uses import (
    counts_loop,
    is_beside_indices,
    loop_over_dimension,
    loops_over_size,
    names_dimension,
)
from graphdoctor.breaks.recompiles import guards
from graphdoctor.breaks.recompiles.guard_kinds import is_of_holding, is_of_keys, spoken
from graphdoctor.breaks.recompiles.guarded_names import is_from_outside, is_in_plain_class, is_set_by_constructor
from graphdoctor.trace.left_by_breaks import BreaksAbove
from graphdoctor.trace.process import Code

#: What helps, by kind of guard, where nothing more is known.
_ADVICE = {
    "size": "torch.compile(dynamic=True), or torch._dynamo.mark_dynamic on the dimension that varies",
    "stride": "call .contiguous() before the compiled function, or .clone() on a part of another tensor",
    "rank": "pass tensors of one rank; one compilation for each rank is the least otherwise",
    "requires_grad": "pass tensors that agree in requires_grad (detach those whose gradient is not needed); "
    "where both are meant, one compilation for each is the least",
    "dtype": "pass tensors of one dtype",
    "length": "keep the length the same in each call (a list of tensors: torch.stack makes one tensor of it)",
    "type": "pass values of one type; one compilation for each type is the least otherwise",
    "presence": "pass a neutral tensor in place of None, or accept one compilation for each of the two",
    "attribute": "keep the number in a tensor buffer, or, for an int of a module, set "
    "torch._dynamo.config.allow_unspec_int_on_nn_module",
    "global": "keep the number in a tensor, or pass it as an argument",
    "value": "pass the number as a tensor; where it comes from .item(), stay with tensor operations",
    "state": "one compilation for each is the least, as for training and for evaluation under no_grad; else keep "
    "grad mode, autocast and default dtype as they are",
}
_LEFT_BY_BREAK = "remove the graph break that left it: without the break there is no such guard"
_ATTRIBUTE_OF_ARGUMENT = (
    "keep the number in a tensor: one that is an attribute of a module is compiled again for each value"
)
_ONCE_OF_ARGUMENT = (
    "keep the number in a tensor if it is an attribute of a module, which is compiled again for each value; one of a "
    "plain object is dynamic from its second value on"
)
_BESIDE_INDICES = (
    "a number beside other indices is compiled again for each value, and so is a 0-d tensor: write a slice, `i:i + 1`, "
    "or `.select(dim, i)`, or pass a tensor with one element"
)
_COUNTS_LOOP = (
    "the loop is unrolled, so each count is compiled by itself, and a tensor would break the graph: compile the body "
    "in place of the loop"
)
_NEEDED = (
    "one compilation for each value is the least: the code needs it as a number, and a tensor would break the graph; "
    "pass few values, or compute what needs it before the call"
)
_DIMENSION = "one compilation for each value is the least: it names a dimension, which no tensor can"
_MATH = (
    "the module math needs it as a number, so each value is compiled by itself: pass a tensor, and compute with torch "
    "in place of math (`torch.log`)"
)
_DEFAULT = (
    "it is the default of a function that is made anew for each call: pass the number as an argument, or let the "
    "function read a variable of what is around it"
)
_KEYS = "pass the same keys in each call (a zero for what is left out); one compilation for each set is the least"
_DECIDES = "one compilation for each value is the least: the code decides by it"
_LET_NOT_GROW = "let nothing grow in compiled code: return the value, and append it in the calling code"
_ONE_SIZE = (
    "torch.compile(dynamic=True) where dynamic=False is set; where it is not, the code holds for one size at a time, "
    "as a weight does: pad to a few sizes, or compile what calls the layers in place of each layer, or, from torch "
    "2.13 on, keep the layers apart with isolate_recompiles=True"
)
_SECOND_SIZE = "by default it is dynamic from its second size on"
_OF_WEIGHT = (
    "modules of several sizes share this code and its limit: pass isolate_recompiles=True to torch.compile (torch "
    "2.13), or compile what calls the layers in place of each layer; between models that come one after the other, "
    "call torch.compiler.reset()"
)
#: Modules around which a wrapper reaches its limit although each is compiled a few times.
_MANY = 4
_SHARED_WRAPPER = (
    "what torch.compile makes of modules of torch and of decorated functions shares one wrapper and its limit: compile "
    "in place, `module.compile()`, or pass isolate_recompiles=True (torch 2.13)"
)
_SAME_OBJECT = "pass the same object each time; one compilation for each object is the least"
_FROZEN = "set it before the first call; where it changes in training, one compilation for each is the least"
_UNROLLED = (
    "a loop over this size is unrolled, so each size is compiled by itself: compile the body in place of the loop, "
    "or pad to a few sizes"
)
_ASKED_FOR = (
    "the size is dynamic already, and the code decides by it: one compilation for each answer is the least; "
    "where there are many, pad to a few sizes"
)
#: A size that Dynamo keeps symbolic, in a relation that the present size does not satisfy.
_SYMBOLIC = re.compile(r"\S+\.size\(\)\[\d+\]")
#: Kinds of guards on the tensors that a function is called with.
_OF_TENSORS = ("size", "stride", "rank", "requires_grad", "dtype")
#: A guard on the learning rate of a compiled optimizer.
_LEARNING_RATE = re.compile(r"\.param_groups\[\d+\]\['lr'\]")
#: A guard on what a compiled optimizer keeps of a parameter, such as a momentum.
_OF_OPTIMIZER = re.compile(r"\bself\.state\[list\(dict\.keys\(self\.state\)\)\[\d+\]\]")
#: The same where the wrapper that torch puts around each ``step`` is compiled.
_OF_STEP = re.compile(r"(?:args\[0\]|self)\.state\b")
_FIRST_STEP = "the optimizer makes its state in its first step: one compilation more, and no further"
#: A guard on a text: ``pattern == 'b n -> n b'``.
_TEXT = re.compile(r""" == ['"]""")
_BOOL = re.compile(r" == (True|False)$")
_NUMBER = re.compile(r" == -?\d[\d.e+-]*$")
#: So Dynamo writes a guard on the length of a dict, and with ``==`` one on that of a list.
_OF_DICT = re.compile(r"len\(.+\) != \d+$")
#: A guard on the default of a parameter, and on what an enclosing function or ``functools.partial`` holds.
_OF_DEFAULT = re.compile(r"\.__(?:kw)?defaults__\[")
_OF_CLOSURE = re.compile(r"\.__closure__\[\d+\]\.cell_contents$|\.keywords\['\w+'\]$")
_OF_MATH = re.compile(r"\bmath\.\w+\(")
#: What torch adds where the guarded tensor is a parameter, whose sizes are constants.
_ON_PARAMETER = "Guard failed on a parameter"
#: The attributes of a module in a guard: ``self.dp.p``, also where a number is computed of it.
_ATTRIBUTE = re.compile(r"\bself(?:\.\w+|\[\d+\])*\.(\w+)")
_FLOAT = re.compile(r" == -?\d+(\.|e)[\d.e+-]*\s*(#|\(|$)")


@dataclass(frozen=True)
class Cause:
    """Why ``code`` was compiled again: ``guard`` failed, and made that many compilations (``caused``).

    ``above`` are the graph breaks of the process. ``at_limit`` says that Dynamo gave up, ``one_size`` that each
    compilation holds for one size. ``needing`` is the guard of a compilation that made a constant of the same number
    again, ``wrapped`` how many functions and modules share the code, where it is a wrapper.
    """

    guard: guards.Guard
    code: Code
    above: BreaksAbove
    caused: int
    at_limit: bool
    one_size: bool
    needing: guards.Guard | None = None
    wrapped: int = 0

    @property
    def differs_by_layer(self) -> bool:
        """Whether the guard is on attributes that only the constructors of the user's modules set."""
        names = _ATTRIBUTE.findall(self.guard.name or "") if self.guard.kind in ("attribute", "value") else ()
        return bool(names) and all(is_set_by_constructor(self.above.text(self.code.path), name) for name in names)

    @property
    def is_number(self) -> bool:
        """Whether the guard holds for one number."""
        return _NUMBER.search(self.guard.text) is not None

    @property
    def becomes_dynamic(self) -> bool:
        """Whether the number changed once, after which Dynamo takes it for any number."""
        compilations = self.above.process.costs[self.code].compilations
        return self.is_number and not self.at_limit and (self.caused == 1 or compilations == 2)


def advice(cause: Cause) -> str | None:
    """What to do about it; None where nothing is known to help."""
    guard = cause.guard
    if cause.at_limit and cause.wrapped >= _MANY:
        return _SHARED_WRAPPER
    place = cause.above.of(cause.code) if _is_set_by_caller(cause) else None
    if place is not None:
        return guards.remove_break(place)
    if guard.kind in ("identity", "lifetime") and guards.is_left_by_break(guard.text):
        return _LEFT_BY_BREAK
    if guards.is_of_zero_or_one(guard):
        return guards.AVOID_ZERO_AND_ONE
    if guard.kind == "size" and _ON_PARAMETER in guard.text:
        return _OF_WEIGHT
    if cause.one_size:
        if loops_over_size(cause.above.text(cause.code.path), cause.code.line):
            return _UNROLLED
        place = _unrolled_at(cause)
        return f"{_UNROLLED} (the loop is at {place})" if place else _ONE_SIZE
    if cause.is_number and (number := _of_use(cause)):
        return number
    if is_of_holding(guard.text) or (guard.kind == "presence" and guard.is_kept):
        return guards.SET_BEFORE
    if guard.kind == "requires_grad" and _ON_PARAMETER in guard.text:
        return _FROZEN
    special = _BY_KIND.get(guard.kind)
    return (special(cause) if special is not None else None) or _ADVICE.get(guard.kind)


def _unrolled_at(cause: Cause) -> str:
    """A loop over a size of the same dimension, in a function of the user's that was traced with the compiled one."""
    dimension, places = cause.guard.dimension, cause.above.places
    for path, lines in sorted((cause.above.process.traced or {}).items()):
        own = dimension is not None and places.kind(path) == "own"
        line = loop_over_dimension(cause.above.text(path), lines, dimension or 0) if own else None
        if line is not None:
            return f"{places.show(path)}:{line}"
    return ""


def _is_set_by_caller(cause: Cause) -> bool:
    """Whether the guard is on what comes with the call: code that is traced into a graph has no such guard."""
    kind = cause.guard.kind
    # What goes on after a break gets sizes and numbers of before as its arguments.
    is_passed_on = kind == "value" and cause.is_number and resumed(cause.code.name) != cause.code.name
    return kind in (*_OF_TENSORS, "identity") or is_passed_on or cause.differs_by_layer


def _of_use(cause: Cause) -> str | None:
    """Where the number is used as what no tensor can be, so far as the line of the guard shows it."""
    guard = cause.needing or cause.guard
    name = spoken(guard.name or "")
    if is_beside_indices(guard.code, name):
        return _BESIDE_INDICES
    if counts_loop(guard.code, name):
        return _COUNTS_LOOP
    if names_dimension(guard.code, name):
        return _DIMENSION
    if cause.needing is None:
        return None
    return _MATH if _OF_MATH.search(guard.code) else _NEEDED


def _of_attribute(cause: Cause) -> str | None:
    guard = cause.guard
    if guard.decides and cause.is_number:
        return guards.SET_ONCE
    if _LEARNING_RATE.search(guard.text):
        return "give the optimizer its learning rate as a tensor: `lr=torch.tensor(...)`"
    if _FLOAT.search(guard.text):
        # The setting is about ints.
        return "keep the number in a tensor buffer"
    if _decides(guard):
        return _DECIDES
    if (guard.name or "").startswith("self.") and is_in_plain_class(cause.above.text(cause.code.path), cause.code.line):
        return guards.BECOMES_DYNAMIC if cause.becomes_dynamic else "keep the number in a tensor"
    return None


def _of_global(cause: Cause) -> str | None:
    return _DECIDES if _decides(cause.guard) else None


def _of_value(cause: Cause) -> str | None:
    guard = cause.guard
    if _decides(guard) or guard.name == guard.text or (guard.decides and not cause.becomes_dynamic):
        return _DECIDES
    if _OF_DEFAULT.search(guard.name or "") and cause.is_number:
        return _DEFAULT
    if "." in (guard.name or "") and cause.is_number and not _OF_CLOSURE.search(guard.name or ""):
        return _ONCE_OF_ARGUMENT if cause.becomes_dynamic else _ATTRIBUTE_OF_ARGUMENT
    return guards.BECOMES_DYNAMIC if cause.becomes_dynamic else None


def _of_length(cause: Cause) -> str | None:
    """Where the container is there from call to call, and no argument."""
    name = cause.guard.name or ""
    is_step = cause.code.path.replace("\\", "/").endswith("torch/optim/optimizer.py")
    if cause.caused < 2 and (_OF_OPTIMIZER.search(name) or (is_step and _OF_STEP.match(name))):
        return _FIRST_STEP
    if is_of_keys(cause.guard.text):
        return _KEYS
    is_kept = name.startswith(("G[", "self.")) or is_from_outside(
        cause.above.text(cause.code.path), cause.code.line, name
    )
    if not is_kept:
        return _KEYS if _OF_DICT.match(cause.guard.text) else None
    return guards.FILL_BEFORE if cause.caused < 2 else _LET_NOT_GROW


def _decides(guard: guards.Guard) -> bool:
    """Whether the guard is on a text or a flag."""
    return _TEXT.search(guard.text) is not None or _BOOL.search(guard.text) is not None


def _of_size(cause: Cause) -> str | None:
    """Where the size was symbolic. Two that had to be equal may have been taken for one, which marking them ends."""
    sizes = set(_SYMBOLIC.findall(cause.guard.text))
    if sizes and (len(sizes) == 1 or " == " not in cause.guard.text):
        return _ASKED_FOR
    return f"{_ADVICE['size']}; {_SECOND_SIZE}" if cause.caused < 2 and not cause.at_limit else None


def _of_identity(cause: Cause) -> str | None:
    return _SAME_OBJECT if cause.guard.text.startswith("___check_obj_id(") else None


_BY_KIND: dict[str, Callable[[Cause], str | None]] = {
    "attribute": _of_attribute,
    "global": _of_global,
    "value": _of_value,
    "length": _of_length,
    "size": _of_size,
    "identity": _of_identity,
}
