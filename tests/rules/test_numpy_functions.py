"""Functions of numpy that Dynamo does not trace, by examples of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("np.poly1d([0.5, 0.5]) ** 2", "GD405"),
        ("np.nditer(a)", "GD405"),
        ("np.matrix([[1, 2]])", "GD405"),
        ("np.timedelta64(1, 'D')", "GD405"),
        ("np.format_float_positional(1.5)", "GD405"),
        ("np.mgrid[:4]", "GD405"),
        ("rows = np.c_[[1, 2], [3, 4]]; rows[0][:1]", "GD405"),
        ("np.loadtxt(['1 2'])", "GD404"),
        ("np.genfromtxt(['1 2'])", "GD404"),
        ("np.savetxt('/dev/null', [1])", "GD404"),
        ("np.subtract.outer(np.arange(2), np.arange(3))", "GD405"),
        ("np.outer(np.arange(2), np.arange(3))", None),
        ("np.linspace(0, 1, 4, endpoint=False)", "GD405"),
        ("np.linspace(0, 1, 4, endpoint=True)", None),
        ("np.transpose(a, (1, 0))", None),
        ("np.concatenate([a, a])", None),
    ],
)
def test_what_torch_has_not_splits_the_graph(
    tmp_path: Path, splits: Callable[..., bool], call: str, rule: str | None
) -> None:
    torch = pytest.importorskip("torch")
    source = (
        f"import numpy as np\nimport torch\n\n\ndef f(x):\n    a = x.detach().numpy()\n    {call}\n    return x + 1\n"
    )
    file = tmp_path / "model.py"
    file.write_text(source.replace("def f", "@torch.compile\ndef f"))
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ([rule] if rule else [])
    assert splits(source, "f", torch.rand(2, 2)) is bool(rule)
