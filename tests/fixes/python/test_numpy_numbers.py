"""Functions of numpy on Python numbers become those of ``math``, also where the number is a name by then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.engine import analyse

NUMPY = """\
import numpy as np
import torch


def width(rows, columns):
    width = (rows * columns) ** 0.5 / np.sqrt(2.0)
    if width <= 0 or not np.isfinite(width):
        raise RuntimeError(f"{rows} rows give no width")
    return float(width)


def f(x):
    return x * width(x.shape[0], x.shape[1])


def graphdoctor_target():
    return f, (torch.rand(3, 4),)
"""


def test_what_numpy_computes_of_numbers_is_computed_with_math(tmp_path: Path, runner: Any) -> None:
    file, x = tmp_path / "model.py", torch.rand(3, 4)
    file.write_text(NUMPY)
    found = analyse([(file, "model.py")]).findings
    assert {(f.rule, f.location.line) for f in found} == {("GD202", 7)}
    assert all("`math`" in f.suggestion and "assert" not in f.suggestion for f in found)
    fixed = fixed_texts({"model.py": NUMPY}, select_fixes(found, unsafe=True)[0])["model.py"]
    assert "/ math.sqrt(2.0)" in fixed and "not math.isfinite(width)" in fixed
    assert runner.compiled(NUMPY, x).breaks > 0
    result = runner.compiled(fixed, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(result.value, runner.eager(NUMPY, x))


ARRAY = """\
import numpy as np
import torch


@torch.compile
def f(x):
    n = np.sqrt(x.shape[0])
    if n > 1:
        x = x + 1
    return x * {more}
"""


@pytest.mark.parametrize("more", ["n.astype(int)", "len(n.shape)"])
def test_a_name_that_has_to_stay_an_array(tmp_path: Path, more: str) -> None:
    source = ARRAY.format(more=more)
    file = tmp_path / "model.py"
    file.write_text(source)
    found = next(f for f in analyse([(file, "model.py")]).findings if f.rule == "GD201")
    assert found.fix is not None and not found.fix.edits


LOSS = """\
import numpy as np
import torch


def f(x):
    loss = x.sum()
    if not np.isfinite(loss.item()):
        raise ValueError("the loss is not finite")
    return loss
"""


def test_what_numpy_asks_of_a_number_that_was_read_is_asked_of_the_tensor(fixed: Any, runner: Any) -> None:
    source = LOSS + "\n\ndef graphdoctor_target():\n    return f, (torch.rand(3),)\n"
    after = fixed(source, unsafe=True).text
    assert "torch.isfinite(loss)" in after and "math" not in after
    result = runner.compiled(after, torch.ones(3), fullgraph=True)
    assert (result.breaks, result.graphs, result.value.item()) == (0, 1, 3.0)
    for run in (runner.eager, runner.compiled):
        with pytest.raises((ValueError, RuntimeError)):
            run(after, torch.tensor([torch.nan]))
