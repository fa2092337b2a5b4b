"""A group of options reaches a command as one frozen dataclass, and is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from graphdoctor.commands.options.group import option_group
from graphdoctor.scan.options import DepthOptions, ScanOptions, SettingOptions, TargetOptions


@dataclass(frozen=True)
class Size:
    rows: int = 1
    wide: bool = False


ROWS = click.option("--rows", type=int, default=1)
WIDE = click.option("--wide", is_flag=True)


def test_a_command_gets_one_argument_for_the_group() -> None:
    @click.command()
    @option_group("size", Size, {"rows": ROWS, "wide": WIDE})
    @click.option("--name")
    def command(size: Size, name: str) -> None:
        click.echo(f"{size} {name}")

    done = CliRunner().invoke(command, ["--rows", "3", "--name", "x"])
    assert done.output == "Size(rows=3, wide=False) x\n"
    assert [each.name for each in command.params] == ["rows", "wide", "name"]


@pytest.mark.parametrize("options", [{"rows": ROWS}, {"rows": ROWS, "wide": WIDE, "deep": WIDE}])
def test_a_forgotten_field_or_option_is_an_error(options: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"Size and its options differ in (wide|deep)"):
        option_group("size", Size, options)  # type: ignore[arg-type]


def test_a_scan_has_the_values_of_its_groups() -> None:
    groups = TargetOptions(target="Net", mode="eval"), DepthOptions(deep=True), SettingOptions(select=("GD1",))
    options = ScanOptions(("a.py",), run=True).with_groups(*groups)
    assert options == ScanOptions(("a.py",), run=True, target="Net", mode="eval", deep=True, select=("GD1",))


def test_a_name_that_no_group_has_fails_type_checking(root: Path, tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(
        "from graphdoctor.scan.options import ScanOptions, SettingOptions\n\n\n"
        "def use(settings: SettingOptions) -> None:\n"
        "    settings.selcet\n    ScanOptions(()).with_groups(3)\n    SettingOptions(isolatd=True)\n    settings.select\n"
    )
    # With the settings of `make lint`, whose cache it reads.
    check = [sys.executable, "-m", "mypy", str(tmp_path / "uses.py")]
    done = subprocess.run(check, cwd=root, capture_output=True, text=True)
    assert re.findall(r"uses\.py:(\d+): error", done.stdout) == ["5", "6", "7"], done.stdout + done.stderr
