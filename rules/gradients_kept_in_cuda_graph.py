"""Gradients lie in the memory of a CUDA graph, and a second backward pass adds to them.

What: A model is compiled with CUDA graphs (`mode="reduce-overhead"`, `"max-autotune"`, `options={"triton.cudagraphs":
True}` or `backend="cudagraphs"`), and its gradients are kept for the next backward pass: by
`zero_grad(set_to_none=False)`, or because gradients are accumulated, in a loop or by `Accelerator`, `TrainingArguments`
or a Lightning `Trainer`.

Why: The compiled backward pass makes the gradients in the memory of the graph, which its next run writes. Adding to
them then raises `RuntimeError: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run`.
Gradients that were there before are added to where they lie, and those of several calls of the model in one backward
pass are added outside the graphs. A model that stays on the CPU uses no CUDA graphs.

Fix: Set the gradients to None before each backward pass (`zero_grad()`). To accumulate, make them before the first
compiled backward pass (`p.grad = torch.zeros_like(p)` for each parameter) and keep them with
`zero_grad(set_to_none=False)`; or compile with `mode="max-autotune-no-cudagraphs"`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Operation, TrackedObject, Use, compiled, plugin, same_run
from graphdoctor.syntax.walk import walk

from ._gradients import Backward, Gradients, is_parallel, trains
from ._graph_calls import is_sure
from ._places import is_one
from ._shared import RECORDING, code, device_of, records_cuda_graphs

CODE = "GD633"
NAME = "gradients-kept-in-cuda-graph"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def main(model, optimizer, batches):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)  # flagged
        fast(batch).mean().backward()
        optimizer.step()

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, criterion, batches, accumulation):
    model = torch.compile(model.cuda(), mode="max-autotune")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i, (x, y) in enumerate(batches):
        loss = criterion(model(x), y) / accumulation
        loss.backward()  # flagged
        if (i + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, loader, scaler, optimizer, steps, micro_steps):
    model = torch.compile(model.to("cuda"), backend="cudagraphs")
    for _ in range(steps):
        for micro_step in range(micro_steps):
            loss = model(next(loader)).mean()
            scaler.scale(loss).backward()  # flagged
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)

def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def main(model, optimizer, batches):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    for batch in batches:
        optimizer.zero_grad()
        fast(batch).mean().backward()
        optimizer.step()

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, optimizer, batches):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)
        fast(batch).mean().backward()
        optimizer.step()

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, optimizer, batches):
    fast = torch.compile(model.cuda(), mode="max-autotune-no-cudagraphs")
    for i, batch in enumerate(batches):
        fast(batch).mean().backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

def f(x):
    return x * 2
""",
    """\
import torch


def main(model, optimizer, batches):
    fast = torch.compile(model.cuda(), mode="reduce-overhead")
    losses = []
    for i, batch in enumerate(batches):
        losses.append(fast(batch).mean())
        if (i + 1) % 4 == 0:
            # One backward pass for several calls.
            sum(losses).backward()
            losses = []
            optimizer.step()
            optimizer.zero_grad()

def f(x):
    return x * 2
""",
)

#: Gradients that the file makes, or sets to None, itself, and engines that keep them elsewhere.
_OWN_GRADIENTS = re.compile(r"\.grad\s*=(?!=)|compiled_autograd|\b(import|from) deepspeed|cudagraph_trees")
_MARK = "mark_step_begin"
#: The words of conditions and loops that accumulate.
_COUNTS = re.compile(
    r"accum|micro|sync_grad|(should|need|do|is|will)s?_?(update|step|sync)|(update|sync)_step", re.IGNORECASE
)
_IS_NAME = re.compile(r"[\w.]+")
_MODULO = re.compile(r"%\s*([\w.]+)")
#: Functions of this name run once a batch.
_ROUNDS = re.compile(r"step|batch|update|iter|optimi[sz]e")

_ADVICE = (
    "set the gradients to None before each backward pass; to accumulate, make them before the first one "
    "(`p.grad = torch.zeros_like(p)` for each parameter) and keep them with `zero_grad(set_to_none=False)`; or compile "
    'with `mode="max-autotune-no-cudagraphs"`'
)
_MEMORY = "they lie in the memory of a CUDA graph, and the next backward pass raises when it adds to them"


def check_use(event: Use) -> Hit | None:
    name = event.step.name
    if name == ".zero_grad":
        return _zeroed(event)
    if name == ".accumulate":
        return _accelerate(event)
    if name == ".fit":
        return _lightning(event)
    return _arguments(event) if name.endswith("TrainingArguments") else None


