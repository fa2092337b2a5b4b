"""What torch does at once, when it is imported or asked to compile, and what only at the first call.

``run_usage.py`` runs it.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import torch
from usage_claims import Net, X, claim, compiled, graphs, raised


@claim
def gd629_fallbacks() -> list[str]:
    """What calls raise after a `try` that compiles: without a call in it, with one, and with `suppress_errors`."""

    def broken(graph: Any, inputs: Any) -> Any:
        raise ValueError

    def tried(call: bool) -> Any:
        try:
            model = compiled(Net(), backend=broken)
            if call:
                model(X)
        except RuntimeError:
            model = Net()
        return model

    found = [raised(lambda call=call: tried(call)(X)).partition(":")[0] for call in (False, True)]
    with torch._dynamo.config.patch(suppress_errors=True):
        return [*found, raised(lambda: tried(False)(X))]


@claim
def gd629_raised_at_once() -> list[str]:
    cases: list[dict[str, Any]] = [{"backend": "none such"}, {"mode": "none such"}, {"options": {"none such": 1}}]
    return [raised(lambda case=case: torch.compile(Net(), **case)).partition(":")[0] for case in cases]


@claim
def gd630_compile_call() -> int:
    return graphs(lambda: compiled(Net()))


@claim
def gd631_logs() -> list[bool]:
    """Whether something is logged that is asked for before, and after, the import."""
    asked = "import os; os.environ['TORCH_LOGS'] = 'graph_code'\n"
    used = "torch.compile(torch.sin, backend='eager')(torch.rand(3))\n"

    def logs(code: str) -> bool:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return "TRACED GRAPH" in done.stderr

    return [logs(f"{asked}import torch\n{used}"), logs(f"import torch\n{asked}{used}")]


@claim
def gd635_suppressed() -> list[str]:
    """What a call raises when its backend fails: without the setting, with it, and with it and ``fullgraph``."""

    def failing(*_: Any) -> Any:
        raise ValueError("no code for this graph")

    def call(suppress: bool, **options: Any) -> str:
        torch._dynamo.reset()
        with torch._dynamo.config.patch(suppress_errors=suppress):
            model = torch.compile(Net(), backend=failing, **options)
            return raised(lambda: model(X)).partition(":")[0]

    return [call(False), call(True), call(True, fullgraph=True)]


@claim
def gd636_hooks() -> list[int]:
    """Calls of a hook on a layer: one from before the first call, one from after it, and that with guards on hooks."""

    def calls(late: bool, skip: bool) -> int:
        torch._dynamo.reset()
        seen: list[int] = []
        net = Net()
        model = compiled(net)
        with torch._dynamo.config.patch(skip_nnmodule_hook_guards=skip):
            if late:
                model(X)
            next(net.children()).register_forward_hook(lambda *_: seen.append(1))
            model(X)
        return len(seen)

    return [calls(False, True), calls(True, True), calls(True, False)]


@claim
def gd637_names() -> list[bool]:
    """Whether all names begin with those of the model: of the wrapper, of what is in it, and compiled in place."""
    wrapped, in_place = torch.compile(Net()), Net()
    in_place.compile()
    names = {name for name, _ in Net().named_parameters()}
    models: list[Any] = [wrapped, wrapped._orig_mod, in_place]
    return [{name for name, _ in model.named_parameters()} == names for model in models]
