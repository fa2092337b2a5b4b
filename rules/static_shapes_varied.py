"""`dynamic=False` for batches that are padded to their longest member.

What: `torch.compile(..., dynamic=False)`, or `prepare` of an `Accelerator` whose `TorchDynamoPlugin` has
`dynamic=False`, in a program whose `DataLoader` has a `collate_fn` that pads to the longest (`pad_sequence`,
`padding=True`, `padding="longest"`, the collators of transformers), without a fixed maximum or multiple.

Why: Each length that occurs compiles again. After 8 compilations the function runs in eager; with `fullgraph=True`
the ninth raises. `dynamic=None`, the default, makes the length a symbol at its first change, and is not reported.

Fix: Leave `dynamic` out, mark the length with `torch._dynamo.mark_dynamic`, or pad to a few lengths, no more than the
limit. `graphdoctor scan --vary` counts the compilations of each.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import (
    COMPILE,
    Function,
    Operation,
    Partial,
    TrackedObject,
    Use,
    compiling_setup,
    plugin,
)

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
    """\
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


class Collator:
    def __call__(self, rows):
        return pad_sequence(rows, batch_first=True)


def loaders(data):
    return DataLoader(data, batch_size=8, collate_fn=Collator())


def main(data, net):
    from accelerate import Accelerator
    from accelerate.utils import TorchDynamoPlugin

    plugin = TorchDynamoPlugin(backend="inductor", fullgraph=True, dynamic=False)  # flagged
    accelerator = Accelerator(dynamo_plugin=plugin)
    model, loader = accelerator.prepare(net, loaders(data))
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
    from accelerate import Accelerator
    from accelerate.utils import TorchDynamoPlugin

    accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend="inductor", fullgraph=True))
    model, loader = accelerator.prepare(net, DataLoader(data, batch_size=8, collate_fn=collate))
    return [model(batch) for batch in loader]


def f(x):
    return x * 2
""",
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
    made = _fixed_sizes(event.step)
    if made is None or not any(_pads_to_longest(event, step) for step in event.log):
        return None
    # The plugin may be made elsewhere.
    node = made.node if event.site.module.has_place(made.node) else event.node
    costs = "the ninth length raises" if made.option("fullgraph") is True else "each length compiles again"
    words = f"{code(event, node)}: {costs}, and the loader pads to the longest of each batch"
    return Hit(event, words, "leave `dynamic` out, or pad to a few fixed lengths", "likely", node=node)


def _fixed_sizes(step: Operation) -> Operation | None:
    """What says that sizes are fixed, where ``step`` compiles."""
    accelerator = compiling_setup(step)
    made = plugin(accelerator) if accelerator is not None else step if step.name in COMPILE else None
    return made if made is not None and made.option("dynamic") is False else None


def _pads_to_longest(event: Use, loader: Operation) -> bool:
    collate = loader.kwargs.get("collate_fn") if loader.name.rpartition(".")[2] == "DataLoader" else None
    if collate is None:
        return False
    bounded = ("multiple", "max_length", "bucket", "F.pad(", "functional.pad(", " % ")
    if collate.made_by.startswith("transformers.DataCollator") and collate.maker is not None:
        # By default they pad to the longest, where the tokenizer has not padded yet.
        arguments = collate.maker.kwargs
        return (
            not {"max_length", "pad_to_multiple_of"} & arguments.keys() and "max_length" not in event.site.module.text
        )
    function = _function(collate)
    text = function.module.code(function.node) if function is not None else ""
    padded = ("pad_sequence(", "padding=True", 'padding="longest"', "padding='longest'")
    return any(word in text for word in padded) and not any(word in text for word in bounded)


def _function(tracked: TrackedObject) -> Function | None:
    """What runs when ``tracked`` is called, of the scanned code."""
    if isinstance(tracked.code, Partial):
        return _function(tracked.code.target)
    if tracked.made_of is not None:
        return tracked.made_of.method("__call__")
    return tracked.code if isinstance(tracked.code, Function) else None
