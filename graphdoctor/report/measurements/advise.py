"""An advice as text, Markdown and JSON; the words are shared with the report of a scan."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from graphdoctor.report import gfm
from graphdoctor.report.escaping import one_line, visible
from graphdoctor.report.measurements import bench as bench_report
from graphdoctor.report.measurements.bench_rows import device_note
from graphdoctor.report.sections import COLUMNS
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.advice import Advice, Kind, Placement, Shapes

SCHEMA = "graphdoctor-advise/1"

_WHERE: dict[Kind, str] = {
    "model": "whole model",
    "blocks": "repeated blocks",
    "submodules": "submodules",
    "loss": "loss",
    "optimizer": "optimizer step",
}
#: Of ``rows``; the last column is for remarks.
HEADINGS = ("where", "compilations", "later calls", "breaks", "in graphs", "traced in", "")

_SIZES = "Changing sizes, on the file's variants:"


def text(advice: Advice, columns: int = COLUMNS) -> str:
    """For a terminal; prose is wrapped at ``columns``."""
    table = [HEADINGS, *rows(advice)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    parts = [
        textwrap.fill(sentence(advice), columns),
        _indented(code(advice)),
        "\n".join(lines),
        textwrap.fill(counted(advice), columns),
        textwrap.fill(device_note(advice), columns),
    ]
    if advice.shapes:
        parts.append("\n".join([_SIZES, *(f"  {shape(entry)}" for entry in advice.shapes)]))
    for note in advice.notes:
        text = textwrap.fill(f"{note.title}: {note.text}" if note.text else f"{note.title}:", columns)
        parts.append(f"{text}\n{_indented(note.code)}")
    if advice.bench is not None:
        parts.append(bench_report.text(advice.bench).rstrip())
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(advice: Advice) -> str:
    """For a comment or a summary page."""
    return f"### {gfm.prose(sentence(advice), len(sentence(advice)))}\n\n{_details(advice)}\n"


def section(advice: Advice) -> str:
    """The body of a section of the report of a scan, as Markdown."""
    return f"**{gfm.prose(sentence(advice), len(sentence(advice)))}**\n\n{_details(advice)}"


def as_json(advice: Advice) -> str:
    """All that was counted; ``proposed`` are indices into ``placements``."""
    return json.dumps({"schema": SCHEMA, **asdict(advice)}, indent=2) + "\n"


def sentence(advice: Advice) -> str:
    """Where to compile, and why."""
    where = " and ".join(_WHERE[advice.placements[number].kind] for number in advice.proposed)
    return f"Put torch.compile on: {where or 'nowhere'}. {advice.reason}"


def code(advice: Advice) -> str:
    """The lines to write; empty where the place is nowhere."""
    return "\n".join(advice.placements[number].code for number in advice.proposed)


def rows(advice: Advice) -> list[tuple[str, ...]]:
    """What was counted for each place, under HEADINGS."""
    return [_row(placement) for placement in advice.placements]


def counted(advice: Advice) -> str:
    """How the rows were counted."""
    torch = advice.environment.get("torch") or "unknown"
    return (
        f"Counted over {advice.calls} calls in {advice.mode} mode with a backend that compiles nothing, torch {torch}; "
        "later calls: the compilations that the calls after the first took, for other sizes or for state that changed; "
        "in graphs: operators of a forward that run in graphs."
    )


def shape(shapes: Shapes) -> str:
    """One way to treat changing sizes, with what it takes."""
    if shapes.compilations is None:
        return f"{shapes.text}: {one_line(visible(shapes.failure))}"
    return f"{shapes.text}: {plural(shapes.compilations, 'compilation')}"


def _details(advice: Advice) -> str:
    table = gfm.table(HEADINGS, ([gfm.escape(cell) for cell in row] for row in rows(advice)))
    parts = [_fenced(code(advice)), table, gfm.escape(counted(advice)), gfm.escape(device_note(advice))]
    if advice.shapes:
        parts.append(f"{_SIZES}\n\n" + gfm.bullets(gfm.prose(shape(entry)) for entry in advice.shapes))
    parts += [f"**{gfm.escape(n.title)}.** {gfm.prose(n.text)}\n\n{_fenced(n.code)}" for n in advice.notes]
    if advice.bench is not None:
        parts.append(bench_report.markdown(advice.bench).rstrip())
    return "\n\n".join(part for part in parts if part)


def _row(placement: Placement) -> tuple[str, ...]:
    where = _WHERE[placement.kind] + (f" ({len(placement.names)})" if placement.names else "")
    if placement.setting:
        where += f", {placement.setting}"
    if placement.failure:
        return where, "", "", "", "", "", one_line(visible(placement.failure))
    share = "" if placement.share is None else f"{100 * placement.share:.0f} %"
    limit = "recompile limit reached, the rest runs in eager" if placement.at_limit else ""
    counts = (str(number) for number in (placement.compilations, placement.later, placement.breaks))
    return where, *counts, share, f"{placement.seconds:.1f} s", limit


def _indented(lines: str) -> str:
    return textwrap.indent(lines, "    ")


def _fenced(lines: str) -> str:
    return gfm.fence(lines, "python") if lines else ""
