"""The recompiles of a process: each cause once, with the function that was compiled again."""

from __future__ import annotations

from graphdoctor.breaks import guards
from graphdoctor.breaks.locations import Places
from graphdoctor.model.runs import Recompile
from graphdoctor.trace.process import Code, Process

#: Guards whose name is no argument of the function.
_NO_INPUT = ("attribute", "mode", "global", "state", "identity", "lifetime")

#: What helps, by kind of guard. A trace cannot try it out.
_ADVICE = {
    "size": "torch.compile(dynamic=True), or torch._dynamo.mark_dynamic on the dimension that varies",
    "stride": "call .contiguous() before the compiled function",
    "rank": "pass tensors of one rank (unsqueeze before the call)",
    "requires_grad": "pass tensors that agree in requires_grad (detach before the call)",
    "dtype": "pass tensors of one dtype",
    "length": "pass a tensor (torch.stack) in place of the list",
    "presence": "pass a neutral tensor in place of None",
    "attribute": "keep the number in a tensor buffer, or set torch._dynamo.config.allow_unspec_int_on_nn_module",
    "global": "keep the number in a tensor, or pass it as an argument",
    "value": "pass the number as a tensor; where it comes from .item(), stay with tensor operations",
    "state": "keep grad mode, autocast and default dtype as they are; one compilation for each is the least",
}

#: Kind of guard, what it looks at, dimension.
_Key = tuple[str, str | None, int | None]


def recompiles(process: Process, places: Places) -> tuple[Recompile, ...]:
    """The distinct causes in the order met.

    A call that recompiles fails the same guard in every frame it comes through: torch's wrappers around a model, and
    each part that a graph break cut off. A cause is reported at the user's function where it was met there too.
    """
    found: dict[_Key, tuple[Code, guards.Guard]] = {}
    limits: set[_Key] = set()
    for failed in process.recompiles:
        guard = guards.read(failed.reasons[0])
        key = (guard.kind, guard.name, guard.dimension)
        found.setdefault(key, (failed.code, guard))
        if failed.at_limit:
            limits.add(key)
    # The limit counts the frame that is called, which may be a wrapper around the user's function.
    limited = {(kind, dimension) for kind, _, dimension in limits}
    own = {(kind, dimension) for (kind, _, dimension), (code, _) in found.items() if _is_users(code, places)}
    return tuple(
        _recompile(guard, code, process, places, at_limit=key in limits or (key[0], key[2]) in limited)
        for key, (code, guard) in found.items()
        if _is_users(code, places) or (key[0], key[2]) not in own
    )


def _advice(guard: guards.Guard) -> str | None:
    if guard.kind == "presence" and (guard.name or "").startswith("self."):
        return "set it before the first call of what is compiled"
    return _ADVICE.get(guard.kind)


def _is_users(code: Code, places: Places) -> bool:
    return places.kind(code.path) in ("own", "third-party")


def _recompile(guard: guards.Guard, code: Code, process: Process, places: Places, at_limit: bool) -> Recompile:
    # Names like ___stack0 are Dynamo's, for what a graph break left on the stack.
    named = guard.name is not None and guard.kind not in _NO_INPUT and not guard.name.startswith(("_", "self."))
    return Recompile(
        cause=guard.words,
        guard=guard.text,
        input=guard.name if named else None,
        dimension=guard.dimension,
        path=places.show(code.path),
        # Dynamo shortens the path of the guarded line from the left.
        line=guard.line if guard.path is not None and code.path.endswith(guard.path) else code.line,
        compilations=process.costs[code].compilations,
        remedy=_advice(guard),
        kind=guard.kind,
        name=guard.name,
        at_limit=at_limit,
    )
