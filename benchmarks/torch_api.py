"""Every operator and layer of torch, called with torch's own sample inputs: what the static pass says, and Dynamo.

``python -m benchmarks.torch_api`` writes one small program for each sample (a function of torch, the method of a tensor
where there is one, a layer in eval and in train mode), runs it under Dynamo by default and with ``fullgraph=True``, and
scans them all. Results go to ``results/torch_api.json``, the programs on which the two disagree to the terminal. The
samples come from ``torch.testing``, which needs the package expecttest. Takes about four minutes.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from graphdoctor.lint.engine import analyse

RESULTS = Path(__file__).parent / "results" / "torch_api.json"
#: Samples of one operator or layer: the first ones differ most.
_SAMPLES = 2

_CALL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, {names}):
        return {call}
"""


class NotWritten(Exception):
    """A value that has no short text in Python."""


@dataclass(frozen=True)
class Program:
    """A module with one call, the tensors that its forward gets, and whether it trains."""

    name: str
    call: str
    text: str
    tensors: tuple[torch.Tensor, ...]
    training: bool = False


def written(value: Any, tensors: list[torch.Tensor]) -> str:
    """``value`` as it is written in a call; tensors become arguments of the program. Raises NotWritten."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_nested:
            raise NotWritten
        tensors.append(value.detach().clone())
        return f"t{len(tensors) - 1}"
    if isinstance(value, float) and repr(value) in ("inf", "-inf", "nan"):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return str(value)
    if isinstance(value, (tuple, list)):
        inside = ", ".join(written(item, tensors) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside},)" if value else "()"
    raise NotWritten


def arguments(args: Sequence[Any], kwargs: Mapping[str, Any], tensors: list[torch.Tensor]) -> str:
    """The arguments of a call as they are written."""
    named = [f"{name}={written(value, tensors)}" for name, value in kwargs.items()]
    return ", ".join([*(written(value, tensors) for value in args), *named])


def program(name: str, call: str, tensors: list[torch.Tensor], layer: str = "None", training: bool = False) -> Program:
    """The program that makes ``call``."""
    names = ", ".join(f"t{number}" for number in range(len(tensors)))
    shown = call if layer == "None" else f"{layer}: {call}"
    return Program(name, shown, _CALL.format(layer=layer, names=names, call=call), tuple(tensors), training)


def operators() -> Iterator[Program]:
    """The functions of torch, and the methods of tensors."""
    for op in op_db:
        known = sorted(op.supported_dtypes("cpu"), key=lambda dtype: (dtype != torch.float32, str(dtype)))
        for number, sample in zip(range(_SAMPLES), op.sample_inputs("cpu", known[0]) if known else (), strict=False):
            title = f"{op.name.replace('.', '_')}_{op.variant_test_name}_{number}"
            if _is_named(op.name):
                tensors: list[torch.Tensor] = []
                try:
                    call = f"torch.{op.name}({arguments((sample.input, *sample.args), sample.kwargs, tensors)})"
                    yield program(f"{title}_function", call, tensors)
                except NotWritten:
                    pass
            method = getattr(op.method_variant, "__name__", "")
            if method.isidentifier() and isinstance(sample.input, torch.Tensor):
                tensors = []
                try:
                    receiver = written(sample.input, tensors)
                    call = f"{receiver}.{method}({arguments(sample.args, sample.kwargs, tensors)})"
                    yield program(f"{title}_method", call, tensors)
                except NotWritten:
                    pass


def _is_named(dotted: str) -> bool:
    found: Any = torch
    for part in dotted.split("."):
        found = getattr(found, part, None)
    return found is not None


def layers() -> Iterator[Program]:
    """The layers and losses of torch.nn."""
    for info in module_db:
        name = info.module_cls.__name__
        for training in (False, True):
            samples = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
            )
            usable = [sample for sample in samples if sample.forward_input is not None and hasattr(torch.nn, name)]
            for number, sample in zip(range(_SAMPLES), usable, strict=False):
                made, tensors = sample.constructor_input, list[torch.Tensor]()
                try:
                    layer = f"nn.{name}({arguments(made.args, made.kwargs, tensors)})"
                    call = f"self.layer({arguments(sample.forward_input.args, sample.forward_input.kwargs, tensors)})"
                except NotWritten:
                    continue
                if not any(part in layer for part in ("t0", "t1")):
                    yield program(f"{name}_{number}_{'train' if training else 'eval'}", call, tensors, layer, training)


def verdict(one: Program, file: Path) -> str | None:
    """``"one graph"``, ``"breaks"``, or ``"only fullgraph fails"``; None where it does not run in eager."""
    spec = importlib.util.spec_from_file_location("sample", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.Net().train(one.training)
    try:
        net(*(tensor.clone() for tensor in one.tensors))
    except Exception:
        return None
    torch._dynamo.reset()
    try:
        torch.compile(net, backend="eager", fullgraph=True)(*(tensor.clone() for tensor in one.tensors))
        fails = False
    except Exception:
        fails = True
    torch._dynamo.reset()
    try:
        found = torch._dynamo.explain(net)(*(tensor.clone() for tensor in one.tensors))
        if found.graph_break_count or not found.graph_count:
            return "breaks"
    except Exception:
        return "breaks"
    return "only fullgraph fails" if fails else "one graph"


def main() -> None:
    warnings.simplefilter("ignore")
    torch._logging.set_logs(dynamo=logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        ran: dict[str, tuple[Program, str]] = {}
        for one in (*operators(), *layers()):
            file = Path(folder) / f"{one.name}.py"
            file.write_text(one.text)
            seen = verdict(one, file)
            if seen is not None and one.tensors:
                ran[file.name] = one, seen
        scanned = analyse([(Path(folder) / name, name) for name in ran])
    flagged = {found.location.path for found in scanned.findings if found.severity == "error"}
    missed = sorted(one.call for name, (one, seen) in ran.items() if seen != "one graph" and name not in flagged)
    alarms = sorted(one.call for name, (one, seen) in ran.items() if seen == "one graph" and name in flagged)
    result = {
        "torch": torch.__version__,
        "programs": len(ran),
        "break": sum(seen == "breaks" for _, seen in ran.values()),
        "fail with fullgraph only": sum(seen == "only fullgraph fails" for _, seen in ran.values()),
        "missed": missed,
        "false alarms": alarms,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
