"""The table of what torch.compile accepts is that of the installed torch."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from graphdoctor.compile_names import bundled

pytest.importorskip("torch")


def test_the_table_is_up_to_date(root: Path) -> None:
    """Made anew with ``python tools/compile_names.py > graphdoctor/compile_names.json``."""
    if metadata.version("torch").partition("+")[0] != bundled().torch:
        pytest.skip(f"the table is of torch {bundled().torch}")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    command = [sys.executable, str(root / "tools" / "compile_names.py")]
    made = subprocess.run(command, env=plain, capture_output=True, text=True, check=True).stdout
    assert made == (root / "graphdoctor" / "compile_names.json").read_text(encoding="utf-8")
