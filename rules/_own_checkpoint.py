"""An `autograd.Function` that does by hand what `torch.utils.checkpoint` does. Not a rule."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.events import Event
from graphdoctor.static.usage.events import dotted
from graphdoctor.syntax.walk import find

from ._shared import function_named

ADVICE = (
    "call `torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False)` in place of this class, which runs "
    "the function again in its backward: that is compiled to one graph"
)


def is_in_own_checkpoint(event: Event) -> bool:
    """Whether ``event`` is in a `backward` that runs with gradients what `forward` kept, and ran without them."""
    owner, _, name = event.site.function.rpartition(".")
    forward, backward = event.site.module.function(f"{owner}.forward"), function_named(event)
    if name != "backward" or forward is None or backward is None:
        return False
    before, anew = set(_called_under("no_grad", forward)), set(_called_under("enable_grad", backward))
    return any(
        f"{_context(backward)}.{kept}" in anew and {f"{_context(forward)}.{kept}", value} & before
        for kept, value in _kept(forward)
    )


def _context(method: cst.FunctionDef) -> str:
    """The name of the first argument, on which `forward` keeps what `backward` needs."""
    params = method.params.params
    return params[0].name.value if params else ""


def _called_under(mode: str, method: cst.FunctionDef) -> Iterator[str]:
    """What is called in blocks of `with torch.no_grad():` or the like."""
    for block in find(method.body, cst.With):
        contexts = [item.item for item in block.items]
        if any(isinstance(c, cst.Call) and dotted(c.func).rpartition(".")[2] == mode for c in contexts):
            yield from filter(None, (dotted(call.func) for call in find(block.body, cst.Call)))


def _kept(forward: cst.FunctionDef) -> Iterator[tuple[str, str]]:
    """The attributes that `forward` sets on its first argument, each with the name that it gives them."""
    start = f"{_context(forward)}."
    for statement in find(forward.body, cst.Assign):
        for target in (t.target for t in statement.targets):
            for one, other in _pairs(target, statement.value):
                if isinstance(one, cst.Attribute) and dotted(one).startswith(start):
                    yield one.attr.value, dotted(other)


def _pairs(target: cst.CSTNode, value: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The targets and values of ``a, b = c, d`` one by one."""
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        yield from ((t.value, v.value) for t, v in zip(target.elements, value.elements, strict=False))
    else:
        yield target, value
