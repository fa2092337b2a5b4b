"""Methods of ``dict`` that stand for ``__getattr__`` and ``__setattr__``, written in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


class Settings(dict):
    '''Entries as attributes.'''

    __getattr__ = dict.get  # None where there is none
    __setattr__ = dict.__setitem__


settings = Settings(scale=2.0)


def f(x):
    settings.last = 3
    return x * settings.scale * settings.last


def graphdoctor_target():
    return f, (torch.rand(3),)
"""


def test_they_are_called_from_python(fixed: Any, runner: Any) -> None:
    import torch

    after = fixed(SOURCE).text
    x = torch.rand(3)
    assert runner.compiled(SOURCE, x).breaks > 0
    result = runner.compiled(after, x)
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(result.value, runner.eager(SOURCE, x))
    assert after.count("None where there is none") == 1
    assert runner.load(after).Settings(a=1).b is None
    assert fixed(after).text == after


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"settings.py": "class Settings(dict):\n    __getattr__ = dict.get\n",
          "model.py": "import torch\nfrom settings import Settings\n\nheld = Settings()\n\n\n@torch.compile\ndef f(x):\n    return x.relu() * held.scale\n"},
         "The class is defined in another file: write its method in Python there."),
    ],
)  # fmt: skip
def test_a_class_of_another_file_is_left(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    findings = analyse([(tmp_path / "model.py", "model.py")]).findings
    assert [(f.rule, f.fix.safety, f.fix.reason) for f in findings if f.fix] == [("GD408", "manual", reason)]
