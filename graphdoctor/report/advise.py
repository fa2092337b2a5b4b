"""An advice as text, Markdown and JSON."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

from graphdoctor.advise.model import Advice, Kind, Placement, Shapes
from graphdoctor.report import bench as bench_report
from graphdoctor.report.pages import COLUMNS
from graphdoctor.report.visible import one_line, visible
from graphdoctor.report.words import plural

SCHEMA = "graphdoctor-advise/1"

_WHERE: dict[Kind, str] = {
    "model": "whole model",
    "blocks": "repeated blocks",
    "submodules": "submodules",
    "loss": "loss",
    "optimizer": "optimizer step",
}
_HEADINGS = ("where", "compilations", "breaks", "in graphs", "traced in", "")


def text(advice: Advice) -> str:
    """For a terminal."""
    table = _table(advice)
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    parts = [textwrap.fill(_sentence(advice), COLUMNS), _indented(_code(advice)), "\n".join(lines), _counted(advice)]
    if advice.shapes:
        parts.append("Changing sizes, on the file's variants:\n" + "\n".join(f"  {_shape(s)}" for s in advice.shapes))
    for note in advice.notes:
        said = textwrap.fill(f"{note.title}: {note.text}" if note.text else f"{note.title}:", COLUMNS)
        parts.append(f"{said}\n{_indented(note.code)}")
    if advice.bench is not None:
        parts.append(bench_report.text(advice.bench).rstrip())
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(advice: Advice) -> str:
    """For a comment or a summary page."""
    table = [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in _table(advice)]
    table.insert(1, "|" + " --- |" * len(_HEADINGS))
    parts = [f"### {_sentence(advice)}", _fenced(_code(advice)), "\n".join(table), _counted(advice)]
    if advice.shapes:
        parts.append(
            "\n".join(["Changing sizes, on the file's variants:", "", *(f"- {_shape(s)}" for s in advice.shapes)])
        )
    parts += [f"**{note.title}.** {note.text}\n\n{_fenced(note.code)}" for note in advice.notes]
    if advice.bench is not None:
        parts.append(bench_report.markdown(advice.bench).rstrip())
    return "\n\n".join(part for part in parts if part) + "\n"


def as_json(advice: Advice) -> str:
    """All that was counted; ``proposed`` are indices into ``placements``."""
    return json.dumps({"schema": SCHEMA, **asdict(advice)}, indent=2) + "\n"


def _sentence(advice: Advice) -> str:
    where = " and ".join(_WHERE[advice.placements[number].kind] for number in advice.proposed)
    return f"Put torch.compile on: {where or 'nowhere'}. {advice.reason}"


def _code(advice: Advice) -> str:
    return "\n".join(advice.placements[number].code for number in advice.proposed)


def _table(advice: Advice) -> list[tuple[str, ...]]:
    return [_HEADINGS, *(_row(placement) for placement in advice.placements)]


def _row(placement: Placement) -> tuple[str, ...]:
    where = _WHERE[placement.kind] + (f" ({len(placement.names)})" if placement.names else "")
    if placement.setting:
        where += f", {placement.setting}"
    if placement.failure:
        return where, "", "", "", "", one_line(visible(placement.failure))
    share = "" if placement.share is None else f"{100 * placement.share:.0f} %"
    limit = "recompile limit reached, the rest runs in eager" if placement.at_limit else ""
    return where, str(placement.compilations), str(placement.breaks), share, f"{placement.seconds:.1f} s", limit


def _counted(advice: Advice) -> str:
    torch = advice.environment.get("torch") or "unknown"
    return textwrap.fill(
        f"Counted over {advice.calls} calls in {advice.mode} mode with a backend that compiles nothing, torch {torch}; "
        "in graphs: operators of a forward that run in graphs.",
        COLUMNS,
    )


def _shape(shapes: Shapes) -> str:
    if shapes.compilations is None:
        return f"{shapes.text}: {one_line(visible(shapes.failure))}"
    return f"{shapes.text}: {plural(shapes.compilations, 'compilation')}"


def _indented(code: str) -> str:
    return textwrap.indent(code, "    ")


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```" if code else ""
