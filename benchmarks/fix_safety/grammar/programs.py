"""Whole programs: parts of the grammar in a function or a module, in the shapes in which people write them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from benchmarks.fix_safety.grammar import (
    aimed,
    around,
    array_functions,
    choices,
    chosen_forms,
    forms,
    host,
    late_forms,
    names,
    output,
)
from benchmarks.fix_safety.grammar.draft import Draft
from benchmarks.fix_safety.inputs import inputs_for
from benchmarks.fix_safety.observe import observe
from benchmarks.fix_safety.program import Program

#: How ``torch`` is named, or lost, where programs are not written as usual.
_TORCH_ENDS = (
    "del torch",
    "torch = None",
    "torch = F = None",
    "import math as torch",
    "for torch in (1, 2):\n    pass",
)
_TORCH_STARTS = (
    "try:\n    import torch\nexcept ImportError:\n    torch = None\n", "import torch, math\n",
    "import torch as torch\n", "import torch  # é\n", "import math; import torch\n", "if True:\n    import torch\n",
    "from typing import TYPE_CHECKING\nimport torch\n", "import torch.nn\n", "torch = __import__('torch')\n",
    "import importlib\ntorch = importlib.import_module('torch')\n", "from torch import *\nimport torch\n",
    "with __import__('contextlib').suppress(ImportError):\n    import torch\n", "import torch\nimport torch._dynamo\n",
)  # fmt: skip
_WRAPS = (
    "with torch.no_grad():",
    "with torch.enable_grad():",
    "if True:",
    "for _ in range(1):",
    "try:",
    "with torch.set_grad_enabled({flag}):",
)
_SAMPLES = (
    "torch.linspace(-1, 1, 6).reshape(2, 3)",
    "torch.ones(2, 3)",
    "-torch.ones(2, 3)",
    "torch.zeros(2, 3)",
    "torch.ones(3, 3)",
)


#: What a program is about, and how often.
_PARTS: dict[Callable[[Draft], tuple[list[str], str]], int] = {
    aimed.aimed: 40,
    choices.choice: 30,
    names.look_up: 5,
    names.frame: 3,
    names.power: 3,
    names.draw_callable: 2,
    names.copied: 3,
    forms.form: 14,
    late_forms.late_form: 14,
    chosen_forms.chosen_form: 14,
    array_functions.array_function: 6,
    host.host: 6,
    host.bar: 3,
    around.conversion: 2,
    around.mask: 2,
    around.counter: 2,
}


def program(seed: int, name: str = "", with_sample: bool = False) -> Program:
    """The program of a seed. ``with_sample`` declares a sample that the program can be run on."""
    rng = random.Random(seed)
    name = name or f"program_{seed}"
    # A program that Python refuses, or that runs on no usual input, says nothing: the next one is drawn.
    for _ in range(50):
        made = drafted(rng, name, with_sample)
        if made is not None and _runs(made):
            return made
    raise ValueError(f"no program of seed {seed} runs")


def _runs(made: Program) -> bool:
    for inputs in inputs_for(made.arguments, 0, 6):
        seen = observe(made, made.text, inputs)
        if not seen.failed and not seen.calls[0].exception:
            return True
    return False


def drafted(rng: random.Random, name: str, with_sample: bool = False) -> Program | None:
    """A program that may raise whatever it is given; None where Python refuses it."""
    draft = Draft(rng, is_net=rng.random() < 0.7)
    lines = _body(draft)
    text = _module(draft, lines, with_sample)
    try:
        compile(text, name, "exec")
    except SyntaxError:
        return None
    arguments = tuple(role for role, _ in _ordered(draft))
    entry = "Net" if draft.is_net else "f"
    return Program(name, text, entry, arguments, frozenset(draft.features), tuple(draft.sample))


def _body(draft: Draft) -> list[str]:
    lines: list[str] = []
    if draft.chance(0.25):
        lines += around.before(draft)
    if draft.chance(0.45):
        lines += output.output(draft)
    part = draft.rng.choices(list(_PARTS), list(_PARTS.values()))[0]
    made, name = part(draft)
    lines += made
    if name and draft.chance(0.3):
        lines += around.after(draft, name)
    if name and draft.chance(0.4):
        lines += output.output(draft)
    if draft.chance(0.02):
        lines = [*output.shadowed(draft), *lines]
    if not name:
        return lines
    if draft.chance(0.05):
        wrap = draft.fill(draft.pick(_WRAPS))
        rest = ["finally:", "    pass"] if wrap == "try:" else []
        lines = [wrap, *draft.block(lines), *rest]
    return [*lines, around.result(draft, name)]


def _ordered(draft: Draft) -> list[tuple[str, str]]:
    """Roles and definitions of the arguments: those without a default first."""
    parameters = [(role, name, default) for name, (role, default) in draft.arguments.items()]
    parameters.sort(key=lambda argument: bool(argument[2]))
    return [(role, f"{name}={default}" if default else name) for role, name, default in parameters]


def _module(draft: Draft, lines: list[str], with_sample: bool) -> str:
    parameters = ", ".join(definition for _, definition in _ordered(draft))
    body = _with_globals(lines)
    if draft.is_net:
        main = _net(draft, parameters, body)
    else:
        main = _function(draft, parameters, body)
    if with_sample or draft.chance(0.3):
        main += _target(draft)
    elif not draft.is_net:
        main += "\n\ncompiled = torch.compile(f)\n"
    draft.need_for(main)
    for name in ("Scale", "Plain"):
        if f"{name}(" in main:
            draft.use(name)
    tail = ""
    if draft.chance(0.03):
        draft.features.add("torch renamed")
        tail = f"\n{draft.pick(_TORCH_ENDS)}\n"
    imports = sorted(draft.imports, key=lambda line: (line.startswith("from"), line))
    parts = ["\n".join(imports), *(text for text in draft.globals.values()), main]
    text = "\n\n".join(parts) + tail
    if draft.chance(0.03):
        draft.features.add("torch renamed")
        text = _renamed(draft, text)
    if draft.chance(0.05):
        text = (
            draft.pick(
                (
                    '"""Text of the module."""\n',
                    "#!/usr/bin/env python\n",
                    "from __future__ import annotations\n",
                    "'''a\nb'''; ONE = 1\n",
                )
            )
            + text
        )
    text = text if text.endswith("\n") else text + "\n"
    return _laid_out(draft, text)


def _laid_out(draft: Draft, text: str) -> str:
    """The same program, typed in another way."""
    if not draft.chance(0.15):
        return text
    draft.features.add("layout")
    way = draft.rng.randrange(7)
    if way == 0:
        return text.replace("\n", "\r\n")
    if way == 1:
        return text.rstrip("\n")
    if way == 2:
        return text.replace("    ", "\t")
    if way == 3:
        return re.sub(r"\by\b", "größe", text)
    if way == 4:
        return re.sub(r"(?m)^(    +)(y|x|z) = ", r"\1'é🙂'; \2 = ", text)
    if way == 5:
        return re.sub(r"(?m)^( +)if (.*):$", r"\1if (\n\1    \2  # é\n\1):", text)
    return text.replace("import torch\n", draft.pick(_TORCH_STARTS), 1)


def _renamed(draft: Draft, text: str) -> str:
    """The module without a global of the name torch, or with one that is something else."""
    if "import torch\n" not in text:
        return text
    renamed = text.replace("import torch\n", "import torch as th\n", 1).replace("torch.", "th.")
    return renamed.replace("import th.", "import torch.").replace("from th.", "from torch.")


def _with_globals(lines: list[str]) -> list[str]:
    """``global`` statements go first, where Python wants them."""
    first = [line for line in lines if line.startswith("global ")]
    return [*dict.fromkeys(first), *(line for line in lines if line not in first)]


def _function(draft: Draft, parameters: str, body: list[str]) -> str:
    function = "\n".join([f"def f({parameters}):", *draft.block(body)])
    if draft.chance(0.1):
        draft.features.add("closure")
        inner = "\n".join(draft.block(function.split("\n")))
        return f"def make(bound=2):\n    calls = []\n{inner}\n    return f\n\n\nf = make()\n"
    if draft.chance(0.1):
        return f"@torch.compile\n{function}\n"
    return f"{function}\n"


def _net(draft: Draft, parameters: str, body: list[str]) -> str:
    draft.need("from torch import nn")
    init = ["super().__init__()", *dict.fromkeys(draft.init)]
    lines = ["class Net(nn.Module):", "    def __init__(self):", *draft.block(init, 2), ""]
    for method in draft.methods.values():
        lines += [method, ""]
    return "\n".join([*lines, f"    def forward(self, {parameters}):", *draft.block(body, 2)]) + "\n"


def _target(draft: Draft) -> str:
    """A sample, as a user declares it; it tells the static pass sizes and dtypes of one call, not of all."""
    samples = {
        "tensor": draft.pick(_SAMPLES),
        "scalar": "2",
        "flag": "True",
        "list": "[1, 2]",
        "either": draft.pick(("2", "torch.ones(3)")),
    }
    draft.sample = values = [samples[role] for role, _ in _ordered(draft)]
    called = "Net()" if draft.is_net else "f"
    return f"\n\ndef graphdoctor_target():\n    return {called}, ({', '.join(values)},)\n"
