"""``graphdoctor run``."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.fixing import asking, check_fixes, check_interactive, interactive_option
from graphdoctor.commands.options.settings import setting_options
from graphdoctor.commands.outputs import (
    Report,
    check_gate,
    check_reports,
    fail_on_option,
    format_option,
    judge,
    max_breaks_option,
    report_option,
    write_reports,
)
from graphdoctor.commands.printing import emit, look
from graphdoctor.commands.problems import (
    CLEAN,
    FINDINGS,
    OneLine,
    complain,
    complain_of_no_changes,
    complain_unread,
)
from graphdoctor.commands.project_rules import complain_of_rules

if TYPE_CHECKING:
    from graphdoctor.diagnosis.gate import FailOn
    from graphdoctor.model.findings import Diagnosis
    from graphdoctor.program.process import Ended
    from graphdoctor.program.report import Proof
    from graphdoctor.recorder.settings import Settings
    from graphdoctor.scan.options import ScanOptions, SettingOptions

_EXAMPLES = """\b
Examples:
  graphdoctor run train.py --epochs 1
  graphdoctor run --fix train.py --epochs 1
  graphdoctor run --steps 20 --html report.html -m mypackage.train --lr 0.1
  graphdoctor run --compile auto evaluate.py
  graphdoctor run torchrun --nproc-per-node 8 train.py
  torchrun --nproc-per-node 8 -m graphdoctor run train.py

\b
Exit codes:
  that of the program where it is not 0 (128 and the number of the signal that ended it), else
  0  nothing found
  1  graph breaks found, ranks that differ, or nothing was compiled; with --fail-on or --max-breaks: what these say
  2  wrong usage, or the program cannot be started
