"""Modes that record CUDA graphs, where the mode is an option of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import argparse

import torch


def main(net):
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile-mode", "-m", type=str{default})
    parser.add_argument("--other", default="reduce-overhead")
    args = parser.parse_args()
    return torch.compile(net, mode=args.{name}, dynamic=True)
"""


@pytest.mark.parametrize(
    ("default", "name", "found"),
    [
        (", default='reduce-overhead'", "compile_mode", ["GD613"]),
        (", default='default'", "compile_mode", []),
        ("", "compile_mode", []),
        (", default='default'", "other", ["GD613"]),
        (", default='reduce-overhead'", "unknown", []),
    ],
)
def test_the_default_of_an_option_is_a_mode(tmp_path: Path, default: str, name: str, found: list[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(default=default, name=name))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found
