"""`dynamic=False` for batches that are padded to their longest member.

What: `torch.compile(..., dynamic=False)` in a file whose `DataLoader` has a `collate_fn` of the same file that pads
to the longest (`pad_sequence`, `padding=True`, `padding="longest"`), without a fixed maximum or multiple.

Why: Each length that occurs compiles again. After 8 compilations the function runs in eager; with `fullgraph=True`
the ninth raises. `dynamic=None`, the default, makes the length a symbol at its first change, and is not reported.

Fix: Leave `dynamic` out, mark the length with `torch._dynamo.mark_dynamic`, or pad to a few lengths, no more than the
limit. `graphdoctor scan --vary` counts the compilations of each.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage import COMPILE, Step, Use

from ._shared import code

CODE = "GD625"
NAME = "static-shapes-varied"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(rows):
    return pad_sequence(rows, batch_first=True)


def main(data, net):
    loader = DataLoader(data, batch_size=8, collate_fn=collate)
    model = torch.compile(net, dynamic=False)  # flagged
    return [model(batch) for batch in loader]


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(rows):
    return pad_sequence(rows, batch_first=True)


def main(data, net):
    loader = DataLoader(data, batch_size=8, collate_fn=collate)
    model = torch.compile(net)
    return [model(batch) for batch in loader]


def f(x):
    return x * 2
""",
    """\
import torch
from torch.utils.data import DataLoader


def collate(rows):
    return torch.stack(rows)


def main(data, net):
    loader = DataLoader(data, batch_size=8, collate_fn=collate)
    model = torch.compile(net, dynamic=False)
    return [model(batch) for batch in loader]


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name not in COMPILE or step.option("dynamic") is not False:
        return None
    if not any(_pads_to_longest(event, earlier) for earlier in event.before):
        return None
    words = f"{code(event)} compiles again for each length, and the loader pads to the longest of each batch"
    return Hit(event, words, "leave `dynamic` out, or pad to a few fixed lengths", "likely")


def _pads_to_longest(event: Use, loader: Step) -> bool:
    collate = loader.kwargs.get("collate_fn") if loader.name.rpartition(".")[2] == "DataLoader" else None
    if collate is None or not isinstance(collate.node, cst.Name):
        return False
    functions = (n for n in walk(event.site.module.tree) if isinstance(n, cst.FunctionDef))
    bodies = [event.site.module.code(n.body) for n in functions if n.name.value == collate.node.value]
    padded = ("pad_sequence(", "padding=True", 'padding="longest"', "padding='longest'")
    bounded = ("multiple", "max_length", "bucket", "F.pad(", "functional.pad(", " % ")
    return any(any(w in body for w in padded) and not any(w in body for w in bounded) for body in bodies)
