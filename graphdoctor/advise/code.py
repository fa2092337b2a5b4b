"""The lines that a user pastes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

MODEL = "model = torch.compile(model)"
LOSS = "loss_function = torch.compile(loss_function)"
OPTIMIZER = (
    "# after the learning-rate scheduler is made, with lr=torch.tensor(...)\n"
    "optimizer.step = torch.compile(optimizer.step)"
)


def access(name: str) -> str:
    """The expression for the submodule ``name`` of ``model``."""
    parts = name.split(".")
    if not all(part.isidentifier() or part.isdigit() for part in parts):
        return f"model.get_submodule({json.dumps(name)})"
    return "model" + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts)


def in_place(names: Sequence[str], containers: Sequence[str] = (), hidden: Collection[str] = ()) -> str:
    """The lines that compile each submodule in place, so that the keys of the state dict stay.

    ``containers`` hold nothing but submodules in ``names`` and become loops; of a container one kind of module is in
    ``hidden`` or none: those whose ``compile()`` compiles nothing.
    """
    lines = []
    for path in containers:
        member = next(name for name in names if name.startswith(f"{path}."))
        lines.append(f"for block in {access(path)}:\n    {_compiled('block', member in hidden)}")
    inside = tuple(f"{path}." for path in containers)
    lines += [_compiled(access(name), name in hidden) for name in names if not name.startswith(inside)]
    return "\n".join(lines)


def _compiled(expression: str, hidden: bool) -> str:
    return f"{expression}.forward = torch.compile({expression}.forward)" if hidden else f"{expression}.compile()"