def _zeroed(event: Use) -> Hit | None:
    """A `zero_grad` that keeps the gradients, or that leaves rounds out."""
    source = event.site.module
    gradients = Gradients(source, event.log)
    if not gradients.graph_calls or any(map(_OWN_GRADIENTS.search, (source.text, *event.related()))):
        return None
    for backward in gradients.backwards():
        hit = _kept(event, backward)
        if hit is not None and not gradients.warmed_up(backward):
            return hit
    return None


def _kept(event: Use, backward: Backward) -> Hit | None:
    step, passed = event.step, backward.step
    if not _concerns(step, event, backward) or not _is_new_step(passed, event.site.module.text):
        return None
    sure = all(is_sure(call) and call.path == passed.path and not is_parallel(call) for call in backward.calls)
    if _keeps(step):
        words = f"{code(event)} keeps the gradients of a compiled model: {_MEMORY}"
        sure = sure and step.path == passed.path
        return Hit(event, words, _ADVICE, "certain" if sure else "likely") if _is_repeated(event, passed) else None
    number = _accumulated(event, backward)
    if number is None:
        return None
    words = f"{code(event, passed.node)} accumulates the gradients of a compiled model: {_MEMORY}"
    return Hit(event, words, _ADVICE, "certain" if sure and number > 1 else "likely", node=passed.node)


def _keeps(step: Operation) -> bool:
    given = step.argument(0, "set_to_none")
    return given is not None and given.value is False


def _concerns(step: Operation, event: Use, backward: Backward) -> bool:
    """Whether a `zero_grad()` is of the model of a backward pass, in one run with it."""
    if same_run(step.path, backward.step.path, "likely") is None:
        return False
    is_of = trains(step, backward.model)
    if is_of is not None:
        return is_of
    others = [each for each in event.log if each.name == ".zero_grad" and trains(each, backward.model) is not False]
    return len({each.receiver.number for each in others if each.receiver is not None}) == 1


def _is_new_step(passed: Operation, text: str) -> bool:
    """Whether each round of its loop is a step of its own: a mark before the loop keeps all of its rounds."""
    if _MARK not in text:
        return True
    names = (node for loop in passed.loops[-1:] for node in walk(loop.body) if isinstance(node, cst.Name))
    return any(name.value.endswith(_MARK) for name in names)


def _shared_loops(one: Operation, other: Operation) -> int:
    """How many loops two steps stand in together."""
    pairs = zip(one.loops, other.loops, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a is not b), min(len(one.loops), len(other.loops)))


def _is_repeated(event: Use, passed: Operation) -> bool:
    """Whether another backward pass follows on a `zero_grad()`."""
    if _shared_loops(event.step, passed):
        return True
    name = event.site.function.rpartition(".")[2]
    return not event.step.loops and not passed.loops and _ROUNDS.search(name) is not None


def _accumulated(event: Use, backward: Backward) -> int | None:
    """How many rounds add up their gradients, 0 where that is not spelled out; None where they do not."""
    step, passed = event.step, backward.step
    shared = _shared_loops(step, passed)
    if len(step.loops) > shared + 1 or _number(_texts(passed, step), event) is not None:
        return None
    others = [each for each in event.log if each.name == ".zero_grad" and _concerns(each, event, backward)]
    if len(passed.loops) > shared:
        loop = passed.loops[-1]
        if len(passed.loops) > shared + 1 or any(loop in each.loops for each in others):
            return None
        return _rounds(loop, event)
    inside = [each for each in others if _shared_loops(each, passed) == len(passed.loops)]
    if not all(_texts(each, passed) or _left_out(event, each, passed) for each in inside):
        return None
    return _number([*_texts(step, passed, event.site.guards), *_left_out(event, step, passed)], event)


def _texts(step: Operation, other: Operation, guards: Sequence[str] = ()) -> list[str]:
    """The conditions of a step that another one does not stand under; as ``guards`` spell them, where they do."""
    keys = [key for key, holds in step.path if (key, holds) not in other.path]
    named = [text for text in guards if _IS_NAME.fullmatch(text)] if any(k.startswith("#") for k in keys) else []
    return [*keys, *named]


def _left_out(event: Use, step: Operation, passed: Operation) -> list[str]:
    """The tests after a backward pass that end its iteration before a step: ``if i % 4: continue``."""
    found: list[str] = []
    source, after = event.site.module, False
    for node in walk(passed.loops[-1].body) if passed.loops and source.has_place(passed.loops[-1]) else ():
        if node is passed.node:
            after, found = True, []
        if node is step.node:
            return found if after else []
        if isinstance(node, cst.If) and any(isinstance(each, cst.Continue) for each in _last(node.body)):
            found.append(source.code(node.test))
    return []


