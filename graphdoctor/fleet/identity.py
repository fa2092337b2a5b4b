"""Whether a result in the store is still that of its target, or the scan has to be made again."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import graphdoctor
from graphdoctor.dynamic.named.targets import NoSuchTarget, in_file, is_named, named_target
from graphdoctor.model.fleet import Target
from graphdoctor.target_torch.installed import torch_available


def key(target: Target, options: Sequence[str]) -> str:
    """The same while the arguments, the given files and folders, graphdoctor and torch are the same.

    Of a name (``hf:BertModel``) the file counts that defines it. Files that a given file imports are not looked at.
    """
    parts = [*target.arguments, "", *options, graphdoctor.__version__, torch_available() or ""]
    stamps = [stamp for argument in target.arguments for stamp in _stamps(_path(target.folder, argument))]
    return hashlib.sha256(json.dumps([parts, stamps]).encode()).hexdigest()


def _path(folder: Path, argument: str) -> Path:
    path = folder / argument
    if not path.exists() and is_named(argument):
        with contextlib.suppress(NoSuchTarget):
            return named_target(argument).file
    named = in_file(str(path))
    return path if named is None else Path(named[0])


def _stamps(path: Path) -> Iterator[str]:
    try:
        if path.is_file():
            yield hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_dir():
            for file in sorted(path.rglob("*.py")):
                found = file.stat()
                yield f"{file} {found.st_mtime_ns} {found.st_size}"
    except OSError as error:
        yield str(error)
