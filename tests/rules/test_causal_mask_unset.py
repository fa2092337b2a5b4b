"""The fix of ``causal_mask_unset``: an argument more, and nothing else of the call is touched."""

from __future__ import annotations

import pytest

from graphdoctor.fixes.core.apply import apply, select_fixes
from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)

    def forward(self, x, mask):
        pad = x[..., 0] == 0
        return {call}
"""


def fixed(tmp_path, call):
    file = tmp_path / "net.py"
    text = SOURCE.format(call=call)
    file.write_text(text)
    chosen, dropped = select_fixes(analyse([(file, file.name)]).findings, unsafe=True)
    assert not dropped
    return apply(text, [edit for finding in chosen for edit in finding.fix.edits]).rpartition("return ")[2].strip()


@pytest.mark.parametrize(
    ("call", "after"),
    [
        (
            "self.encoder(\n            x,\n            mask,  # added\n        )",
            "self.encoder(\n            x,\n            mask, is_causal=False,  # added\n        )",
        ),
        ("self.encoder(x, mask=(mask))", "self.encoder(x, mask=(mask), is_causal=False)"),
        ("self.encoder(x, mask=( mask ))", "self.encoder(x, mask=( mask ), is_causal=False)"),
        # The fix of another rule changes the last argument.
        (
            "self.encoder(x, mask, pad if pad.any() else None)",
            "self.encoder(x, mask, pad, is_causal=False)",
        ),
    ],
)
def test_the_argument_is_added_behind_the_others(tmp_path, call, after):
    assert fixed(tmp_path, call) == after


def test_an_argument_in_parentheses_of_several_lines_is_left_alone(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(call="self.encoder(x, mask=(mask\n        ))"))
    (finding,) = analyse([(file, file.name)]).findings
    assert finding.fix.reason == "The last argument stands in parentheses of several lines."
