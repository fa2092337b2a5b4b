"""Which logs the installed torch has: the names in ``TORCH_LOGS`` and the arguments of ``torch._logging.set_logs``.

They are read from its source files; torch is not imported.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graphdoctor.target_torch.installed import LOG_FILES, torch_folder


@dataclass(frozen=True)
class LogNames:
    """``components`` take a level, ``artifacts`` a bool; ``arguments`` are what ``set_logs`` takes."""

    components: frozenset[str]
    artifacts: frozenset[str]
    arguments: frozenset[str]


@cache
def installed_logs() -> LogNames | None:
    """The logs of the installed torch; None where there is none, or one whose files cannot be read as expected."""
    folder = torch_folder()
    try:
        return read_logs(folder) if folder is not None else None
    # Whatever a future torch looks like, it costs a rule and not the scan.
    except (OSError, SyntaxError, ValueError, StopIteration):
        return None


def read_logs(folder: Path) -> LogNames:
    """The logs of the torch in ``folder``. Raises OSError, SyntaxError or StopIteration where it is not as expected."""
    registered, internal = (ast.parse((folder / name).read_text(encoding="utf-8")) for name in LOG_FILES)
    function = next(n for n in ast.walk(internal) if isinstance(n, ast.FunctionDef) and n.name == "set_logs")
    return LogNames(
        components=frozenset(_named(registered, "register_log")),
        artifacts=frozenset(_named(registered, "register_artifact")),
        arguments=frozenset(argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)),
    )


def _named(tree: ast.Module, function: str) -> list[str]:
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    first = (
        call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == function and call.args
    )
    return [node.value for node in first if isinstance(node, ast.Constant) and isinstance(node.value, str)]
