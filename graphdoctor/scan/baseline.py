"""Where the base of a comparison comes from: an earlier report, or a commit, whose source is read again."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import graphdoctor
from graphdoctor.diagnosis.compare import Base, compare
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.lint.result import PathOf
from graphdoctor.model.findings import Diagnosis, Finding, ScannedFile
from graphdoctor.report.json_format.reader import ReadError, read
from graphdoctor.scan.options import STDIN, UsageError, project_folder
from graphdoctor.source.discover import is_excluded
from graphdoctor.source.files import REPORT_LIMIT, read_bytes
from graphdoctor.source.git import Commit, GitError, base_commit, renames, write_files

if TYPE_CHECKING:
    from graphdoctor.scan.options import ScanOptions
    from graphdoctor.source.path_patterns import PathPattern

#: The static pass as the scan makes it: files with the paths to show, and the paths of helpers, to what is found there.
Predict = Callable[[Sequence[tuple[Path, str]], PathOf], tuple[Sequence[ScannedFile], Sequence[Finding]]]


def opened(options: ScanOptions) -> Base | Commit | None:
    """The base that ``options`` name, before the work of the scan. Raises UsageError."""
    if options.baseline is not None and options.diff_base is not None:
        raise UsageError("--baseline and --diff-base both name a base: use one of the two")
    if options.baseline is not None:
        return from_file(options.baseline)
    if options.diff_base is not None:
        if STDIN in options.paths:
            raise UsageError("--diff-base compares files of a git repository, and not the standard input")
        return commit_of(options.diff_base, project_folder(options))
    return None


def compared_files(base: str, head: str) -> Diagnosis:
    """The report in the JSON file ``head``, compared with the one in ``base``. Raises UsageError."""
    before, after = from_file(base), from_file(head).diagnosis
    return replace(after, comparison=compare(before, after))


def from_file(path: str) -> Base:
    """The report in the JSON file ``path``. Raises UsageError."""
    try:
        text = read_bytes(path, REPORT_LIMIT).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; `graphdoctor scan --report json={path}` writes one") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    try:
        # Where a report lies on this machine is nothing to the readers of a comparison.
        return Base(Path(path).name if Path(path).is_absolute() else path, read(text))
    except ReadError as error:
        raise UsageError(f"{path}: {error}") from None


def commit_of(ref: str, folder: Path) -> Commit:
    """The commit to compare with, in the repository around ``folder``. Raises UsageError."""
    try:
        return base_commit(ref, folder)
    except GitError as error:
        raise UsageError(f"--diff-base: {error}") from None


def from_commit(
    name: str, commit: Commit, head: Diagnosis, paths: Sequence[str], exclude: Sequence[PathPattern], predict: Predict
) -> Base:
    """What the static pass finds in ``commit``, in the files that ``head`` scanned and in those that are gone since.

    Renamed files go by their new path. Nothing of the work tree is touched: the commit is written to a folder of its
    own. Raises UsageError.
    """
    top = Path(os.path.realpath(commit.top))
    root = Path(os.path.realpath(head.root))
    with tempfile.TemporaryDirectory(prefix="graphdoctor-base-") as folder:
        try:
            written = write_files(commit, Path(folder))
            new_names = renames(commit)
        except (GitError, OSError) as error:
            raise UsageError(f"--diff-base: {error}") from None
        shown = {old: _shown(top / new_names.get(old, old), root) for old in written}
        scanned = {file.path for file in head.files}
        gone = {old for old in written if old not in new_names and _is_gone(top / old, paths, exclude)}
        files = [(Path(folder) / old, path) for old, path in shown.items() if path in scanned or old in gone]
        found, findings = predict(files, _helper(Path(folder), shown, len(scanned) == 1))
    return Base(
        name,
        Diagnosis(
            tool_version=graphdoctor.__version__,
            environment={"python": platform.python_version()},
            command="",
            summary=summarise(found, findings, None),
            files=tuple(found),
            findings=tuple(findings),
            dynamic=None,
            verification=None,
        ),
    )


def _shown(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()


def _is_gone(file: Path, paths: Sequence[str], exclude: Sequence[PathPattern]) -> bool:
    """Whether the file was below a scanned folder and is deleted; false for files that were named themselves."""
    above = any(file.is_relative_to(os.path.realpath(path)) for path in paths)
    return above and not file.exists() and not is_excluded(file, exclude)


def _helper(folder: Path, shown: Mapping[str, str], follows: bool) -> PathOf:
    """As in the scan of the work tree: the helpers of a file that is scanned alone are reported with it."""

    def path_of(file: Path) -> str | None:
        if not follows or not file.is_relative_to(folder):
            return None
        return shown.get(file.relative_to(folder).as_posix())

    return path_of
