"""What a scan reads: files and folders, or the text of one file on the standard input."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphdoctor.config.suggestions import hint
from graphdoctor.scan.followed_packages import Followed
from graphdoctor.scan.options import STDIN, ScanOptions, UsageError
from graphdoctor.source import called_target, language, top_level_names
from graphdoctor.source.discover import Discovery, PathNotFound, discover, shown
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import decode_as, is_file, read, text_of
from graphdoctor.source.path_patterns import PathPattern
from graphdoctor.source.saved_calls import script_of


@dataclass(frozen=True)
class Inputs:
    """The files to scan.

    ``paths`` are those that the user named. ``unsaved`` holds texts, by resolved path, that stand for what is on disk;
    ``stdin`` is what came on the standard input, which is one of them.
    """

    paths: tuple[str, ...]
    discovery: Discovery
    unsaved: Mapping[Path, str] = field(default_factory=dict)
    stdin: bytes | None = None

    @property
    def root(self) -> Path:
        """The folder that shown paths start from."""
        return self.discovery.root

    @property
    def named_file(self) -> tuple[Path, str] | None:
        """The one file that was named alone, with its shown path; None for folders and several files."""
        if len(self.discovery.files) != 1 or os.path.isdir(self.paths[0]):
            return None
        return self.discovery.files[0]

    @property
    def read(self) -> tuple[tuple[Path, str], ...]:
        """The files whose source is analysed: with the one file of a saved call, the script that it is a call of."""
        files = self.discovery.files
        if self.named_file is None:
            return files
        script = script_of(self.named_file[0].absolute(), self.text(self.named_file[0]))
        if script is None or not is_file(script):
            return files
        return (*files, (script, shown(script, self.root)))

    def text(self, file: Path) -> str:
        """The text of ``file``; empty when it cannot be read."""
        text = self.unsaved.get(file.resolve())
        return text if text is not None else text_of(file)


def inputs_of(options: ScanOptions, exclude: Sequence[PathPattern]) -> Inputs:
    """The files that ``options`` name; of folders those that ``exclude`` does not match. Raises UsageError."""
    if STDIN in options.paths:
        found = _standard_input(options)
    else:
        if options.stdin_filename is not None:
            raise UsageError("--stdin-filename names what comes on the standard input: give the path - with it")
        try:
            found = Inputs(options.paths, discover(options.paths, exclude), dict(options.texts))
        except PathNotFound as error:
            raise UsageError(str(error)) from None
        _check_language(found)
    if options.target is not None:
        _check_target(options.target, found)
    return found


def reported_path(inputs: Inputs, followed: Followed, only_given: bool) -> Callable[[Path], str | None]:
    """How a file beside the scanned ones is shown; None where its findings are not reported.

    A file given alone is reported with the files of its own project that it calls; of several, only they are.
    ``only_given`` reports of one file too only itself. What is followed on request is always reported.
    """
    alone = len(inputs.discovery.files) == 1 and not only_given

    def path_of(file: Path) -> str | None:
        if followed.has(file) or (alone and not {"site-packages", "dist-packages"} & set(file.parts)):
            return shown(file, inputs.root)
        return None

    return path_of


def _check_language(inputs: Inputs) -> None:
    """One file that is given alone must be Python; of several, those that are not are reported as not read.

    Raises UsageError.
    """
    if inputs.named_file is None:
        return
    file, path = inputs.named_file
    try:
        language.check(str(file), read(file)[0])
    except SourceError as error:
        raise UsageError(f"{path} {error}") from None


def _standard_input(options: ScanOptions) -> Inputs:
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
    return Inputs(options.paths, Discovery(((file, shown(file, root)),), root), {file.resolve(): text}, options.stdin)


def _check_target(target: str, inputs: Inputs) -> None:
    """``--target`` must be a name of the file, or a call of one. Raises UsageError with the nearest name."""
    name = called_target.name_of(target)
    if wrong := called_target.problem(target):
        raise UsageError(wrong)
    if inputs.named_file is None:
        return
    file, path = inputs.named_file
    known = top_level_names.top_level(inputs.text(file))
    if known is not None and name.partition(".")[0] not in known:
        advice = hint(name, known, "name a function, a module class or an object of the file")
        raise UsageError(f"--target {target!r}: {path} has nothing of this name; {advice}")
