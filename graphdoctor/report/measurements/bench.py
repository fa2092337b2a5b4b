"""A benchmark as text, Markdown and JSON."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

from graphdoctor.bench.verdict import verdict
from graphdoctor.model.benchmark import Bench
from graphdoctor.report.measurements.bench_rows import HEADINGS, caption, device_note, heading, rows
from graphdoctor.report.sections import COLUMNS

SCHEMA = "graphdoctor-bench/1"


def text(bench: Bench) -> str:
    """For a terminal."""
    table = [HEADINGS, *(row.cells for row in rows(bench) if any(row.cells[1:]))]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    notes = [f"{row.cells[0]}: {row.note}" for row in rows(bench) if row.note]
    parts = [
        _sentence(bench),
        heading(bench),
        "\n".join(lines),
        "\n".join(notes),
        textwrap.fill(device_note(bench), COLUMNS),
        textwrap.fill(caption(bench), COLUMNS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(bench: Bench) -> str:
    """For a comment or a summary page."""
    lines = [f"### {_sentence(bench)}", "", heading(bench), "", _line(HEADINGS), _line(["---"] * len(HEADINGS))]
    lines += [_line([_escape(cell) for cell in row.cells]) for row in rows(bench) if any(row.cells[1:])]
    lines += ["", *(f"- {_escape(row.cells[0])}: {_escape(row.note)}" for row in rows(bench) if row.note)]
    lines += ["", _escape(device_note(bench))] if bench.device_note else []
    return "\n".join([*lines, "", caption(bench)]) + "\n"


def as_json(bench: Bench) -> str:
    """All that was measured; ``verdict.worth`` is null where the measurements do not suffice."""
    return json.dumps({"schema": SCHEMA, **asdict(bench), "verdict": asdict(verdict(bench))}, indent=2) + "\n"


def _sentence(bench: Bench) -> str:
    return verdict(bench).sentence + (f" ({bench.ended})" if bench.ended else "")


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|" else letter for letter in text)