def _last(body: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    """The last statement of a block, or the last ones of a line."""
    last = body.body[-1]
    return last.body if isinstance(last, cst.SimpleStatementLine) else (last,)


def _number(texts: Sequence[str], event: Use) -> int | None:
    """The number of rounds that a test of their counter asks for, 0 where it is not spelled out; None for others."""
    text = event.site.module.text
    for each in texts:
        name = each if _IS_NAME.fullmatch(each) else ""
        asked = re.search(rf"\b{re.escape(name)}\s*=[^=\n]*(%[^\n]*)", text) if name else None
        modulo = _MODULO.search(asked[1] if asked else each)
        if modulo is None and (_COUNTS.search(each) or asked):
            return 0
        number = _value(modulo[1], text) if modulo is not None else 1
        if number != 1:
            return number
    return None


def _rounds(loop: cst.For | cst.While, event: Use) -> int | None:
    """The rounds of a loop whose names say that it accumulates."""
    source = event.site.module
    if not isinstance(loop, cst.For) or not source.has_place(loop) or is_one(loop.iter):
        return None
    text = f"{source.code(loop.target)} {source.code(loop.iter)}"
    if not _COUNTS.search(text):
        return None
    given = re.fullmatch(r".* range\(([\w.]+)\)", text)
    number = _value(given[1], source.text) if given is not None else 0
    return number if number != 1 else None


def _value(word: str, text: str) -> int:
    """The number that a word stands for: 1 where the file binds it to that only, 0 where it is not known."""
    if word.isdigit():
        return int(word)
    last = re.escape(word.rpartition(".")[2])
    bound = re.findall(rf"^\s*(?:[\w.]+\.)?{last}\s*(?::[^=\n]+)?=\s*([^#\n]*)", text, re.MULTILINE)
    return 1 if bound and all(each.strip() == "1" for each in bound) else 0


def _accelerate(event: Use) -> Hit | None:
    """``accelerator.accumulate(model)``."""
    step = event.step
    made = step.receiver.maker if step.receiver is not None else None
    if made is None or not made.name.endswith("Accelerator") or made.option("cpu") is True:
        return None
    number = _given(made, "gradient_accumulation_steps")
    number = 0 if number is None and "gradient_accumulation_plugin" in made.kwargs else number
    settings, backend = plugin(made), made.option("dynamo_backend")
    records = settings is not None and settings.option("mode") in RECORDING
    records = records or (isinstance(backend, str) and backend.lower() == "cudagraphs")
    if number in (None, 1) or not (records or any(map(_records, step.args))):
        return None
    return _said(event, "accumulates the gradients of a model compiled with CUDA graphs")


def _arguments(event: Use) -> Hit | None:
    """``TrainingArguments(torch_compile_mode="reduce-overhead", gradient_accumulation_steps=4)``."""
    step = event.step
    number = _given(step, "gradient_accumulation_steps")
    off = step.option("torch_compile") is False or step.option("use_cpu") is True or step.option("no_cuda") is True
    if off or step.option("torch_compile_mode") not in RECORDING or number is None or number < 2:
        return None
    return _said(event, "compiles with CUDA graphs and accumulates gradients")


def _lightning(event: Use) -> Hit | None:
    """``Trainer(accumulate_grad_batches=4).fit(model)``."""
    step = event.step
    made = step.receiver.maker if step.receiver is not None else None
    model = step.argument(0, "model")
    if made is None or model is None or not made.name.endswith("Trainer") or made.option("accelerator") == "cpu":
        return None
    number = _given(made, "accumulate_grad_batches")
    if number is None or number < 2 or not any(map(_records, (model, *event.parts(model).values()))):
        return None
    return _said(event, "accumulates the gradients of a model compiled with CUDA graphs")


def _given(step: Operation, name: str) -> int | None:
    """A number that a call is given, 0 where it is not spelled out; None where it is not given."""
    if name not in step.kwargs or step.option(name) is None:
        return None
    value = step.option(name)
    return value if isinstance(value, int) else 0


def _records(tracked: TrackedObject) -> bool:
    step = compiled(tracked)
    return step is not None and records_cuda_graphs(step) and device_of(tracked) != "cpu"


def _said(event: Use, does: str) -> Hit | None:
    if any(map(_OWN_GRADIENTS.search, (event.site.module.text, *event.related()))):
        return None
    return Hit(event, f"{code(event)} {does}: {_MEMORY}", _ADVICE, "likely")
