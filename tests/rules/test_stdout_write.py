"""What writes to the terminal, also by other packages, is told from what has the name of a builtin."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

PRINTED = """\
import torch.nn as nn
from absl import logging
from icecream import ic
from loguru import logger
from rich import print as show
from rich.console import Console

console = Console()


class Net(nn.Module):
    def forward(self, x):
        show(x.shape)  # GD102
        console.log("seen")  # GD102
        ic(x.shape)  # GD102
        logger.debug("shape {}", x.shape)  # GD103
        of_net = logger.bind(model="net")
        of_net.info("seen")  # GD103
        logger.opt(lazy=True).warning("seen")  # GD103
        logging.log_first_n(logging.INFO, "seen", 1)  # GD103
        return x * 2
"""


def test_packages_that_print_and_log(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(PRINTED)
    found = analyse([(file, "model.py")]).findings
    marked = [(line.rpartition("# ")[2], n) for n, line in enumerate(PRINTED.split("\n"), 1) if "# GD" in line]
    assert [(f.rule, f.location.line) for f in found] == marked


SOURCE = """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if not input.is_complex():
            return x
        answer = input("go on?")  # found
        return x * len(answer)
"""


def test_a_name_that_nobody_bound_is_no_question_to_the_user(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE)
    found = analyse([(file, "model.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD102", 8)]


@pytest.mark.parametrize(("sink", "safety"), [("", "safe"), ("logger.add(seen.append)", "unsafe")])
def test_what_a_sink_gets_may_be_read(tmp_path: Path, sink: str, safety: str) -> None:
    lines = ("from loguru import logger", "import torch.nn as nn", "seen = []", sink, "class Net(nn.Module):")
    body = ("    def forward(self, x):", "        logger.info('seen')", "        return x", "")
    file = tmp_path / "model.py"
    file.write_text("\n".join((*lines, *body)))
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.fix is not None
    assert finding.fix.safety == safety
