"""The model classes of the installed transformers."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from graphdoctor.dynamic.named.transformers_models import build

__all__ = ["build", "names"]

#: Parsing the whole of five hundred files takes ten seconds.
_EXPORTED = re.compile(r"^__all__ = (\[.*?\])", re.MULTILINE | re.DOTALL)
_ENDINGS = ("Model", "ForConditionalGeneration")


def names() -> Iterator[str]:
    """The public model classes, read from the sources: nothing is imported."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        return
    for file in sorted((Path(spec.origin).parent / "models").glob("*/modeling_*.py")):
        for name in _exported(file):
            if name.endswith(_ENDINGS) and not name.endswith("PreTrainedModel"):
                yield name


def _exported(file: Path) -> list[str]:
    found = _EXPORTED.search(file.read_text(encoding="utf-8"))
    return list(ast.literal_eval(found[1])) if found else []
