"""``graphdoctor scan``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.fixing import check_fixes
from graphdoctor.commands.options.depth import check_depth, depth_options, faster, write_repro
from graphdoctor.commands.options.run_target import run_target_options
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
    FAILURE,
    FINDINGS,
    INTERRUPTED,
    OneLine,
    complain,
    complain_of_no_changes,
    complain_unread,
)
from graphdoctor.commands.project_rules import WITH_NOTES, complain_of_rules

if TYPE_CHECKING:
    from graphdoctor.diagnosis.gate import FailOn
    from graphdoctor.model.findings import Diagnosis
    from graphdoctor.report.text.look import Look
    from graphdoctor.scan.options import DepthOptions, SettingOptions, TargetOptions

_SCAN_EXAMPLES = """\b
Examples:
  graphdoctor scan model.py --html report.html
  graphdoctor scan src/ tests/helpers.py --no-run --select GD1
  graphdoctor scan net.py --target Net --input 'float32[8,3,224,224]'
  graphdoctor scan lm.py --target LM --input 'input_ids=int64[2,16]<1000' --mode train
  graphdoctor scan model.py --diff
  graphdoctor scan model.py --output-format markdown --output comment.md --exit-zero
  graphdoctor scan src/ --diff-base origin/main --report sarif=graphdoctor.sarif --report github=-

\b
Exit codes:
  0  nothing found
  1  errors or graph breaks found, fullgraph=True fails, or the run failed; with --diff: there is something to change;
     with a base, --fail-on or --max-breaks: what these say
  2  wrong usage, internal error, or no finding, but a file that could not be read
