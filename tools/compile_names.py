"""The table of what torch.compile accepts in each supported version of torch, from the files of unpacked wheels.

    python -m pip download --no-deps --only-binary=:all: --platform macosx_11_0_arm64 --python-version 3.11 torch==2.6.0
    unzip -q torch-2.6.0-*.whl 'torch/*.py' -d 2.6
    python tools/compile_names.py 2.6/torch 2.7/torch ... > graphdoctor/target_torch/compile_names.json

Wheels for macOS hold the same Python files as all others and no CUDA libraries. Each name is written with the versions
that have it. ``tests/tools/test_compile_names.py`` holds that the row of the installed torch is right.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphdoctor.target_torch.source_files import TorchNames, read

KINDS = ("arguments", "modes", "backends", "stances", "handled", "dynamo", "inductor")


def version_of(folder: Path) -> str:
    """``2.6`` of the torch in ``folder``."""
    found = re.search(r"__version__ = '(\d+\.\d+)", (folder / "version.py").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{folder} holds no torch/version.py")
    return found[1]


def table(versions: Mapping[str, TorchNames]) -> dict[str, Any]:
    """The table for ``versions``, the oldest first."""
    made: dict[str, Any] = {"versions": list(versions)}
    for kind in KINDS:
        names = [name for found in versions.values() for name in getattr(found, kind) if "TESTING" not in name]
        # Arguments keep their order; the rest is sorted, so that a new version changes few lines.
        ordered = dict.fromkeys(names) if kind == "arguments" else sorted(set(names))
        made[kind] = {
            name: spans([name in getattr(f, kind) for f in versions.values()], list(versions)) for name in ordered
        }
    made["types"] = {name: kind for name in made["inductor"] if (kind := common(name, list(versions.values())))}
    return made


def spans(has: Sequence[bool], versions: Sequence[str]) -> str:
    """``2.6-2.9, 2.11-2.15``: the versions in which ``has`` is true."""
    found: list[list[str]] = []
    for number, version in enumerate(versions):
        if has[number] and number and has[number - 1]:
            found[-1][1] = version
        elif has[number]:
            found.append([version, version])
    return ", ".join(first if first == last else f"{first}-{last}" for first, last in found)


def common(name: str, versions: Sequence[TorchNames]) -> list[Any] | None:
    """The type of a setting, and the default of a flag, where they are the same in every version that has it."""
    kinds = [found.inductor[name] for found in versions if name in found.inductor]
    types = {kind and kind[0] for kind in kinds}
    defaults = {kind and kind[1] for kind in kinds}
    kind = types.pop()
    if types or kind is None:
        return None
    return [kind, defaults.pop() if len(defaults) == 1 else None]


if __name__ == "__main__":
    folders = {version_of(Path(name)): Path(name) for name in sys.argv[1:]}
    ordered = sorted(folders, key=lambda version: tuple(map(int, version.split("."))))
    sys.stdout.write(json.dumps(table({version: read(folders[version]) for version in ordered}), indent=0) + "\n")
