"""What the rules about `TORCH_LOGS` share: where it is set, and whether torch has read it by then. Not a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.usage.events import Store, dotted
from graphdoctor.syntax.walk import find

#: What starts processes.
_STARTS = re.compile(r"subprocess|multiprocessing|spawn|launch|\bexec[lv]|os\.system|Process\(|\bray\b")


def sets_logs(event: Store) -> bool:
    """Whether a store sets the logs of torch: ``os.environ["TORCH_LOGS"] = ...``."""
    target = event.target
    if not isinstance(target, cst.Subscript) or event.container is None or event.container.name != "os.environ":
        return False
    key = target.slice[0].slice
    literal = key.value if isinstance(key, cst.Index) else None
    return isinstance(literal, cst.SimpleString) and literal.evaluated_value == "TORCH_LOGS"


def is_read_already(event: Store) -> bool:
    """Whether a line at the top level above it imports torch, which reads the variable then, and no process is started
    that reads it later.
    """
    source = event.site.module
    if _STARTS.search(source.text):
        return False
    line = source.location(event.node).line
    return any(source.location(each).line < line for each in _imports(source.top))


def _imports(module: cst.Module) -> Iterator[cst.CSTNode]:
    for statement in module.body:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from (each for each in find(statement, cst.Import) if any(_is_torch(a.name) for a in each.names))
            yield from (
                each for each in find(statement, cst.ImportFrom) if not each.relative and _is_torch(each.module)
            )


def _is_torch(name: cst.CSTNode | None) -> bool:
    return name is not None and dotted(name).partition(".")[0] == "torch"
