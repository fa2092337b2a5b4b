"""The plan of a scan: options and settings of the project, resolved once, before the first step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.lint.work import Work
from graphdoctor.scan.cache import stamps
from graphdoctor.scan.filtering import Selection, selection_of
from graphdoctor.scan.followed_packages import Followed, package_folders
from graphdoctor.scan.inputs import Inputs, inputs_of, reported_path
from graphdoctor.scan.named import with_named_target
from graphdoctor.scan.options import ScanOptions, UsageError, project_folder, settings_for
from graphdoctor.scan.ruleset import LazyRuleSet, check_codes, torch_for
from graphdoctor.scan.run_plan import RunPlan, run_plan
from graphdoctor.source.called_target import compiled_name
from graphdoctor.source.installed import PackageNotFound, site_folders

if TYPE_CHECKING:
    from graphdoctor.config.allow_list import Allowance
    from graphdoctor.config.project import Config
    from graphdoctor.diagnosis.compare import Base
    from graphdoctor.source.git import Commit
    from graphdoctor.source.path_patterns import PathPattern


@dataclass(frozen=True)
class CachePlan:
    """Where results of the static pass are kept; ``key`` is what they depend on beside the files."""

    folder: Path
    key: tuple[str, ...]


@dataclass(frozen=True)
class LibraryPlan:
    """The one ``file`` whose calls into the packages in ``folders`` are followed; their files are shown from ``root``.

    A module that a folder in ``own`` holds belongs to the project, whatever is installed.
    """

    file: tuple[Path, str]
    root: Path
    folders: tuple[Path, ...]
    own: tuple[Path, ...]


@dataclass(frozen=True)
class StaticPlan:
    """What is analysed, and with which rules.

    ``jobs`` is the largest number of processes; None for as many as are worth it. Without ``cache`` nothing is kept.
    ``libraries`` is None where nothing is followed but what the user names.
    """

    work: Work
    rules: LazyRuleSet
    followed: Followed
    jobs: int | None
    cache: CachePlan | None
    libraries: LibraryPlan | None


@dataclass(frozen=True)
class VerifyPlan:
    """How fixes are verified. ``each``: also each fix alone."""

    each: bool


@dataclass(frozen=True)
class WritePlan:
    """Fixes are written to files below ``places``; ``unsafe`` admits unsafe ones."""

    unsafe: bool
    places: tuple[Path, ...]


@dataclass(frozen=True)
class ComparePlan:
    """What the diagnosis is compared with: a report, or a commit that the user calls ``name``.

    Of a commit, files below ``paths`` that are gone since are read too, but those that ``exclude`` matches.
    """

    base: Base | Commit
    name: str
    paths: tuple[str, ...]
    exclude: tuple[PathPattern, ...]


@dataclass(frozen=True)
class Plan:
    """One scan, with everything decided. A step takes the part that it needs; where that is None, it does nothing."""

    command: str
    inputs: Inputs
    static: StaticPlan
    selection: Selection
    run: RunPlan
    verify: VerifyPlan | None
    write: WritePlan | None
    compare: ComparePlan | None
    allow: tuple[Allowance, ...]


def plan_for(options: ScanOptions, with_runs: bool = False) -> Plan:
    """The plan for ``options`` and the settings of the project that the first path belongs to. Raises UsageError.

    ``with_runs``: the caller has runs, which may confirm what is only possible.
    """
    options = with_named_target(options)
    base = _base(options)
    settings, folders = checked_settings(options)
    rules = LazyRuleSet(settings)
    followed = Followed(folders, options.fail_third_party, options.third_party_fixes)
    exclude = (*settings.exclude, *settings.extend_exclude)
    inputs = inputs_of(options, exclude)
    helper = reported_path(inputs, followed, options.only_given)
    run = run_plan(options, settings, inputs)
    possible = options.possible or with_runs or run.request is not None
    target = options.target
    if target is not None and inputs.named_file is not None:
        target = compiled_name(target, inputs.text(inputs.named_file[0]))
    work = Work(inputs.read, helper, target, inputs.unsaved, folders, options.facts, possible)
    return Plan(
        command=options.command,
        inputs=inputs,
        static=StaticPlan(
            work,
            rules,
            followed,
            options.jobs,
            _cache(options, settings, possible),
            _libraries(options, settings, inputs),
        ),
        selection=selection_of(settings, inputs.root, options.possible),
        run=run,
        verify=VerifyPlan(options.each_fix or options.deep) if options.verify and not options.quick else None,
        write=_write(options, [file for file, _ in inputs.discovery.files]) if options.fix else None,
        compare=None if base is None else ComparePlan(base, options.diff_base or "", options.paths, exclude),
        allow=settings.allow,
    )


def checked_settings(options: ScanOptions) -> tuple[Config, dict[str, Path]]:
    """The settings for ``options``, and the folders of the packages that they follow.

    Raises UsageError for what is wrong with them, whatever the files are.
    """
    settings = settings_for(options)
    check_codes(settings)
    origin = settings.origin.get("follow") or "--follow"
    return settings, package_folders(settings.follow, origin, options.python, project_folder(options))


# What only some scans do is imported where they do it: a scan of recalled files takes no longer than its imports.


def _base(options: ScanOptions) -> Base | Commit | None:
    if options.baseline is None and options.diff_base is None:
        return None
    from graphdoctor.scan.baseline import opened

    return opened(options)


def _cache(options: ScanOptions, settings: Config, possible: bool) -> CachePlan | None:
    if options.cache is None:
        return None
    own = (stamp for folder in settings.rules if folder.is_dir() for stamp in (str(folder), *stamps(folder)))
    return CachePlan(options.cache, (options.target or "", torch_for(settings), str(possible), *own))


def _libraries(options: ScanOptions, settings: Config, inputs: Inputs) -> LibraryPlan | None:
    """The plan for a file on disk that compiles something or declares a sample; None where the user says what is
    followed.
    """
    file = inputs.named_file
    if file is None or settings.follow or inputs.unsaved or options.only_given or options.facts:
        return None
    installed = {"site-packages", "dist-packages"}
    if installed & set(file[0].parts) or not any(word in inputs.text(file[0]) for word in _COMPILES):
        return None
    try:
        found = site_folders(options.python, project_folder(options))
    except PackageNotFound as error:
        raise UsageError(str(error)) from None
    folders = tuple(folder for folder in found if folder.name in installed)
    return LibraryPlan(file, inputs.root, folders, (inputs.root, *file[0].absolute().parents))


#: Texts of which a file has one that compiles something or declares a sample.
_COMPILES = ("torch.compile", ".compile(", "graphdoctor_target", "get_inputs", "example_input_array", "dummy_inputs")


def _write(options: ScanOptions, files: Sequence[Path]) -> WritePlan:
    from graphdoctor.scan.steps.write import writable

    return WritePlan(options.unsafe_fixes, writable(options.paths, files))
