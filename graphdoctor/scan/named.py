"""A scan of a target that is named, such as ``hf:BertModel``: the file that is read, and the sample that is run."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.dynamic.named.targets import NoSuchTarget, is_named, named_target
from graphdoctor.scan.options import ScanOptions, UsageError


def with_named_target(options: ScanOptions) -> ScanOptions:
    """``options`` with the file behind a name in place of the name. Raises UsageError."""
    names = [path for path in options.paths if is_named(path)]
    if not names:
        return options
    # A scan of files does without this import.
    from graphdoctor.breaks.locations import is_installed

    if len(options.paths) > 1:
        raise UsageError(f"{names[0]} names a target, and such a target is scanned alone")
    if options.target is not None or options.inputs:
        raise UsageError(f"{names[0]} names a target with its inputs: give a file with --target and --input instead")
    try:
        found = named_target(names[0])
    except NoSuchTarget as error:
        raise UsageError(str(error)) from None
    if options.fix and is_installed(str(found.file)):
        raise UsageError(
            f"--fix writes nothing to installed packages, and {names[0]} is in one: --diff shows the fixes"
        )
    return replace(options, paths=(str(found.file),), sample=found.sample, sample_of=names[0])
