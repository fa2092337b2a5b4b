"""What ``torch.compile`` accepts in the supported versions of torch, and in the installed one.

The static pass imports no torch: the names of the supported versions are bundled (``compile_names.json``, which
``tools/compile_names.py`` makes), and those of the installed one are read from its source files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from graphdoctor.target_torch.installed import torch_folder
from graphdoctor.target_torch.source_files import Kind, TorchNames, read


@dataclass(frozen=True)
class CompileNames:
    """The names that any of ``versions`` has. ``options`` has the type of each and the default of flags.

    A type or a default that is not the same in all versions is None. ``dynamo`` and ``inductor`` are what may be
    assigned to the two configurations, ``options`` what may be a key of ``options=``.
    """

    versions: tuple[str, ...]
    arguments: tuple[str, ...]
    modes: tuple[str, ...]
    backends: tuple[str, ...]
    stances: tuple[str, ...]
    options: dict[str, Kind]
    dynamo: frozenset[str]
    inductor: frozenset[str]


@cache
def bundled() -> CompileNames:
    """The bundled table."""
    raw = json.loads((resources.files("graphdoctor.target_torch") / "compile_names.json").read_text(encoding="utf-8"))
    types = {name: (kind[0], kind[1]) for name, kind in raw["types"].items()}
    return CompileNames(
        versions=tuple(raw["versions"]),
        arguments=tuple(raw["arguments"]),
        modes=tuple(raw["modes"]),
        backends=tuple(raw["backends"]),
        stances=tuple(raw["stances"]),
        options={name: types.get(name) for name in (*raw["inductor"], *raw["handled"])},
        dynamo=frozenset(raw["dynamo"]),
        inductor=frozenset(raw["inductor"]),
    )


@cache
def installed() -> TorchNames | None:
    """The names of the installed torch; None where there is none, or one whose files cannot be read as expected."""
    folder = torch_folder()
    try:
        return read(folder) if folder is not None else None
    # Whatever a future torch looks like, it costs certainty and not the scan.
    except (OSError, SyntaxError, ValueError, LookupError, StopIteration):
        return None


def is_known(kind: str, name: str) -> bool:
    """Whether ``name`` is in the field ``kind`` of CompileNames, or the installed torch has it."""
    if name in getattr(bundled(), kind):
        return True
    torch = installed()
    if torch is None:
        return False
    return name in torch.inductor or name in torch.handled if kind == "options" else name in getattr(torch, kind)
