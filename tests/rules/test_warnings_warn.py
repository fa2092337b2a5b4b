"""Warnings behind a test, and masks of an attention layer, of bools and of floats: torch warns where both are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(8, 2, batch_first=True)

    def forward(self, x, lengths, given):
        causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        hidden = causal.isinf()
        padding = torch.arange(x.shape[1])[None] >= lengths[:, None]
        return {call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "self.attention(x, x, x, attn_mask=causal, key_padding_mask=padding)",
        "self.attention(x, x, x, padding.float(), True, hidden)",
        "self.layer(x, causal, padding)",
        "self.decoder(x, x, tgt_mask=causal, tgt_key_padding_mask=padding)",
        "self.decoder(x, x, None, causal, None, padding)",
    ],
)
def test_two_kinds_of_masks_warn(call: str, tmp_path: Path) -> None:
    assert _lines(call, tmp_path) == [16]


@pytest.mark.parametrize(
    "call",
    [
        "self.attention(x, x, x, attn_mask=hidden, key_padding_mask=padding)",
        "self.attention(x, x, x, attn_mask=causal)",
        "self.attention(x, x, x, padding, True)",
        "self.attention(x, x, x, padding, True, given)",
        "self.layer(x, causal, None)",
        "self.decoder(x, x, tgt_mask=causal, memory_key_padding_mask=padding)",
    ],
)
def test_masks_of_one_kind_do_not(call: str, tmp_path: Path) -> None:
    assert _lines(call, tmp_path) == []


def _lines(call: str, tmp_path: Path) -> list[int]:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(call=call))
    return [f.location.line for f in analyse([(file, "model.py")]).findings if f.rule == "GD104"]


@pytest.mark.parametrize(
    ("call", "confidence"),
    [
        ("warnings.warn('no axis')", "possible"),
        ("logger.warning('no axis')", "possible"),
        ("logger.warning_once('no axis')", "possible"),
        ("logger.error('no axis')", "possible"),
        ("warnings.simplefilter('ignore')", "likely"),
        ("logger.info('no axis')", "likely"),
    ],
)
def test_nothing_shows_that_a_warning_behind_a_test_is_issued(call: str, confidence: str, tmp_path: Path) -> None:
    head = "import logging\nimport warnings\n\nimport torch\n\nlogger = logging.getLogger(__name__)\n\n\n"
    source = f"{head}@torch.compile\ndef f(x):\n    if x.ndim == 1:\n        {call}\n    {call}\n    return x * 2\n"
    file = tmp_path / "model.py"
    file.write_text(source)
    found = analyse([(file, "model.py")]).findings
    assert [(f.location.line, f.confidence) for f in found] == [(12, confidence), (13, "certain")]


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("mask is None", "likely"),
        ("x.ndim > 1 and mask is None", "likely"),
        ("not quiet", "likely"),
        ("not quiet and x.ndim > 1", "likely"),
        ("loud", "likely"),
        ("not loud", "possible"),
        ("quiet", "possible"),
        ("mask is not None", "possible"),
        ("x.ndim > 1 or mask is None", "possible"),
        ("scale is None", "possible"),
        ("quiet:\n        pass\n    elif mask is None", "likely"),
        ("quiet:\n      if mask is None", "possible"),
    ],
)
def test_a_plain_call_has_the_defaults(test: str, confidence: str, tmp_path: Path) -> None:
    head = "import warnings\n\nimport torch\n\n\n@torch.compile\ndef f(x, scale, quiet=False, mask=None, loud=True):\n"
    file = tmp_path / "model.py"
    file.write_text(f"{head}    if {test}:\n        warnings.warn('all rows count')\n    return x * 2\n")
    assert [finding.confidence for finding in analyse([(file, "model.py")]).findings] == [confidence]


@pytest.mark.parametrize(
    ("block", "confidence"),
    [
        ("x = torch.relu(x)\n        warnings.warn('padded')", "likely"),
        ("x = x[:3]\n        warnings.warn('cropped')", "likely"),
        ("size = 'x'.join(map_of)\n        warnings.warn(size.format(len(size)))\n        late = True", "possible"),
        ("if x.ndim > 2:\n            warnings.warn('long')\n        x = torch.relu(x)", "possible"),
    ],
)
def test_a_block_that_also_does_the_work_of_a_case_runs(block: str, confidence: str, tmp_path: Path) -> None:
    head = "import warnings\n\nimport torch\n\nmap_of = ['a']\n\n\n@torch.compile\ndef f(x):\n"
    file = tmp_path / "model.py"
    file.write_text(f"{head}    if x.shape[0] > 3:\n        {block}\n    return x * 2\n")
    assert [finding.confidence for finding in analyse([(file, "model.py")]).findings] == [confidence]


@pytest.mark.parametrize(("size", "confidences"), [(4, ["likely"]), (2, [])])
def test_declared_inputs_show_whether_a_warning_is_issued(size: int, confidences: list[str], tmp_path: Path) -> None:
    body = "    if x.shape[0] > 3:\n        warnings.warn('cropped')\n    return x * 2\n"
    sample = f"\n\ndef graphdoctor_target():\n    return f, (torch.rand({size}),)\n"
    file = tmp_path / "model.py"
    file.write_text(f"import warnings\n\nimport torch\n\n\ndef f(x):\n{body}{sample}")
    assert [f.confidence for f in analyse([(file, "model.py")]).findings if f.confidence != "possible"] == confidences
