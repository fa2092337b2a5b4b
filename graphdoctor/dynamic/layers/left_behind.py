"""What one call leaves behind, compiled or not, in code that stands alone.

The functions are copied into the script that reproduces a miscompilation, so they use nothing but torch.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import torch


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in nested lists, tuples and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    held = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for each in held for tensor in tensors_in(each)]


def left_behind(made: Any, backend: Any, backward: bool) -> dict[str, Any]:
    """By oracle and name; ``made`` is (function, args, kwargs), of which copies are called."""
    torch.compiler.reset()
    torch.manual_seed(0)
    function, args, kwargs = copy.deepcopy(made)
    called = function if backend is None else torch.compile(function, backend=backend)
    inputs = tensors_in([args, kwargs])
    try:
        outputs = called(*args, **kwargs)
        outs = tensors_in(outputs)
        losses = [out.float().sum() for out in outs if out.requires_grad]
        if backward and losses:
            torch.autograd.backward(losses)
    except Exception:
        return {"exceptions: it": "raises"}
    found: dict[str, Any] = {"exceptions: it": "returns"}
    for number, out in enumerate(outs):
        strides = [stride for stride, size in zip(out.stride(), out.shape, strict=True) if size > 1]
        found[f"outputs: output {number}"] = out.detach()
        found[f"metadata: output {number}"] = (out.dtype, tuple(out.shape), strides, out.requires_grad)
        found[f"aliasing: output {number}"] = [
            i for i, value in enumerate(inputs) if value.untyped_storage()._cdata == out.untyped_storage()._cdata
        ]
    held = {f"input {number}": value for number, value in enumerate(inputs)}
    if isinstance(function, torch.nn.Module):
        held.update({**dict(function.named_parameters()), **dict(function.named_buffers())})
    for name, value in held.items():
        found[f"state: {name}"] = value.detach()
        if value.is_leaf and value.grad is not None:
            found[f"gradients: {name}"] = value.grad
    return found


def differences(made: Any, backend: Any, backward: bool) -> list[str]:
    """What is not the same with ``backend`` as without compiling."""
    eager, compiled = left_behind(made, None, backward), left_behind(made, backend, backward)
    found = []
    for name in {**eager, **compiled}:
        one, other = eager.get(name), compiled.get(name)
        try:
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
                if one.dtype == other.dtype and one.shape == other.shape:
                    torch.testing.assert_close(other, one, equal_nan=True)
            elif one != other:
                found.append(f"{name}: {one} without compiling, {other} compiled")
        except AssertionError as error:
            found.append(f"{name}: {str(error).splitlines()[0]}")
    raising = [text for text in found if text.startswith("exceptions: ")]
    return raising or found


def text() -> str:
    """The source of the functions above, as the script has it."""
    functions: tuple[Callable[..., Any], ...] = (tensors_in, left_behind, differences)
    sources = "\n\n".join(inspect.getsource(function) for function in functions)
    return f"import copy\nfrom typing import Any\n\nimport torch\n\n\n{sources}"
