"""What a scan is given: files and folders, or the text of one file on the standard input."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.config.suggestions import hint
from graphdoctor.scan.options import STDIN, ScanOptions, UsageError
from graphdoctor.source import language, top_level_names
from graphdoctor.source.discover import Discovery, PathNotFound, discover, shown
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import decode_as, read, text_of

if TYPE_CHECKING:
    from graphdoctor.config.project import Config


@dataclass(frozen=True)
class Given:
    """The files to scan; ``unsaved`` holds the text of one that is not read from disk, by resolved path."""

    discovery: Discovery
    unsaved: Mapping[Path, str] = field(default_factory=dict)

    def text(self, file: Path) -> str:
        """The text of ``file``; empty when it cannot be read."""
        text = self.unsaved.get(file.resolve())
        return text if text is not None else text_of(file)


def given(options: ScanOptions, settings: Config) -> Given:
    """The files that ``options`` name. Raises UsageError."""
    if STDIN in options.paths:
        found = _standard_input(options)
    else:
        if options.stdin_filename is not None:
            raise UsageError("--stdin-filename names what comes on the standard input: give the path - with it")
        try:
            found = Given(discover(options.paths, (*settings.exclude, *settings.extend_exclude)), dict(options.texts))
        except PathNotFound as error:
            raise UsageError(str(error)) from None
        _check_language(options, found)
    _check_target(options, found)
    return found


def _check_language(options: ScanOptions, found: Given) -> None:
    """One file that is given alone must be Python; of several, those that are not are reported as not read.

    Raises UsageError.
    """
    if len(found.discovery.files) != 1 or os.path.isdir(options.paths[0]):
        return
    file, path = found.discovery.files[0]
    try:
        language.check(str(file), read(file)[0])
    except SourceError as error:
        raise UsageError(f"{path} {error}") from None


def _standard_input(options: ScanOptions) -> Given:
    if len(options.paths) > 1:
        raise UsageError("- is the standard input, one file: give it alone")
    if options.stdin is None:
        raise UsageError("- is the standard input, and there is none")
    file = Path(os.path.abspath(options.stdin_filename or "<stdin>"))
    root = Path.cwd() if file.is_relative_to(Path.cwd()) else file.parent
    try:
        text, _ = decode_as(file, options.stdin)
    except SourceError as error:
        raise UsageError(f"the standard input {error}") from None
    return Given(Discovery(((file, shown(file, root)),), root), {file.resolve(): text})


def _check_target(options: ScanOptions, found: Given) -> None:
    """``--target`` must be a name of the file. Raises UsageError with the nearest one."""
    if options.target is None or len(found.discovery.files) != 1 or os.path.isdir(options.paths[0]):
        return
    file, path = found.discovery.files[0]
    known = top_level_names.top_level(found.text(file))
    if known is not None and options.target.partition(".")[0] not in known:
        advice = hint(options.target, known, "name a function, a module class or an object of the file")
        raise UsageError(f"--target {options.target!r}: {path} has nothing of this name; {advice}")
