"""Builders of findings, breaks and runs."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from graphdoctor.model.findings import Finding, Location
from graphdoctor.model.runs import Break, DynamicRun, Frame, FullGraph


def _finding(line: int = 5, column: int = 5, end: tuple[int, int] | None = None, **fields: Any) -> Finding:
    end_line, end_column = end or (line, column + 8)
    values: dict[str, Any] = {
        "rule": "GD101", "name": "print-in-graph", "severity": "error", "confidence": "likely",
        "function": "Net.forward", "fact": "m", "why": "w", "suggestion": "s", "gb_ids": ("GB0059",), **fields,
    }  # fmt: skip
    return Finding(location=Location(values.pop("path", "m.py"), line, column, end_line, end_column), **values)


def _break(line: int = 5, column: int | None = 5, gb_id: str | None = "GB0059", **fields: Any) -> Break:
    values: dict[str, Any] = {"path": "m.py", "function": "Net.forward", "gb_type": "t", "reason": "why", **fields}
    return Break(line=line, column=column, gb_id=gb_id, **values)


def _run(*breaks: Break, lines: set[int] | None = None, **fields: Any) -> DynamicRun:
    executed = {"m.py": frozenset(lines if lines is not None else range(1, 100))}
    values: dict[str, Any] = {
        "target": "f", "mode": "eval", "device": "cpu", "outcome": "ok", "graphs": 2,
        "fullgraph": FullGraph(not breaks), "executed": executed, **fields,
    }  # fmt: skip
    return DynamicRun(breaks=tuple(breaks), **values)


@pytest.fixture
def build() -> SimpleNamespace:
    frame: Callable[..., Frame] = Frame
    return SimpleNamespace(finding=_finding, brk=_break, run=_run, frame=frame)
