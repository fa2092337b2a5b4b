"""A scan of a target that is named, as ``hf:BertModel`` or ``net.py:Net``: the file that is read, and what is run."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.dynamic.named.targets import NoSuchTarget, in_file, is_named, named_target
from graphdoctor.scan.options import ScanOptions, UsageError


def with_named_target(options: ScanOptions) -> ScanOptions:
    """``options`` with the file behind a name in place of the name. Raises UsageError."""
    named = in_file(options.paths[0]) if len(options.paths) == 1 and options.target is None else None
    if named is not None:
        return replace(options, paths=named[:1], target=named[1])
    names = [path for path in options.paths if is_named(path)]
    if not names:
        return options
    # A scan of files does without this import.
    from graphdoctor.breaks.locations import is_installed

    if len(options.paths) > 1:
        raise UsageError(f"{names[0]} names a target, and such a target is scanned alone")
    if options.target is not None:
        raise UsageError(f"{names[0]} names a target: give a file with --target instead")
    try:
        found = named_target(names[0], bool(options.inputs))
    except NoSuchTarget as error:
        raise UsageError(str(error)) from None
    if options.fix and is_installed(str(found.file)):
        raise UsageError(
            f"--fix writes nothing to installed packages, and {names[0]} is in one: --diff shows the fixes"
        )
    return replace(options, paths=(str(found.file),), sample=found.sample, sample_of=names[0])
