"""What to write where a library wraps the model. Runs in the worker: the notes depend on the class of the model.

The facts were checked on torch 2.13.0 with transformers 5.23, accelerate 1.15 and lightning 2.6.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any

from graphdoctor.model.advice import Note, Placement

_PLUGIN = """\
from accelerate import Accelerator
from accelerate.utils import TorchDynamoPlugin

accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend="inductor"{arguments}))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"""

_REGIONS = """\
from accelerate.utils import compile_regions

model = compile_regions(model)"""

_FABRIC = """\
model = torch.compile(model)
model, optimizer = fabric.setup(model, optimizer)"""

_LIGHTNING = """\
module = torch.compile(module)
trainer.fit(module, loader)"""

_GENERATE = """\
model.generation_config.cache_implementation = "static"
model.forward = torch.compile(model.forward)
model.generate(**inputs)"""


def notes(model: Any, text: str, proposed: Sequence[Placement]) -> tuple[Note, ...]:
    """The notes for ``model``, whose file is ``text``, given the ``proposed`` placements."""
    imported = _imported(text)
    regional = any(placement.kind == "blocks" for placement in proposed)
    found = []
    if _is_pretrained(model) and model.can_generate():
        found.append(
            Note(
                "Generation",
                _GENERATE,
                "torch.compile(model).generate compiles nothing, because generate() calls the model inside. A static "
                "cache keeps the shapes.",
            )
        )
    if _is_pretrained(model) or "accelerate" in imported:
        arguments = ", use_regional_compilation=True" if regional else ""
        found.append(
            Note("Accelerate", _PLUGIN.format(arguments=arguments), "In place of a torch.compile of your own.")
        )
        if regional:
            found.append(Note("Accelerate, without its launcher", _REGIONS))
    if imported & {"lightning", "lightning_fabric"}:
        found.append(Note("Fabric", _FABRIC, "Compile before setup(), which then compiles again around its wrappers."))
    if imported & {"lightning", "pytorch_lightning"}:
        found.append(Note("Lightning", _LIGHTNING))
    return tuple(found)


def _is_pretrained(model: Any) -> bool:
    transformers = sys.modules.get("transformers")
    return transformers is not None and isinstance(model, transformers.PreTrainedModel)


def _imported(text: str) -> set[str]:
    """The top-level packages that ``text`` imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
