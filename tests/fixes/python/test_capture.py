"""Settings of Dynamo in a file that has no ``import torch``: one import serves all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.engine import analyse

NET = """\


class Net(Module):
    def __init__(self):
        super().__init__()
        self.rnn = LSTM(8, 8, batch_first=True)

    def forward(self, x):
        y, _ = self.rnn(x)
        return y[y.nonzero()[:, 0]].sum()
"""
SET = """\
torch._dynamo.config.allow_rnn = True

torch._dynamo.config.capture_dynamic_output_shape_ops = True
"""


FUTURE = "from __future__ import annotations\n"
IMPORT = "from torch.nn import LSTM, Module\n"
LATE = f"\n\ndef g():\n    pass\n\n\n{IMPORT}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (IMPORT, f"import torch\n{IMPORT}\n{SET}\n"),
        (f"import torch\n{IMPORT}", f"import torch\n{IMPORT}\n{SET}\n"),
        (f"{FUTURE}{IMPORT}", f"{FUTURE}import torch\n{IMPORT}\n{SET}\n"),
        # The import and the settings stand at one place.
        (f"{FUTURE}{LATE}", f"{FUTURE}import torch\n\n{SET}{LATE}"),
    ],
)
def test_several_settings_need_one_import(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(before + NET)
    chosen, dropped = select_fixes(analyse([(file, "net.py")]).findings, unsafe=True)
    assert len(chosen) == 2 and not dropped
    text = fixed_texts({"net.py": before + NET}, chosen)["net.py"]
    assert text.startswith(after)


def test_the_reason_says_that_a_setting_reaches_other_compiled_code(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(IMPORT + NET)
    reasons = [found.fix.reason for found in analyse([(file, "net.py")]).findings if found.fix is not None]
    assert len(reasons) == 2
    for reason in reasons:
        assert reason.endswith("every compiled call of the process, and one that only broke without it may fail.")
