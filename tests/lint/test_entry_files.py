"""Files that only start a program: they are analysed where what they import speaks of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.lint.entry_files import look
from graphdoctor.static.domain.project import Project

TRAINER = """\
import torch
from zoo import get_model


class Trainer:
    def initialize(self, path):
        self.model = get_model()
        self.path = path

    def finish(self):
        torch.save(self.model.state_dict(), self.path)
"""
ZOO = """\
import torch


def get_model():
    return torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 1)))
"""
MAIN = """\
from trainer import Trainer

trainer = Trainer()
trainer.initialize("net.pt")
trainer.finish()
"""


def test_a_program_is_followed_from_the_file_that_starts_it(tmp_path: Path) -> None:
    for name, text in {"main.py": MAIN, "trainer.py": TRAINER, "zoo.py": ZOO}.items():
        (tmp_path / name).write_text(text)
    found = analyse([(tmp_path / "main.py", "main.py")], helper=lambda file: file.name).findings
    assert [(f.rule, f.location.path, f.location.line) for f in found] == [("GD618", "trainer.py", 11)]


@pytest.mark.parametrize(
    ("text", "files", "found"),
    [
        ("import trainer\n", {}, True),
        ("from .trainer import Trainer\n", {}, True),
        ("from helpers import f\n", {}, False),
        ("import json\nimport absent\n", {}, False),
        # A module of a package is imported by others, unless it is run by itself.
        ("import trainer\n", {"__init__.py": ""}, False),
        ("import trainer\n\nif __name__ == '__main__':\n    trainer.run()\n", {"__init__.py": ""}, True),
    ],
)
def test_a_file_is_looked_into_where_it_imports_a_module_that_speaks_of_torch(
    tmp_path: Path, text: str, files: dict[str, str], found: bool
) -> None:
    for name, content in {"trainer.py": TRAINER, "helpers.py": "def f():\n    pass\n", **files}.items():
        (tmp_path / name).write_text(content)
    assert look(tmp_path / "main.py", text, Project()).is_worth_it is found


def test_what_was_looked_for_says_when_to_look_again(tmp_path: Path) -> None:
    seen = look(tmp_path / "main.py", "import trainer\n", Project())
    assert not seen.is_worth_it
    assert str(tmp_path / "trainer.py") in seen.looked_for
