"""An output of a CUDA graph is kept, and the next call overwrites it.

What: What a function gives that is compiled with CUDA graphs (`mode="reduce-overhead"`, `"max-autotune"`,
`options={"triton.cudagraphs": True}` or `backend="cudagraphs"`), or a part or view of it, is read after the next call
of such a function, the same or another one: a list collects it in a loop and is read after the loop, a name keeps it,
also from one round to the next, or the next call is given it.

Why: The tensors lie in the memory of the graph, which the next call writes. To read them then raises `RuntimeError:
accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run`; where both calls only replay a
graph, after a warm-up, a tensor has the values of the later call, and nothing is said. While a `backward()` is
outstanding they are kept, so calls with gradients are reported only after a `backward()`. What is computed of them is
a tensor of its own. A model that stays on the CPU uses no CUDA graphs.

Fix: Keep `.clone()` of it, made outside the compiled function, or a copy on the CPU; or compile with
`mode="max-autotune-no-cudagraphs"`. `torch.compiler.cudagraph_mark_step_begin()` says that a step begins, whose outputs
take the place of those before: called once before several calls it keeps what they give, called before each it keeps
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Output, dotted
from graphdoctor.syntax.walk import walk

from ._graph_calls import calls_graphs, is_sure
from ._kept_outputs import Kept, Outputs
from ._shared import code, function_named

CODE = "GD632"
NAME = "cuda-graph-output-kept"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def main(model, batches):
    fast = torch.compile(model.cuda().eval(), mode="reduce-overhead")
    outputs = []
    with torch.inference_mode():
        for batch in batches:
            outputs.append(fast(batch))  # flagged
    return torch.stack(outputs)

def f(x):
    return x * 2
""",
    """\
import torch


class Predictor:
    def __init__(self, model):
        self.model = torch.compile(model.cuda(), backend="cudagraphs")

    def predict(self, batch):
        return self.model(batch).logits

    @torch.no_grad()
    def predict_all(self, batches):
        return torch.cat([self.predict(batch) for batch in batches])  # flagged

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, optimizer, batches):
    step = torch.compile(lambda batch: model(batch).mean(), mode="max-autotune")
    losses = []
    for batch in batches:
        loss = step(batch.to("cuda"))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())  # flagged
    return torch.stack(losses).mean()

def f(x):
    return x * 2
""",
    """\
import torch


@torch.no_grad()
def main(model, batch, noise):
    fast = torch.compile(model.cuda(), options={"triton.cudagraphs": True})
    plain = fast(batch)  # flagged
    noisy = fast(batch + noise)
    return (plain - noisy).abs().max()

def f(x):
    return x * 2
""",
    """\
import torch


@torch.no_grad()
def main(model, batch, steps):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    for _ in range(steps):
        batch = fast(batch)  # flagged
    return batch

def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def main(model, batches):
    fast = torch.compile(model.cuda().eval(), mode="reduce-overhead")
    outputs = []
    with torch.inference_mode():
        for batch in batches:
            outputs.append(fast(batch).clone())
    return torch.stack(outputs)

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, batches):
    fast = torch.compile(model.cuda().eval(), mode="max-autotune-no-cudagraphs")
    outputs = []
    with torch.inference_mode():
        for batch in batches:
            outputs.append(fast(batch))
    return torch.stack(outputs)

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, batches):
    fast = torch.compile(model.cuda().eval(), mode="reduce-overhead")
    outputs = []
    with torch.inference_mode():
        for batch in batches:
            logits = fast(batch)
            outputs.append(logits.argmax(-1))
    return torch.cat(outputs)

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, loss_of, one, other):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    # Both are kept until the backward pass.
    first = fast(one)
    second = fast(other)
    loss_of(first, second).backward()

def f(x):
    return x * 2
""",
    """\
import torch


@torch.no_grad()
def main(model, batch, steps):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    for _ in range(steps):
        batch = fast(batch.clone())
    return batch

def f(x):
    return x * 2
""",
    """\
import torch


@torch.no_grad()
def main(model, batches, size):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    outputs = torch.empty(len(batches), size, device="cuda")
    for i, batch in enumerate(batches):
        outputs[i] = fast(batch)
    return outputs

def f(x):
    return x * 2
""",
)

