"""Which objects are loggers, and that leaving their calls out under compile is safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

HELPER = """\
import logging
import sys


def get_logger(name):
    log = logging.getLogger(name)
    return log


def set_up(name, level=logging.INFO):
    logger = logging.getLogger(name)
    if logger.hasHandlers():
        return logger
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def root():
    return get_logger("root")


def described(name):
    return str(name)
"""
NET = """\
import torch
from torch import nn
from helper import described, get_logger, root, set_up

log = {}


class Net(nn.Module):
    def forward(self, x):
        log.info("shape %s", x.shape)
        return x * 2


torch.compile(Net())(torch.ones(2))
"""


@pytest.mark.parametrize("made", ["get_logger(__name__)", "set_up('train', 10)", "root()"])
def test_a_logger_that_a_function_of_another_file_gives(tmp_path: Path, made: str) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    file = tmp_path / "net.py"
    file.write_text(NET.format(made))
    findings = analyse([(file, "net.py")], helper=lambda file: file.name).findings
    [found] = [f for f in findings if f.rule == "GD103"]
    assert found.location.line == 10
    assert found.fix is not None and found.fix.safety == "safe", found.fix


def test_what_makes_no_logger_is_none(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    file = tmp_path / "net.py"
    file.write_text(NET.format("described('a')"))
    assert not [f for f in analyse([(file, "net.py")], helper=lambda file: file.name).findings if f.rule == "GD103"]
