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
    measured = [row.cells for row in rows(bench) if any(row.cells[1:])]
    table = [HEADINGS, *measured]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    parts = [
        _sentence(bench),
        heading(bench),
        "\n".join(lines) if measured else "",
        "\n".join(f"{names}: {note}" for note, names in _notes(bench).items()),
        textwrap.fill(device_note(bench), COLUMNS),
        textwrap.fill(caption(bench), COLUMNS) if measured else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(bench: Bench) -> str:
    """For a comment or a summary page."""
    measured = [row.cells for row in rows(bench) if any(row.cells[1:])]
    lines = [f"### {_sentence(bench)}", "", heading(bench)]
    lines += ["", _line(HEADINGS), _line(["---"] * len(HEADINGS))] if measured else []
    lines += [_line([_escape(cell) for cell in cells]) for cells in measured]
    lines += ["", *(f"- {_escape(names)}: {_escape(note)}" for note, names in _notes(bench).items())]
    lines += ["", _escape(device_note(bench))] if bench.device_note else []
    return "\n".join([*lines, *(["", caption(bench)] if measured else [])]) + "\n"


def as_json(bench: Bench) -> str:
    """All that was measured; ``verdict.worth`` is null where the measurements do not suffice."""
    return json.dumps({"schema": SCHEMA, **asdict(bench), "verdict": asdict(verdict(bench))}, indent=2) + "\n"


def _notes(bench: Bench) -> dict[str, str]:
    """What is said of strategies, with the names of those that it is said of."""
    names: dict[str, list[str]] = {}
    for row in rows(bench):
        if row.note:
            names.setdefault(row.note, []).append(row.cells[0])
    return {note: ", ".join(of) for note, of in names.items()}


def _sentence(bench: Bench) -> str:
    return verdict(bench).sentence + (f" ({bench.ended})" if bench.ended else "")


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|" else letter for letter in text)
