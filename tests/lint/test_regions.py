"""Which code is compiled by itself, and which findings lie in what it runs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.lint.result import FoundRegion, StaticResult

#: Enough to be worth telling again where another file makes the same call.
WORK = "\n".join(f"    y = y + x.mean() * {n} - x.sum() / {n + 1}" for n in range(20))
HELPER = f"""
import torch

def norm(x):
    y = x
{WORK}
    return scaled(y)

def scaled(x):
    print("scaled")
    return x * 2
"""
NET = """
import torch
import torch.nn as nn
from helper import norm

class {name}(nn.Module):
    def forward(self, x: torch.Tensor):
        return norm(x) + 1
"""


def scan(folder: Path, **files: str) -> StaticResult:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return analyse([(folder / f"{name}.py", f"{name}.py") for name in files])


def found(result: StaticResult) -> dict[str, FoundRegion]:
    return {one.region.name: one for one in result.regions}


def test_a_model_has_the_findings_of_what_it_calls(tmp_path: Path) -> None:
    result = scan(tmp_path, helper=HELPER, first=NET.format(name="First"), second=NET.format(name="Second"))
    regions = found(result)
    # The second file replays the call that the first made.
    place = [("GD101", "helper.py", 29, 5)]
    assert {name: list(one.findings) for name, one in regions.items()} == {"First": place, "Second": place}
    region = regions["Second"].region
    assert (region.path, region.line, region.is_module, region.functions) == ("second.py", 6, True, 3)


WHOLE = """
    import torch.nn as nn
    from part import Part

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return self.part(x)
    """


def test_a_part_of_another_model_is_no_region(tmp_path: Path) -> None:
    part = """
    import torch.nn as nn

    class Part(nn.Module):
        def forward(self, x):
            return x.relu()
    """
    assert list(found(scan(tmp_path, part=part, whole=WHOLE))) == ["Whole"]


def test_a_part_that_breaks_with_other_arguments_is_kept(tmp_path: Path) -> None:
    part = """
    import torch.nn as nn

    class Part(nn.Module):
        def __init__(self, loud=False):
            super().__init__()
            self.loud = loud

        def forward(self, x):
            if self.loud:
                print("loud")
            return x.relu()
    """
    regions = found(scan(tmp_path, part=part, whole=WHOLE))
    assert {name: len(one.findings) for name, one in regions.items()} == {"Part": 1, "Whole": 0}


def test_a_method_that_a_class_overrides_belongs_to_it_alone(tmp_path: Path) -> None:
    source = """
    import torch.nn as nn

    class Base(nn.Module):
        def forward(self, x):
            return self.encode(x)

        def encode(self, x):
            return x.relu()

    class Loud(Base):
        def encode(self, x):
            print("encode")
            return x
    """
    regions = found(scan(tmp_path, nets=source))
    assert {name: len(one.findings) for name, one in regions.items()} == {"Base": 0, "Loud": 1}


@pytest.mark.parametrize(
    ("body", "host"),
    [
        ("return self.net(torch.tensor(np.asarray(Image.open(x))))", "PIL.Image.open"),
        # What a flag may ask for says nothing about the model.
        ("y = self.net(x)\n            if self.debug:\n                Image.fromarray(y)\n            return y", ""),
    ],
)
def test_what_works_on_pictures_says_so(tmp_path: Path, body: str, host: str) -> None:
    source = f"""
    import numpy as np
    import torch
    import torch.nn as nn
    from PIL import Image

    class Shown(nn.Module):
        def __init__(self, debug=False):
            super().__init__()
            self.debug = debug
            self.net = nn.Linear(4, 4)

        def forward(self, x):
            {body}
    """
    assert found(scan(tmp_path, shown=source))["Shown"].region.host == host


def test_a_file_that_is_too_large_has_no_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphdoctor.static.interp.interpreter.Interpreter.MAX_STEPS", 5)
    assert scan(tmp_path, helper=HELPER, first=NET.format(name="First")).regions == ()
