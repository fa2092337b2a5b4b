"""``graphdoctor verify``."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.options.run_target import run_target_options
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import CLEAN, FINDINGS, OneLine, check_writable

if TYPE_CHECKING:
    from graphdoctor.changes.change import Change
    from graphdoctor.changes.proof import Proof
    from graphdoctor.scan.options import TargetOptions

_EXAMPLES = """\b
Examples:
  graphdoctor verify model.py model_fixed.py
  graphdoctor verify model.py --patch change.patch
  graphdoctor verify model.py --against main --html report.html

\b
Exit codes:
  0  verified: the same program, and no more graph breaks than before
  1  refused, or not verified; the reason is said
  2  the code before the change could not be run, or wrong usage
"""


@click.command(short_help="Prove a change that somebody else wrote.", epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path), metavar="BEFORE")
@click.argument("after", type=click.Path(path_type=Path), metavar="[AFTER]", required=False)
@click.option("--patch", type=click.Path(path_type=Path), metavar="FILE", help="The change as a unified diff.")
@click.option("--against", metavar="GITREF", help="The change of the work tree since HEAD left this commit or branch.")
@run_target_options
@click.option("--html", metavar="FILE", help="Also write the report as one HTML file.")
@click.option("--output-format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write the report there instead of to stdout.")
@click.pass_context
def verify(
    context: click.Context,
    file: Path,
    after: Path | None,
    patch: Path | None,
    against: str | None,
    target: TargetOptions,
    html: str | None,
    output_format: str,
    output: str | None,
) -> None:
    """Prove a change that somebody else wrote, as graphdoctor proves its own fixes.

    BEFORE declares a sample input as for scan. It is run with the code before and after the change: graph breaks,
    fullgraph=True, results, gradients, what is left behind in objects, random numbers and output, also on varied
    inputs. Nothing is written.
    """
    check_writable(html, output)
    from graphdoctor.changes.change import ChangeError
    from graphdoctor.changes.proof import prove
    from graphdoctor.report.text.progress import Progress
    from graphdoctor.scan.options import ScanOptions, UsageError

    if not file.is_file():
        raise OneLine(f"{file} is not a file: give one Python file that declares a sample input")
    command = shlex.join(["graphdoctor", *sys.argv[1:]])
    options = ScanOptions((str(file),), command=command).with_groups(target)
    try:
        change = _change(file, after, patch, against)
        with Progress(sys.stderr) as progress:
            proof = prove(change, options, progress)
    except (ChangeError, UsageError) as error:
        raise OneLine(str(error)) from None
    emit({"text": _text, "json": _json, "markdown": _markdown}[output_format](proof), output)
    if html is not None:
        from graphdoctor.report.html.page import render

        emit(render(proof.diagnosis), html)
    context.exit(CLEAN if proof.verdict == "verified" else FINDINGS)


def _change(file: Path, after: Path | None, patch: Path | None, against: str | None) -> Change:
    """Raises ChangeError, and OneLine where the change is not named, or twice."""
    from graphdoctor.changes import change

    if sum(way is not None for way in (after, patch, against)) != 1:
        raise OneLine("give the change in one way: a second file, --patch FILE, or --against GITREF")
    if after is not None:
        return change.of_files(file, after)
    if patch is not None:
        return change.of_patch(patch, Path.cwd())
    return change.since(against or "", file.resolve().parent)


def _text(proof: Proof) -> str:
    from graphdoctor.commands.printing import look
    from graphdoctor.report.text import terminal

    verdict = {"verified": "Verified", "not-verified": "Not verified", "refused": "Refused"}[proof.verdict]
    breaks = (
        f"{proof.breaks_after} graph {'break' if proof.breaks_after == 1 else 'breaks'}, {proof.breaks_before} before"
    )
    head = f"{verdict}: {proof.reason}; {breaks}" if proof.reason else f"{verdict}: the same program; {breaks}"
    return f"{head}\n\n{terminal.render(proof.diagnosis, look(None))}"


def _json(proof: Proof) -> str:
    from graphdoctor.report.json_format import writer

    data = json.loads(writer.render(proof.diagnosis))
    data["change"] = {
        "verdict": proof.verdict,
        "reason": proof.reason or None,
        "breaks_before": proof.breaks_before,
        "breaks_after": proof.breaks_after,
        "files": list(proof.files),
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _markdown(proof: Proof) -> str:
    from graphdoctor.report.markdown import document

    return document.render(proof.diagnosis)
