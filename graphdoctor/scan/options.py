"""The options of a scan, and how they override the settings of the project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphdoctor.breaks.run_facts import RunFacts
from graphdoctor.config import project
from graphdoctor.config.project_files import Table

#: The path that stands for the standard input.
STDIN = "-"


class UsageError(Exception):
    """Options or settings that cannot be used; the text is one line for the user."""


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """Which settings are read, and which rules of the project are executed."""

    #: A configuration file, or ``key=value``.
    config: tuple[str, ...] = ()
    #: Read no configuration file.
    isolated: bool = False
    #: Folders of rules, whose files are executed; and whether those that the project's settings name are.
    rules: tuple[str, ...] = ()
    allow_project_rules: bool = False


@dataclass(frozen=True, kw_only=True)
class SettingOptions(ProjectOptions):
    """Values for settings of the project, as project.READERS reads them; empty ones leave the setting as it is."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    target_torch: str | None = None
    follow: tuple[str, ...] = ()
    #: The interpreter or environment in which followed packages are looked for.
    python: str | None = None


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """What is run. ``timeout`` is in seconds and for one run; None for it and for ``mode`` takes the setting."""

    target: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = "auto"
    mode: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class DepthOptions:
    """What a run checks beside the graph breaks."""

    #: Nothing after the verdict; all that there is after it.
    quick: bool = False
    deep: bool = False
    #: Try each submodule alone, try the backends one by one, make a script that fails as the model does (its file).
    readiness: bool = False
    ladder: bool = False
    #: Compare all that each backend leaves behind with eager.
    audit: bool = False
    #: Export the model with torch.export.
    export: bool = False
    repro: str | None = None
    #: What a training step uses (graphdoctor.dynamic.worker.training), and whether its backward is compiled.
    optimizer: str | None = None
    compiled_autograd: bool = False
    #: Count by further runs where to put torch.compile.
    advise: bool = False


#: Options that commands share; ScanOptions has the fields of each.
Group = ProjectOptions | SettingOptions | TargetOptions | DepthOptions


@dataclass(frozen=True)
class ScanOptions(SettingOptions, TargetOptions, DepthOptions):
    """What to scan and how. None for ``run``: run when one file is given that declares a sample."""

    paths: tuple[str, ...]
    run: bool | None = None
    #: Python with a graphdoctor_target() that is run in place of the file (graphdoctor.dynamic.named).
    sample: str = ""
    #: The name of the target that it was made for.
    sample_of: str = ""
    #: What a run has shown, by file.
    facts: Mapping[Path, RunFacts] = field(default_factory=dict)
    verify: bool = True
    #: Count recompiles, and check what else comes after the verdict and the fixes.
    behind_verdict: bool = True
    #: Verify also each fix alone, and look for the fixes that suffice for fullgraph=True.
    each_fix: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    #: Look for fixes in installed packages too; they are verified, and never written.
    third_party_fixes: bool = False
    #: Report and fix nothing in the other files that a single file calls.
    only_given: bool = False
    #: The ``--vary`` options: what changes from call to call when recompiles are counted (read by
    #: graphdoctor.dynamic.parent.vary_specs).
    vary: tuple[str, ...] = ()
    #: How many blocks of one kind are kept in a list of submodules; None for all.
    shrink: int | None = None
    #: Show also what may break only under settings that the source does not show.
    possible: bool = False
    command: str = ""
    #: Errors in packages that are followed count as errors.
    fail_third_party: bool = False
    #: What the path ``-`` stands for, and the file that it is the text of.
    stdin: bytes | None = None
    stdin_filename: str | None = None
    #: Texts by absolute path, links resolved, that stand for what is on disk.
    texts: tuple[tuple[Path, str], ...] = ()
    #: Keep results of the static pass, and use those that are kept, in this folder; None keeps and uses none.
    cache: Path | None = None
    #: The largest number of processes of the static pass; None for as many as are worth it.
    jobs: int | None = None
    #: Compare with the report in this JSON file, or with the commit of this git ref.
    baseline: str | None = None
    diff_base: str | None = None

    def with_groups(self, *groups: Group) -> ScanOptions:
        """These options with the values of ``groups``."""
        return replace(self, **{name: value for group in groups for name, value in vars(group).items()})


def settings_for(options: ScanOptions) -> project.Config:
    """The settings of the project that the first path belongs to, overridden by ``options``. Raises UsageError."""
    values = {name: getattr(options, name, None) for name in project.READERS}
    overriding = {name: value for name, value in values.items() if value not in (None, ())}
    try:
        settings = project.load(project_folder(options), options.config, options.isolated, options.allow_project_rules)
        _check_inputs(options)
        return project.merged(settings, Table(overriding, project.COMMAND_LINE, Path.cwd(), trusted=True))
    except project.ConfigError as error:
        raise UsageError(str(error)) from None


def _check_inputs(options: ScanOptions) -> None:
    """Raises UsageError where ``inputs`` or ``vary`` cannot be read."""
    if not options.inputs and not options.vary:
        return
    from graphdoctor.dynamic.parent.input_specs import InputSpecError, parse_inputs
    from graphdoctor.dynamic.parent.vary_specs import parse_variations

    try:
        parse_inputs(options.inputs)
        parse_variations(options.vary)
    except InputSpecError as error:
        raise UsageError(str(error)) from None


def project_folder(options: ScanOptions) -> Path:
    """The folder that the first path is, or lies in."""
    first = options.paths[0]
    if first == STDIN:
        first = options.stdin_filename or STDIN
    path = Path(os.path.abspath(first))
    return path if path.is_dir() else path.parent
