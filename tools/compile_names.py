"""What torch.compile accepts in the installed torch: modes, backends, arguments, options and settings.

    python tools/compile_names.py > graphdoctor/compile_names.json

The rules read the table; ``tests/tools/test_compile_names.py`` holds that it is what this prints.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from typing import Any

import torch
import torch._dynamo
import torch._inductor.config
from torch._dynamo import eval_frame


def names() -> dict[str, Any]:
    """The table. An option maps to its type, and a flag to its default too: numbers depend on the machine."""
    inductor = torch._inductor.config
    defaults = inductor.get_config_copy()
    return {
        "torch": torch.__version__.partition("+")[0],
        "arguments": list(inspect.signature(torch.compile).parameters),
        "modes": sorted(torch._inductor.list_mode_options()),
        "backends": sorted(b for b in torch._dynamo.list_backends(exclude_tags=None) if "TESTING" not in b),
        "stances": sorted(("default", *_stances())),
        "options": {name: _literal(defaults[name], inductor.get_type(name)) for name in sorted(defaults)},
        "dynamo": sorted(torch._dynamo.config.get_config_copy()),
    }


def _stances() -> list[str]:
    """The stances that ``torch._dynamo.eval_frame`` compares with, read from its source: there is no list of them."""
    return sorted(set(re.findall(r'_stance\.stance == "(\w+)"', inspect.getsource(eval_frame))) - {"default"})


def _literal(value: Any, kind: Any) -> list[Any] | None:
    if kind not in (bool, int, float, str):
        return None
    return [kind.__name__, value if kind is bool else None]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(names(), indent=0) + "\n")
