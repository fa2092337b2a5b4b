"""What functions of numpy give."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Truth


@pytest.mark.parametrize(
    ("draw", "asked"),
    [
        ("np.random.rand()", 0),
        ("np.random.uniform(0, 1)", 0),
        ("np.random.randint(0, 2)", 0),
        ("np.random.rand(1)", 1),
        ("np.random.uniform(0, 1, 1)", 1),
        ("np.random.randint(0, 2, size=1)", 1),
        ("np.random.choice([1, 2])", 1),
    ],
)
def test_a_number_that_is_drawn_is_one_of_python_and_an_array_tensor_data(events, draw: str, asked: int) -> None:
    found = events(f"""
        import numpy as np
        import torch

        @torch.compile
        def f(x):
            drawn = {draw}
            if drawn > 0.5:
                return x
            return x + 1
    """)
    assert sum(isinstance(e, Truth) and e.value.__class__.__name__ == "Tensor" for e in found) == asked
