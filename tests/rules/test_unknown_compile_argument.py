"""Arguments that torch.compile gets without a name raise."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint.engine import analyse

HEAD = "import torch\n\n\ndef f(x):\n    return x + 1\n\n\nrest = ()\n"


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ('torch.compile(f, "max-autotune")', "write `mode='max-autotune'`"),
        ('torch.compile(f, "eager")', "write `backend='eager'`"),
        ("torch.compile(f, True)", "see `help(torch.compile)`"),
        ("torch.compile(f, *rest)", None),
        ('torch.compile(f, mode="max-autotune")', None),
        ('torch.compile(mode="max-autotune")(f)', None),
    ],
)
def test_only_the_model_is_given_without_a_name(tmp_path: Path, call: str, advice: str | None) -> None:
    file = tmp_path / "main.py"
    file.write_text(f"{HEAD}g = {call}\n")
    assert [f.suggestion for f in analyse([(file, "main.py")]).findings if f.rule == "GD610"] == [advice] * bool(advice)
    if advice is None:
        exec(file.read_text(), {"torch": torch})
    else:
        with pytest.raises(TypeError):
            exec(file.read_text(), {"torch": torch})