"""

#: What argparse and click end with.
_WRONG_USAGE = 2
_EXAMPLE = "graphdoctor run --verify train.py"


def _modules(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """The callback of ``--compile``: another option, or the script, is no class."""
    if value is not None and (value.startswith("-") or value.endswith(".py")):
        raise OneLine(f"--compile needs auto, or the name of a class, before what follows: --compile auto {value}")
    return value


@click.command(
    short_help="Run a program, unchanged, and report what was compiled.",
    epilog=_EXAMPLES,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT|MODULE [ARGS]...")
@click.option("-m", "is_module", is_flag=True, help="The program is a module, as in python -m.")
@click.option(
    "--steps", type=click.IntRange(min=1), metavar="N", help="End the program after N calls of a compiled function."
)
@click.option(
    "--compile",
    "compile_",
    metavar="auto|CLASS",
    callback=_modules,
    help="Where the program compiles nothing: compile its outermost modules, or those of this class (backend eager).",
)
@click.option(
    "--save-sample",
    metavar="FILE.py",
    help="Save the first call of each compiled function as a file that graphdoctor scan runs, with its data beside it.",
)
@click.option("--verify", is_flag=True, help="Prove the fixes on the first calls that reach them.")
@click.option("--fix", is_flag=True, help="Prove them, and write the safe and the verified ones to the files.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that may change behaviour.")
@click.option(
    "--diff",
    "show_diff",
    is_flag=True,
    help="Prove them, show them as a diff in place of the report, and write nothing.",
)
@interactive_option
@click.option("--record", metavar="FOLDER", help="Keep the recording in this folder; graphdoctor trace reads it.")
@setting_options
@click.option(
    "--possible", is_flag=True, help="Also report what breaks only under settings that the source does not show."
)
@click.option("--html", metavar="FILE", help="Also write the report as one HTML file.")
@click.option("--no-source", is_flag=True, help="Show no source line and no fix as text, in any report.")
@report_option
@format_option
@click.option("--output", metavar="FILE", help="Write the report there; - is stdout.  [default: stderr]")
@fail_on_option
@max_breaks_option
@click.option("-v", "--verbose", is_flag=True, help="Show all that is known: diffs, submodules, functions.")
@click.option("--exit-zero", is_flag=True, help="End with the exit code of the program, whatever the report says.")
@click.pass_context
def run(
    context: click.Context,
    /,
    program: tuple[str, ...],
    is_module: bool,
    steps: int | None,
    compile_: str | None,
    save_sample: str | None,
    verify: bool,
    fix: bool,
    unsafe_fixes: bool,
    show_diff: bool,
    interactive: bool,
    record: str | None,
    possible: bool,
    html: str | None,
    no_source: bool,
    reports: tuple[Report, ...],
    output_format: str,
    output: str | None,
    fail_on: FailOn | None,
    max_breaks: int | None,
    verbose: bool,
    exit_zero: bool,
    settings: SettingOptions,
) -> None:
    """Run a program, unchanged, and report what torch.compile made of it.

    SCRIPT and its arguments are those that you would give to python. The program has the terminal; the report comes at
    its end, also after Ctrl-C, an exception or kill -9, on stderr or where --output says.
    """
    from graphdoctor.program.launch import CannotRun
    from graphdoctor.program.report import NothingRecorded, Proof, wrong_uses
    from graphdoctor.program.samples import LIMIT
    from graphdoctor.program.written import Writing
    from graphdoctor.recorder.settings import Settings
    from graphdoctor.scan.options import ScanOptions, UsageError

    check_gate(fail_on)
    check_fixes(fix, unsafe_fixes, show_diff, no_source)
    check_interactive(interactive, show_diff)
    if interactive and not fix:
        raise OneLine("-i asks which fixes --fix writes, and --fix is not there")
    command = shlex.join(["graphdoctor", *sys.argv[1:]])
    options = ScanOptions((), possible=possible, command=command).with_groups(settings)
    if save_sample and not save_sample.endswith(".py"):
        raise OneLine(f"--save-sample {save_sample}: give a name that ends in .py, as graphdoctor scan reads it")
    check_reports(reports, html, save_sample, None if output == "-" else output)
    verify = verify or fix or show_diff
    writing = Writing(unsafe_fixes) if fix else None
    proof = Proof(Path(save_sample) if save_sample else None, verify, writing=writing)
    recording = Settings(record or "", steps or 0, compile_ or "", LIMIT if save_sample or verify else 0)
    gated = not exit_zero and fail_on != "none"
    try:
        ended, diagnosis = _ran(program, is_module, recording, options, proof, interactive)
    except (CannotRun, UsageError) as error:
        raise OneLine(str(error)) from None
    except NothingRecorded as error:
        # Where a module is missing, that is why nothing was compiled.
        uses = [] if error.missing or not program[0].endswith(".py") else wrong_uses(program[0], options)
        complain(f"{error}; {error.hint}" if error.hint and not uses else str(error))
        if error.exit_code == _WRONG_USAGE and (behind := _options_behind(context.command, program)):
            names = " and ".join(dict.fromkeys(behind))
            complain(f"{names} went to {program[0]}; what is for graphdoctor stands before it: {_EXAMPLE}")
        if error.missing:
            complain(error.missing)
        for use in uses:
            complain(use)
        context.exit(error.exit_code or (FINDINGS if gated else CLEAN))
    if diagnosis is None:
        context.exit(ended.exit_code)
    if show_diff:
        code = _show_changes(diagnosis, unsafe_fixes, output)
        context.exit(ended.exit_code or (CLEAN if exit_zero and code == FINDINGS else code))
    if no_source:
        from graphdoctor.report.confidential import without_source

        diagnosis = without_source(diagnosis)
    _write(diagnosis, output_format, output, html, verbose)
    write_reports(diagnosis, reports)
    code = CLEAN if exit_zero else judge(diagnosis, fail_on, max_breaks)
    context.exit(ended.exit_code or code)


def _options_behind(command: click.Command, program: tuple[str, ...]) -> list[str]:
    """The options of this command that stand behind the program, which gets them."""
    own = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    return [part for part in (each.partition("=")[0] for each in program[1:]) if part in own]


def _ran(
    program: tuple[str, ...],
    is_module: bool,
    recording: Settings,
    options: ScanOptions,
    proof: Proof,
    interactive: bool,
) -> tuple[Ended, Diagnosis | None]:
    """Run the program; no diagnosis where another rank reports. Raises CannotRun, UsageError, NothingRecorded."""
    from graphdoctor.program import folder as folders
    from graphdoctor.program import process
    from graphdoctor.program.launch import CannotRun, launch
    from graphdoctor.program.report import report
    from graphdoctor.report.text.progress import Progress
    from graphdoctor.scan.plan import checked_settings
    from graphdoctor.target_torch.installed import torch_available

    launched = launch(program, is_module)
    # Wrong settings end the command before the program has run for hours.
    script = next((part for part in program if part.endswith(".py") and os.path.isfile(part)), ".")
    settings, _ = checked_settings(replace(options, paths=(script,)))
    proof = replace(proof, timeout=settings.timeout)
    if torch_available() is None:
        raise CannotRun("torch is not installed; install graphdoctor[torch] where the program's packages are")
    place = folders.rank(os.environ)
    with folders.recording(recording.folder or None, place) as folder:
        ended = process.run(launched.arguments, replace(recording, folder=str(folder.resolve())))
        missing: tuple[int, ...] = ()
        if place is not None:
            folders.mark_ended(folder, place, ended)
            if not place.reports:
                return ended, None
            missing = folders.wait_for_ranks(folder, place)
        with Progress(sys.stderr) as progress:
            if interactive and proof.writing is not None:
                proof = replace(proof, writing=replace(proof.writing, choose=asking(progress)))
            return ended, report(folder, launched.name, ended, options, missing, proof, progress)


def _show_changes(diagnosis: Diagnosis, unsafe: bool, output: str | None) -> int:
    """The fixes as a diff, where the report would be; the exit code says whether there are some."""
    from graphdoctor import api

    complain_of_rules(diagnosis)
    changes = api.diff(diagnosis, unsafe)
    _emit(changes, output)
    if not changes:
        complain_of_no_changes(diagnosis)
    unread = complain_unread(diagnosis)
    return FINDINGS if changes else unread


def _write(diagnosis: Diagnosis, output_format: str, output: str | None, html: str | None, verbose: bool) -> None:
    """The report, in the format and files that were asked for."""
    from graphdoctor.report.formats import render

    shown = render(diagnosis, output_format, look(output, verbose=verbose, stream=None if output else sys.stderr))
    _emit(shown, output)
    if html is not None:
        emit(render(diagnosis, "html"), html)


def _emit(text: str, output: str | None) -> None:
    """To stderr by default: stdout is the program's."""
    if output is None:
        click.echo(text, nl=False, err=True, color=True)
    else:
        emit(text, output)
