"""Lines that only the first call of a process runs are no lines that a compiled call was seen to pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

SOURCE = """\
import torch


class Table:
    rows = None


def table(count):
    if Table.rows is None:
        print("building")
        Table.rows = torch.arange(count).float()
    return Table.rows


def f(x):
    {statement}
    return x * 2


def graphdoctor_target():
    return f, (torch.rand(4),)
"""


@pytest.mark.parametrize(
    ("statement", "headline"),
    [
        ("x = x * table(4)", "Ready: 0 graph breaks in your code, fullgraph=True passes, 1 predicted graph break that"),
        ("x = x + 1", "Ready: 0 graph breaks in your code, fullgraph=True passes"),
        ("print('x')", "Not ready: 1 graph break in your code, fullgraph=True fails"),
    ],
)
def test_what_the_first_run_filled_refutes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, headline: str
) -> None:
    (tmp_path / "table.py").write_text(SOURCE.format(statement=statement))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["scan", "table.py", "--quick"])
    assert result.stdout.startswith(headline)
    assert result.exit_code == (0 if headline.endswith("passes") else 1)
