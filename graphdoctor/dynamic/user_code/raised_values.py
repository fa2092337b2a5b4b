"""The tensors and layers on a line that raised: ``h float32[2, 8, 20]``, ``self.proj Linear(in_features=8, ...)``.

Nothing of the user's is called: attributes are looked up in the dictionaries of a module, and only torch's own layers
are shown as they describe themselves.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import torch

from graphdoctor.breaks.messages import one_line
from graphdoctor.dynamic.user_code import pytree

#: Values that are shown, and characters of a layer.
_MOST, _LONGEST = 6, 100
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def raised_values(error: BaseException, path: str, line: int) -> tuple[str, ...]:
    """What the innermost frame of ``error`` at ``line`` of the file ``path`` has; empty where there is none."""
    frame = _frame(error.__traceback__, path, line)
    if frame is None:
        return ()
    found = (_held(name, frame) for name in _NAME.findall(linecache.getline(path, line)))
    return tuple(dict.fromkeys(f"{name} {text}" for name, value in found for text in _shown(value)))[:_MOST]


def _frame(entry: TracebackType | None, path: str, line: int) -> FrameType | None:
    found = None
    while entry is not None:
        if (entry.tb_frame.f_code.co_filename, entry.tb_lineno) == (path, line):
            found = entry.tb_frame
        entry = entry.tb_next
    return found


def _held(name: str, frame: FrameType) -> tuple[str, Any]:
    """The object behind ``self.proj``, of ``x.mean`` the tensor ``x``: each step is what the object itself holds."""
    first, *rest = name.split(".")
    shown, value = first, frame.f_locals.get(first)
    for attribute in rest:
        if isinstance(value, torch.Tensor) or type(value).__dictoffset__ == 0:
            break
        held = vars(value)
        places = [held, *(held.get(f"_{kind}") for kind in ("modules", "parameters", "buffers"))]
        value = next((d[attribute] for d in places if isinstance(d, dict) and attribute in d), None)
        shown = f"{shown}.{attribute}"
    return shown, value


def _shown(value: Any) -> Iterator[str]:
    if isinstance(value, torch.Tensor):
        yield pytree.described(value)
    elif isinstance(value, torch.nn.Module) and type(value).__module__.startswith("torch.nn.modules."):
        # A container has a line for each of its parts, which says little of the call that failed.
        yield type(value).__name__ if value._modules else one_line(repr(value), _LONGEST)
