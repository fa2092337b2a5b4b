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
        ({"model.py": "import torch\n\n\nclass Settings(dict):\n    __getattr__ = dict.get; scale = 2\n\n\nheld = Settings()\n\n\n"
                      "@torch.compile\ndef f(x):\n    return x.relu() * held.shift\n"},
         "The method is not given in a line of its own, in the one class of this name."),
    ],
)  # fmt: skip
def test_what_is_not_rewritten(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    findings = analyse([(tmp_path / "model.py", "model.py")]).findings
    assert [(f.rule, f.fix.safety, f.fix.reason) for f in findings if f.fix] == [("GD408", "manual", reason)]


def test_the_method_of_the_nearest_class_is_rewritten(fixed: Any, runner: Any) -> None:
    import torch

    derived = "class Plain(dict):\n    __getattr__ = dict.__getitem__\n\n\nclass Settings(Plain):\n"
    source = SOURCE.replace("class Settings(dict):\n", derived).replace("    __setattr__ = dict.__setitem__\n", "")
    source = source.replace("    settings.last = 3\n", "").replace(" * settings.last", "")
    after = fixed(source).text
    assert "__getattr__ = dict.__getitem__" in after and "return dict.get(self, name)" in after
    assert runner.compiled(after, torch.rand(3)).breaks == 0