_MARKS = "mark_step_begin"
#: Words of files that know of it, or that leave out what guards the outputs.
_AWARE = re.compile(r"overwritten by a subsequent|cudagraph_trees|slow_path_cudagraph")
#: Calls after which the graphs are recorded anew, in other memory.
_RESETS = re.compile(r"(_dynamo|compiler)\.reset\(")

_OUTSIDE = "made outside the compiled function"
_OTHERWISE = (
    'or compile with `mode="max-autotune-no-cudagraphs"`; `cudagraph_mark_step_begin()` before each call does not keep '
    "it, one before all of them does"
)


def check_output(event: Output) -> Hit | None:
    if not _uses_graphs(event) or _AWARE.search(event.site.module.text):
        return None
    for earlier in _earlier(event):
        hit = _kept(earlier, event)
        if hit is not None:
            return hit
    return None


def _uses_graphs(event: Output) -> bool:
    """Whether what is called surely uses CUDA graphs where there is a GPU."""
    return calls_graphs(event.made, event.site.module.text)


def _earlier(event: Output) -> Iterator[Output]:
    """It, and the calls before it in the same function: all graphs share their memory, those of other models too."""
    yield event
    for other in reversed(event.outputs[: event.position]):
        here = other.site.function == event.site.function and other.site.module is event.site.module
        if here and other.node is not event.node and _uses_graphs(other):
            yield other


def _kept(first: Output, event: Output) -> Hit | None:
    """Where what ``first`` gave is read after ``event`` or, if that is the same call, after its next round."""
    source = first.site.module
    function = function_named(first)
    body: cst.CSTNode | None = function.body if function is not None else None
    if first.site.function == "<module>":
        body = source.tree
    if body is None or _RESETS.search(source.text):
        return None
    pending = not first.without_grad or any(
        not each.without_grad and each.node is not first.node and each.site.function == first.site.function
        for each in first.outputs[: event.position]
    )
    outputs = Outputs(body, first.node, {first.node, event.node}, pending=pending)
    if not outputs.is_inside:
        return None
    kept = None
    if first is event and not _varies(first, body):
        kept = outputs.read_after_loop()
    if kept is not None and _MARKS in source.text and (kept.loop is None or _MARKS not in source.code(kept.loop.body)):
        return None
    if kept is None and _MARKS not in source.text:
        kept = outputs.read_after_next()
        if kept is None and first is not event and outputs.is_beside_next():
            kept = Kept("", first.node)
        kept = Kept(kept.name, first.node) if kept is not None else None
    if kept is not None:
        return _hit(first, kept, event)
    is_call = event.node is event.made.node and first.without_grad and event.without_grad and not pending
    given = outputs.given_to_next() if is_call and _MARKS not in source.text else None
    if given is None or (first is event and _varies(first, body)):
        return None
    taker = "its next call" if first.node is event.node else code(event)
    words = f"{code(first)} returns memory of a CUDA graph: {taker} gets it, and reads it after it is overwritten"
    return Hit(event, words, f"pass `.clone()` of the output, {_OUTSIDE}; {_OTHERWISE}", "likely", node=given.node)


def _varies(event: Output, body: cst.CSTNode) -> bool:
    """Whether the rounds of a loop call one object each: ``for model in models``."""
    called = event.node.func if isinstance(event.node, cst.Call) else event.node
    root = dotted(called).partition(".")[0]
    loops = (node for node in walk(body) if isinstance(node, (cst.For, cst.CompFor)))
    return any(dotted(name) == root for loop in loops for name in walk(loop.target) if isinstance(name, cst.Name))


def _hit(event: Output, kept: Kept, later: Output) -> Hit:
    keeps = f"`{kept.name}` keeps it, and the" if kept.name else "the"
    words = f"{code(event)} returns memory of a CUDA graph: {keeps} next call overwrites it before it is read"
    sure = is_sure(event.made) and not event.site.conditional
    # What was measured with gradients fails by the gradients themselves, too.
    sure = sure and event.without_grad and later.without_grad
    advice = f"keep `.clone()` of it, {_OUTSIDE}, or `.cpu()`; {_OTHERWISE}"
    return Hit(event, words, advice, "certain" if sure else "likely", node=kept.node)
