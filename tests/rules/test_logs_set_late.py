"""Where `TORCH_LOGS` is set too late."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SET = "os.environ['TORCH_LOGS'] = {value!r}\n"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("import os\nimport torch.nn as nn\n" + SET, ["GD631"]),
        ("import os\nfrom torch import nn\n\n\ndef main():\n    " + SET, ["GD631"]),
        ("import os\n" + SET + "import torch\n", []),
        ("import os\n\n\ndef main():\n    " + SET + "    import torch\n", []),
        ("import os\nfrom .torch import nn\n" + SET, []),
        ("import os\nimport torch\nimport torch.multiprocessing\n" + SET, []),
    ],
)
def test_lines_below_the_import(tmp_path: Path, text: str, rules: list[str]) -> None:
    file = tmp_path / "main.py"
    file.write_text(text.format(value="recompiles"))
    assert [finding.rule for finding in analyse([(file, "main.py")]).findings] == rules


@pytest.mark.parametrize(("lines", "rule"), [("import torch\n" + SET, "GD631"), (SET + "import torch\n", "GD627")])
def test_a_wrong_name_that_nothing_reads_raises_nothing(tmp_path: Path, lines: str, rule: str) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "main.py"
    file.write_text("import os\n" + lines.format(value="recompile"))
    assert [finding.rule for finding in analyse([(file, "main.py")]).findings] == [rule]
