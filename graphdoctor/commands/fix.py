"""``graphdoctor fix``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.fixing import asking, check_interactive, interactive_option
from graphdoctor.commands.options.run_target import run_target_options
from graphdoctor.commands.options.settings import setting_options
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import (
    CLEAN,
    FAILURE,
    FINDINGS,
    INTERRUPTED,
    OneLine,
    check_writable,
    complain_of_no_changes,
    complain_unread,
)
from graphdoctor.commands.project_rules import complain_of_rules

if TYPE_CHECKING:
    from graphdoctor.scan.options import SettingOptions, TargetOptions

_EXAMPLES = """\b
Examples:
  graphdoctor fix model.py                      write the safe and the verified fixes
  graphdoctor fix model.py --diff --unsafe-fixes
  graphdoctor fix src/ --select GD1 -i
  graphdoctor fix model.py --patch-third-party packages.patch

\b
Exit codes:
  0  nothing is left to fix
  1  findings are left; with --diff: there is something to change
  2  wrong usage, internal error, or no finding, but a file that could not be read
"""


@click.command(short_help="Write the fixes that are proved on a copy.", epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--unsafe-fixes", is_flag=True, help="Also fixes that may change behaviour.")
@click.option("--diff", "show_diff", is_flag=True, help="Print the fixes as a diff, and nothing else; write nothing.")
@interactive_option
@click.option(
    "--patch-third-party",
    metavar="FILE",
    help="Write fixes for installed packages that break in the run, or that --follow names, to this patch file.",
)
@click.option("--run/--no-run", default=None, help="Run the code, or never run it.  [default: one file with a sample]")
@run_target_options
@setting_options
@click.option("--only-given", is_flag=True, help="Fix nothing in other files that a single file calls.")
@click.option("--no-verify", is_flag=True, help="Do not run the code again with the fixes applied to a copy.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 20),
    default=5,
    show_default=True,
    help="Repeat up to this often, since fixes that are written may uncover further breaks.",
)
@click.pass_context
def fix(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    unsafe_fixes: bool,
    show_diff: bool,
    interactive: bool,
    patch_third_party: str | None,
    run: bool | None,
    target: TargetOptions,
    settings: SettingOptions,
    only_given: bool,
    no_verify: bool,
    rounds: int,
) -> None:
    """Fix graph breaks: scan, prove the fixes on a copy, and write them.

    Fixes that change results, or leave their break in place, are dropped and named. A fix for a line that compiling
    did not reach is tried too: a run shows no effect of it until the break before is gone. A file that cannot be run
    is fixed all the same, and its fixes are called not verified. What is written may let the next break be seen, so
    code that was run is run and fixed again, until it has no graph break or nothing more is written.
    """
    if "-" in paths:
        raise OneLine("fix writes files; for the text on the standard input use: graphdoctor scan --fix -")
    check_interactive(interactive, show_diff)
    check_writable(patch_third_party)
    from graphdoctor import api
    from graphdoctor.interrupt import Interrupts
    from graphdoctor.report.text import fixes
    from graphdoctor.report.text.progress import Progress

    request = api.ScanOptions(
        paths=paths,
        run=run,
        only_given=only_given,
        verify=not no_verify,
        behind_verdict=False,
        each_fix=True,
        fix=not show_diff,
        unsafe_fixes=unsafe_fixes,
        third_party_fixes=patch_third_party is not None,
        command=shlex.join(["graphdoctor", *sys.argv[1:]]),
    ).with_groups(target, settings)
    interrupts = Interrupts()
    context.with_resource(interrupts.listening())
    try:
        with Progress(sys.stderr) as progress:
            choose = asking(progress) if interactive else None
            most = 1 if show_diff else rounds
            found = list(api.scan_in_rounds(request, progress, choose, interrupts, most))
    except api.UsageError as error:
        raise OneLine(str(error)) from None
    diagnosis = found[-1]
    if patch_third_party is not None:
        emit(api.third_party_patch(diagnosis, unsafe_fixes), patch_third_party)
    if show_diff:
        complain_of_rules(diagnosis)
        changes = api.diff(diagnosis, unsafe_fixes)
        emit(changes, None)
        if not changes:
            complain_of_no_changes(diagnosis)
        unread = complain_unread(diagnosis)
        context.exit(INTERRUPTED if interrupts.requested else FINDINGS if changes else unread)
    emit(fixes.render_rounds(found, unsafe_fixes), None)
    if interrupts.requested:
        context.exit(INTERRUPTED)
    context.exit(FINDINGS if fixes.left(diagnosis) else FAILURE if diagnosis.summary.failed else CLEAN)
