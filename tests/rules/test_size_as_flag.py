"""The fix of ``size_as_flag``: the same bool, decided in Python."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
import torch.nn.functional as F


@torch.compile
def attend(q, causal=True):
    many = q.shape[1] > 1
    return F.scaled_dot_product_attention(q, q, q, is_causal={flag})
"""


@pytest.mark.parametrize(
    ("flag", "fixed"),
    [
        ("q.shape[1] > 1", "is_causal=True if q.shape[1] > 1 else False)"),
        (
            "causal is not None and q.shape[1] > 1",
            "is_causal=True if causal is not None and q.shape[1] > 1 else False)",
        ),
        ("(q.shape[1] > 1)", "is_causal=(True if q.shape[1] > 1 else False))"),
        ("many", "is_causal=True if many else False)"),
        ("bool(many)", "The argument is neither a name nor a comparison."),
        ("causal", None),
        ("q.shape[1] > 1 and causal is None", None),
    ],
)
def test_a_comparison_in_the_call_becomes_a_bool(tmp_path, flag, fixed):
    file = tmp_path / "attention.py"
    file.write_text(SOURCE.format(flag=flag))
    found = [f for f in analyse([(file, file.name)]).findings if f.rule == "GD219"]
    assert bool(found) is (fixed is not None)
    for fix in (finding.fix for finding in found):
        assert fix is not None and fixed in (fix.diff or fix.reason)
