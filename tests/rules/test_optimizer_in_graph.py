"""What ``optimizer_in_graph`` says of a function that does nothing but take steps."""

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
