"""The rows of the study: how each is run here, and the number that the blog post gives for it.

Published: one A100, PyTorch 2.7, transformers 4.54.1, training steps a second. Its baseline with padding to the maximum
is not given; 3.11 follows from "+66 %". None: the post gives no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.captioning.setup import Padding

#: Where the numbers were measured.
SOURCE = "one A100, PyTorch 2.7, transformers 4.54.1"


@dataclass(frozen=True)
class Row:
    """One line of the table. ``dynamic`` is that of torch.compile, or "mark" for mark_dynamic on the labels.

    ``mode`` is that of the parts in ``compiles``. ``kept_gradients``: they stay at their addresses, which are marked as
    static. ``ddp``: in DistributedDataParallel, one process where the study has eight GPUs.
    """

    name: str
    padding: Padding
    published: float | None
    compiled: bool = True
    mode: str | None = None
    dynamic: bool | str | None = None
    optimizer: bool = False
    regional: bool = False
    modular: bool = False
    #: Of the modular ones: the encoder alone is compiled, or it alone with ``mode``.
    encoder: Literal["", "alone", "mode"] = ""
    shape_padding: bool = False
    kept_gradients: bool = False
    foreach_map: bool = False
    ddp: bool = False
    #: Whether the compile cache of the row before is kept.
    cached: bool = False


ROWS = (
    Row("static: eager", "max", 3.11, compiled=False),
    Row("static: compile", "max", 5.17, dynamic=False),
    Row("static: compile, optimizer, max-autotune", "max", 5.54, mode="max-autotune", dynamic=False, optimizer=True),
    Row("dynamic: eager", "longest", 4.73, compiled=False),
    Row("dynamic: compile (dynamic=None)", "longest", None),
    Row("dynamic: mark_dynamic", "longest", 7.78, dynamic="mark"),
    Row("dynamic: mark_dynamic, max-autotune", "longest", 8.13, mode="max-autotune", dynamic="mark"),
    Row("dynamic: dynamic=True", "longest", 7.77, dynamic=True),
    Row("dynamic: buckets", "buckets", 7.77, dynamic=False),
    Row("dynamic: encoder and decoder apart", "longest", 7.93, dynamic="mark", modular=True),
    Row("dynamic: regional", "longest", 7.61, dynamic="mark", regional=True),
    Row("dynamic: mark_dynamic, cached", "longest", 7.78, dynamic="mark", cached=True),
    Row("static: mark_static_address", "max", 5.32, dynamic=False, optimizer=True, kept_gradients=True),
    Row("static: foreach_map", "max", 5.28, dynamic=False, optimizer=True, foreach_map=True),
    Row("static: DDP", "max", 4.59, dynamic=False, ddp=True),
    Row("static: reduce-overhead", "max", None, mode="reduce-overhead", dynamic=False),
    Row("static: shape_padding", "max", None, dynamic=False, shape_padding=True),
    Row("dynamic: dynamic=True, max-autotune", "longest", 7.89, mode="max-autotune-no-cudagraphs", dynamic=True),
    Row("dynamic: buckets, max-autotune", "buckets", 8.04, mode="max-autotune", dynamic=False),
    Row(
        "dynamic: apart, max-autotune",
        "longest",
        8.04,
        mode="max-autotune",
        dynamic="mark",
        modular=True,
        encoder="mode",
    ),
    Row("dynamic: encoder alone", "longest", None, dynamic="mark", modular=True, encoder="alone"),
)

#: Published warm-up seconds, by row.
WARM_UP = {"dynamic: mark_dynamic": 196.0, "dynamic: mark_dynamic, cached": 56.0, "dynamic: regional": 80.0}
