"""The recompiles of a process: each cause once, with the function that was compiled again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from graphdoctor.breaks import guards
from graphdoctor.breaks.grouping import resumed
from graphdoctor.breaks.guard_kinds import is_of_holding
from graphdoctor.breaks.guarded_names import is_from_outside, is_in_plain_class, is_set_by_constructor
from graphdoctor.breaks.locations import Places
from graphdoctor.model.runs import Recompile
from graphdoctor.trace.compiled_calls import CompiledCalls, Function
from graphdoctor.trace.left_by_breaks import BreaksAbove
from graphdoctor.trace.process import Code, Process, Recompiled

#: Guards whose name is no argument of the function.
_NO_INPUT = ("attribute", "mode", "global", "state", "identity", "lifetime")

#: What helps, by kind of guard. A trace cannot try it out.
_ADVICE = {
    "size": "torch.compile(dynamic=True), or torch._dynamo.mark_dynamic on the dimension that varies",
    "stride": "call .contiguous() before the compiled function, or .clone() on a part of another tensor",
    "rank": "pass tensors of one rank (unsqueeze before the call)",
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
    "state": "keep grad mode, autocast and default dtype as they are; one compilation for each is the least",
}
_OF_LIBRARY = "remove the graph breaks of what calls it: traced into a graph, it is not compiled on its own"
_LEFT_BY_BREAK = "remove the graph break that left it: without the break there is no such guard"
_ATTRIBUTE_OF_ARGUMENT = (
    "keep the number in a tensor: one that is an attribute of a module is compiled again for each value"
)
_DECIDES = "one compilation for each value is the least: the code decides by it"
_LET_NOT_GROW = "let nothing grow in compiled code: return the value, and append it in the calling code"
_ONE_SIZE = (
    "torch.compile(dynamic=True) where dynamic=False is set; where it is not, the code holds for one size at a time, "
    "as a weight does: pad to a few sizes, or compile what calls the layers in place of each layer"
)
#: Kinds of guards on the tensors that a function is called with.
_OF_TENSORS = ("size", "stride", "rank", "requires_grad", "dtype")
#: Kinds of guards on what mostly has two values, and on what may have another one in each call.
_BACK_AND_FORTH = ("state", "mode", "requires_grad", "dtype", "presence", "type")
_COUNTERS = ("attribute", "length", "global", "value", "size")
#: Reasons of one compilation that are read: as many as Dynamo compiles a function by default.
_READ = 8
#: Causes of one function that are listed.
_SHOWN = 3
#: A guard on the learning rate of a compiled optimizer.
_LEARNING_RATE = re.compile(r"\.param_groups\[\d+\]\['lr'\]")
#: A guard on a text: ``pattern == 'b n -> n b'``.
_TEXT = re.compile(r""" == ['"]""")
_ONE = re.compile(r" size mismatch at index \d+\. expected (\d+),")
_BOOL = re.compile(r" == (True|False)$")
_NUMBER = re.compile(r" == -?\d[\d.e+-]*$")
#: The attributes of a module in a guard: ``self.dp.p``, also where a number is computed of it.
_ATTRIBUTE = re.compile(r"\bself(?:\.\w+|\[\d+\])*\.(\w+)")
_FLOAT = re.compile(r" == -?\d+(\.|e)[\d.e+-]*\s*(#|\(|$)")

#: Kind of guard, what it looks at, dimension, outermost compiled function.
_Key = tuple[str, str | None, int | None, Function]


def recompiles(process: Process, places: Places, text: Callable[[str], str]) -> tuple[Recompile, ...]:
    """The distinct causes in the order met; ``text`` gives the source of a path, or nothing.

    A call that recompiles fails the same guard in every frame it comes through: torch's wrappers around a model, and
    each part that a graph break cut off. A cause is reported at the user's function where it was met there too.
    """
    found: dict[_Key, tuple[Recompiled, guards.Guard]] = {}
    calls = CompiledCalls(process, places, text)
    limits: set[_Key] = set()
    fixed: set[_Key] = set()
    caused: Counter[_Key] = Counter()
    for failed in process.recompiles:
        guard = _decisive(failed.reasons)
        key = (guard.kind, guard.name, guard.dimension, calls.outermost(failed.code))
        found.setdefault(key, (failed, guard))
        if _holds_for_one_size(guard, failed.reasons):
            fixed.add(key)
        if failed.at_limit:
            limits.add(key)
        elif failed.code == found[key][0].code:
            caused[key] += 1
    # The limit counts the frame that is called, which may be a wrapper around the user's function.
    limited = {(kind, dimension) for kind, _, dimension, _ in limits}
    own = {(kind, dimension) for (kind, _, dimension, _), (at, _) in found.items() if _is_users(at.code, places)}
    above = BreaksAbove(process, places, text)
    every = [
        (
            failed.code,
            _recompile(
                guard, failed, above, caused[key], key in limits or (key[0], key[2]) in limited, fixed=key in fixed
            ),
        )
        for key, (failed, guard) in found.items()
        if _is_users(failed.code, places) or (key[0], key[2]) not in own
    ]
    return _by_library_function(every, process, places)


def _decisive(reasons: Sequence[str]) -> guards.Guard:
    """The guard that made Dynamo compile again. ``reasons`` has one for each compilation there was, the last first.

    A call that differs in what changes back and forth, such as ``requires_grad``, may have its compilation already,
    which only a counter or a size refuses: a compilation that names it passed all that is checked before it.
    """
    every = [guards.read(reason) for reason in reasons[:_READ]]
    if every[0].kind not in _BACK_AND_FORTH:
        return every[0]
    others = (guard for guard in every if guard.kind in _COUNTERS)
    return next(others, every[0])


def _holds_for_one_size(guard: guards.Guard, reasons: Sequence[str]) -> bool:
    """Whether two compilations hold for one size each of the tensor that ``guard`` is on.

    When the second of them was made, Dynamo knew that the size changes, and would have made it dynamic.
    """
    every = [guards.read(reason) for reason in reasons[:_READ]] if guard.kind == "size" else []
    same = (each.text for each in every if (each.name, each.dimension) == (guard.name, guard.dimension))
    sizes = {found[1] for found in map(_ONE.search, same) if found}
    return len(sizes - {"0", "1"}) > 1


def _by_library_function(
    found: Sequence[tuple[Code, Recompile]], process: Process, places: Places
) -> tuple[Recompile, ...]:
    """The causes of ``found``; those of one function of a library are one where a break in the user's code is why it
    has a compilation of its own: the user can mend the break, and not change each call in the library."""
    if not _breaks_first(process, places):
        return tuple(recompile for _, recompile in found)
    kept: dict[Code | int, list[Recompile]] = {}
    for number, (code, recompile) in enumerate(found):
        kept.setdefault(code if places.kind(code.path) == "third-party" else number, []).append(recompile)
    return tuple(_together(code, every) if isinstance(code, Code) else every[0] for code, every in kept.items())


def _breaks_first(process: Process, places: Places) -> bool:
    """Whether the user's code was compiled first, and has a graph break: what it calls is compiled on its own then."""
    first = next(iter(process.costs), None)
    broken = (event.traced[-1].path for event in process.breaks if event.traced)
    return first is not None and places.kind(first.path) == "own" and any(places.kind(path) == "own" for path in broken)


def _together(code: Code, found: Sequence[Recompile]) -> Recompile:
    shown = "; ".join(recompile.cause for recompile in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    at_limit = any(recompile.at_limit for recompile in found)
    return replace(
        found[0],
        cause=f"the calls of {code.name} differ: {shown}{more}",
        line=code.line,
        remedy=_OF_LIBRARY,
        at_limit=at_limit,
    )


def _differs_by_layer(guard: guards.Guard, code: Code, text: Callable[[str], str]) -> bool:
    """Whether ``guard`` is on attributes that only the constructors of the user's modules set."""
    names = _ATTRIBUTE.findall(guard.name or "") if guard.kind in ("attribute", "value") else ()
    return bool(names) and all(is_set_by_constructor(text(code.path), name) for name in names)


def _advice(
    guard: guards.Guard, code: Code, caused: int, above: BreaksAbove, at_limit: bool, fixed: bool
) -> str | None:
    compilations = above.process.costs[code].compilations
    by_call = guard.kind in (*_OF_TENSORS, "identity") or _differs_by_layer(guard, code, above.text)
    # What goes on after a break gets sizes and numbers of before as its arguments.
    is_number = guard.kind == "value" and _NUMBER.search(guard.text) is not None
    by_call = by_call or (is_number and resumed(code.name) != code.name)
    if by_call and (place := above.of(code)) is not None:
        return guards.remove_break(place)
    if guard.kind in ("identity", "lifetime") and guards.is_left_by_break(guard.text):
        return _LEFT_BY_BREAK
    if guards.is_of_zero_or_one(guard):
        return guards.AVOID_ZERO_AND_ONE
    if fixed:
        return _ONE_SIZE
    if is_of_holding(guard.text) or (guard.kind == "presence" and guard.is_kept):
        return guards.SET_BEFORE
    if guard.kind == "attribute" and guard.decides and _NUMBER.search(guard.text):
        return guards.SET_ONCE
    if guard.kind == "attribute" and _FLOAT.search(guard.text):
        if _LEARNING_RATE.search(guard.text):
            return "give the optimizer its learning rate as a tensor: `lr=torch.tensor(...)`"
        # The setting is about ints.
        return "keep the number in a tensor buffer"
    if guard.kind in ("value", "attribute") and (_TEXT.search(guard.text) or _BOOL.search(guard.text)):
        return _DECIDES
    if guard.kind == "length" and _is_kept(guard.name or "", code, above.text):
        return guards.FILL_BEFORE if caused < 2 else _LET_NOT_GROW
    if guard.kind == "value" and guard.name == guard.text:
        return _DECIDES
    is_plain = (guard.name or "").startswith("self.") and is_in_plain_class(above.text(code.path), code.line)
    becomes_dynamic = not at_limit and (caused == 1 or compilations == 2) and _NUMBER.search(guard.text) is not None
    if guard.kind == "attribute" and is_plain:
        return guards.BECOMES_DYNAMIC if becomes_dynamic else "keep the number in a tensor"
    if guard.kind == "value" and "." in (guard.name or "") and _NUMBER.search(guard.text):
        return _ATTRIBUTE_OF_ARGUMENT
    if guard.kind == "value" and becomes_dynamic:
        return guards.BECOMES_DYNAMIC
    return _ADVICE.get(guard.kind)


def _is_kept(name: str, code: Code, text: Callable[[str], str]) -> bool:
    """Whether ``name`` is there from call to call, and no argument."""
    return name.startswith(("G[", "self.")) or is_from_outside(text(code.path), code.line, name)


def _is_users(code: Code, places: Places) -> bool:
    return places.kind(code.path) in ("own", "third-party")


def _recompile(
    guard: guards.Guard, failed: Recompiled, above: BreaksAbove, caused: int, at_limit: bool, fixed: bool
) -> Recompile:
    code, places = failed.code, above.places
    # A frame of torch, such as the one around a layer of torch, says nothing: the call that was compiled again does.
    called = None if _is_users(code, places) else places.innermost(failed.above)
    # Names like ___stack0 are Dynamo's, for what a graph break left on the stack.
    named = guard.name is not None and guard.kind not in _NO_INPUT and not guard.name.startswith(("_", "self."))
    return Recompile(
        cause=guard.words,
        guard=guard.text,
        input=guard.name if named else None,
        dimension=guard.dimension,
        path=places.show(called[0] if called else code.path),
        # Dynamo shortens the path of the guarded line from the left.
        line=called[1] if called else guard.line if guard.path and code.path.endswith(guard.path) else code.line,
        compilations=above.process.costs[code].compilations,
        remedy=_advice(guard, code, caused, above, at_limit, fixed),
        kind=guard.kind,
        name=guard.name,
        at_limit=at_limit,
        caused=caused,
        later_calls=0 if _differs_by_layer(guard, code, above.text) else None,
    )
