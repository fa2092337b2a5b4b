"""What is said of a function that does nothing but take steps, and of the step alone."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse

SETUP = """\
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)


@torch.compile(fullgraph=False)
"""


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        ('def update():\n    """The update."""\n    optimizer.step()\n    scheduler.step()\n', []),
        ("def update(): optimizer.step()\n", []),
        ("def update(x):\n    optimizer.step()\n    return model(x)\n", [10]),
        ("def update():\n    optimizer.step()\n    optimizer.zero_grad()\n", [10, 11]),
        ("def update(x):\n    if x is None:\n        optimizer.step()\n", [11]),
    ],
)
def test_a_function_that_only_takes_steps_is_what_the_guide_compiles(tmp_path, function, lines):
    file = tmp_path / "train.py"
    file.write_text(SETUP + function)
    found = analyse([(file, file.name)]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD507", line) for line in lines]


OUTSIDE = """\
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters())


def zero():
    optimizer.zero_grad()


for _ in range(3):
    step = torch.compile({compiled})
    step()
"""


@pytest.mark.parametrize(
    ("compiled", "found"),
    [
        ("optimizer.step", []),
        ("lambda: optimizer.step()", []),
        ("lambda: optimizer.step(), fullgraph=False", []),
        ("lambda: optimizer.step(), fullgraph=True", [("GD616", 12)]),
        ("optimizer.step, fullgraph=True", [("GD616", 12)]),
        ("optimizer.zero_grad", [("GD507", 13)]),
        ("lambda: optimizer.zero_grad()", [("GD507", 12)]),
        ("lambda: (optimizer.step(), model.weight)", [("GD507", 12)]),
        ("zero", [("GD507", 8)]),
    ],
)
def test_the_update_alone_may_be_compiled(tmp_path, compiled, found):
    file = tmp_path / "train.py"
    file.write_text(OUTSIDE.format(compiled=compiled))
    assert [(f.rule, f.location.line) for f in analyse([(file, file.name)]).findings] == found


@pytest.mark.parametrize(
    ("options", "found"), [("fullgraph=True", [("GD616", 10)]), ("fullgraph=False", []), ("mode='default'", [])]
)
def test_a_function_that_only_takes_steps_raises_with_fullgraph(tmp_path, options, found):
    file = tmp_path / "train.py"
    text = SETUP.replace("fullgraph=False", options) + "def update():\n    optimizer.step()\n\n\nupdate()\n"
    file.write_text(text)
    assert [(f.rule, f.location.line) for f in analyse([(file, file.name)]).findings] == found