"""


@click.command(epilog=_SCAN_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--run/--no-run",
    default=None,
    help="Run the code, or never run it. By default one file that declares a sample input is run, anything else not.",
)
@run_target_options
@click.option(
    "--vary",
    multiple=True,
    metavar="SPEC",
    help="Count recompiles while this changes: x:0=4,5,7  batch=4,5  x=float32,float16  n=2,3  mode=train,eval  "
    "grad=on,off.  [default: the file's graphdoctor_variants(), else a few batch and sequence sizes]",
)
@click.option(
    "--shrink",
    type=click.IntRange(min=1),
    metavar="LAYERS",
    help="Run the model with this many of its equal blocks and random weights: it may be larger than the memory.",
)
@depth_options
@setting_options
@click.option("--fail-third-party", is_flag=True, help="Errors in packages that are followed count as errors.")
@click.option("--stdin-filename", metavar="PATH", help="The file whose text comes on the standard input (path -).")
@click.option("--statistics", is_flag=True, help="Print how often each rule found something, instead of the findings.")
@click.option(
    "--possible", is_flag=True, help="Also report what breaks only under settings that the source does not show."
)
@click.option("--fix", is_flag=True, help="Write the safe fixes to the files, and the verified ones.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that may change behaviour.")
@click.option("--diff", "show_diff", is_flag=True, help="Print the fixes as a diff, and nothing else; write nothing.")
@click.option("--only-given", is_flag=True, help="Report and fix nothing in other files that a single file calls.")
@click.option("--no-verify", is_flag=True, help="Do not run the code again with the fixes applied to a copy.")
@click.option("--each-fix", is_flag=True, help="Verify each fix alone too, and say which suffice for fullgraph=True.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Read the files with at most N processes.")
@click.option("--no-cache", is_flag=True, help="Analyse every file again, and keep nothing for the next scan.")
@click.option(
    "--cache-dir",
    metavar="FOLDER",
    envvar="GRAPHDOCTOR_CACHE_DIR",
    help="Cache the results of files in this folder.  [default: the user's cache folder]",
)
@click.option("--tree", is_flag=True, help="Show the whole tree of the model: what of each submodule is compiled.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show all that is known: diffs, submodules, and checks of graphdoctor itself."
)
@click.option("--html", metavar="FILE", help="Also write the report as one HTML file.")
@click.option("--no-source", is_flag=True, help="Show no source line and no fix as text, in any report.")
@report_option
@format_option
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.option("--baseline", metavar="FILE", help="Compare with this JSON report of an earlier scan.")
@click.option(
    "--diff-base",
    metavar="GITREF",
    help="Compare with the commit at which HEAD left this branch or commit. It is read from git and not run.",
)
@fail_on_option
@max_breaks_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1.")
@click.pass_context
def scan(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    run: bool | None,
    target: TargetOptions,
    vary: tuple[str, ...],
    shrink: int | None,
    depth: DepthOptions,
    settings: SettingOptions,
    fail_third_party: bool,
    stdin_filename: str | None,
    statistics: bool,
    possible: bool,
    fix: bool,
    unsafe_fixes: bool,
    only_given: bool,
    show_diff: bool,
    no_verify: bool,
    each_fix: bool,
    jobs: int | None,
    no_cache: bool,
    cache_dir: str | None,
    tree: bool,
    verbose: bool,
    html: str | None,
    no_source: bool,
    reports: tuple[Report, ...],
    output_format: str,
    output: str | None,
    baseline: str | None,
    diff_base: str | None,
    fail_on: FailOn | None,
    max_breaks: int | None,
    exit_zero: bool,
) -> None:
    """Find graph breaks and fix them.

    The files, or the Python files in the folders, are read; nothing is executed by that. One file that declares a
    sample input is also run under TorchDynamo, in a process of its own. A target may be named in place of a file:
    hf:BertModel, timm:convnext_atto, module:function. The path - is the text of one file on the
    standard input, which is never run; with --fix the fixed text is printed.
    """
    check_fixes(fix, unsafe_fixes, show_diff, no_source)
    if statistics and output_format not in ("text", "json"):
        raise OneLine(f"--statistics is text or JSON, not {output_format}")
    if shrink is not None and run is False:
        raise OneLine("--no-run runs nothing, and --shrink is about a run: use one of the two")
    check_depth(depth, vary, run)
    check_gate(fail_on, baseline, diff_base)
    check_reports(reports, html, output, depth.repro)
    stdin = _standard_input() if "-" in paths else None
    from graphdoctor import api
    from graphdoctor.interrupt import Interrupts
    from graphdoctor.report.text import first_look
    from graphdoctor.report.text.progress import Progress
    from graphdoctor.scan.cache import default_folder

    options = api.ScanOptions(
        paths=paths,
        run=run,
        vary=vary,
        shrink=shrink,
        fail_third_party=fail_third_party,
        stdin=stdin,
        stdin_filename=stdin_filename,
        possible=possible,
        verify=not no_verify,
        each_fix=each_fix,
        # What comes on the standard input goes to the standard output.
        fix=fix and stdin is None,
        unsafe_fixes=unsafe_fixes,
        only_given=only_given,
        cache=None if no_cache else Path(cache_dir) if cache_dir else default_folder(),
        jobs=jobs,
        baseline=baseline,
        diff_base=diff_base,
        command=shlex.join(["graphdoctor", *sys.argv[1:]]),
    ).with_groups(target, depth, settings)
    interrupts = Interrupts()
    context.with_resource(interrupts.listening())
    try:
        with Progress(sys.stderr) as progress:
            diagnosis = api.scan(
                options,
                progress,
                interrupts=interrupts,
                early=lambda found: progress.say(first_look.lines(found)),
                decided=lambda summary, runs, seconds: progress.say(first_look.verdict(summary, runs, seconds)),
            )
    except api.UsageError as error:
        raise OneLine(str(error)) from None
    if show_diff or statistics or (fix and stdin is not None) or output_format not in WITH_NOTES:
        complain_of_rules(diagnosis)
    if show_diff:
        changes = api.diff(diagnosis, unsafe_fixes, stdin)
        emit(changes, output)
        if not changes:
            complain_of_no_changes(diagnosis)
        unread = complain_unread(diagnosis)
        context.exit(INTERRUPTED if interrupts.requested else FINDINGS if changes and not exit_zero else unread)
    if fix and stdin is not None:
        sys.stdout.buffer.write(api.fixed(diagnosis, unsafe_fixes, stdin))
        sys.stdout.flush()
        complain_unread(diagnosis)
    if no_source:
        from graphdoctor.report.confidential import without_source

        diagnosis = without_source(diagnosis)
    if not (fix and stdin is not None and output is None):
        style = look(output, tree or bool(depth.readiness), verbose)
        emit(
            _statistics(diagnosis, output_format) if statistics else _render(diagnosis, output_format, style),
            output,
        )
    if html is not None:
        from graphdoctor.report.html.page import render

        emit(render(diagnosis), html)
    write_reports(diagnosis, reports)
    write_repro(diagnosis, depth.repro)
    code = exit_code(diagnosis, fail_on, max_breaks)
    seconds = diagnosis.timings.get("dynamic", 0.0) + diagnosis.timings.get("verify", 0.0)
    if sys.stderr.isatty() and not (fix or each_fix) and (told := faster(seconds, depth, vary)):
        complain(told)
    if interrupts.requested:
        context.exit(INTERRUPTED)
    context.exit(CLEAN if exit_zero and code == FINDINGS else code)


def _standard_input() -> bytes:
    """What comes on the standard input. Raises OneLine."""
    from graphdoctor.source.files import bounded

    try:
        return bounded(sys.stdin.buffer)
    except OSError as error:
        raise OneLine(f"the standard input cannot be read: {error.strerror}") from None


def exit_code(diagnosis: Diagnosis, fail_on: FailOn | None = None, max_breaks: int | None = None) -> int:
    """What a scan ends with: see the help of ``scan``."""
    if judge(diagnosis, fail_on, max_breaks) == FINDINGS:
        return FINDINGS
    return FAILURE if diagnosis.summary.failed else CLEAN


def _statistics(diagnosis: Diagnosis, output_format: str) -> str:
    from graphdoctor.report.text import statistics

    return statistics.as_json(diagnosis) if output_format == "json" else statistics.as_text(diagnosis)


def _render(diagnosis: Diagnosis, output_format: str, style: Look) -> str:
    from graphdoctor.report.formats import render

    return render(diagnosis, output_format, style)
