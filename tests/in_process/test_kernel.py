"""In a real Jupyter kernel: models that cells define, the magics, and what they leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

IMPORTS = "import torch\nfrom torch import nn\nimport graphdoctor"
HELPER = "def big(x):\n    return x.sum() > 0"
NET = """\
%matplotlib --list
class Net(nn.Module):
    def forward(self, x):
        print("cell")
        if big(x):
            x = x * 2
        else:
            x = x - 1
        return x"""
TELL = """\
import json
print("TOLD", json.dumps([[f.rule, f.location.path, f.location.line, f.fix is not None] for f in result.breaks]))"""


def run(folder: Path, *sources: str, allow_errors: bool = False) -> Any:
    """The notebook of these cells, executed."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        allow_errors=allow_errors,
    )
    return client.execute()


def outputs(cell: Any) -> str:
    """All that a cell shows as text."""
    return "".join(
        str(output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or "")
        for output in cell.outputs
    )


def findings_of(cell: Any) -> list[Any]:
    line = next(line for line in outputs(cell).splitlines() if line.startswith("TOLD "))
    return list(json.loads(line.removeprefix("TOLD ")))


def test_models_of_cells_and_of_a_file(tmp_path: Path) -> None:
    code = "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        print('file')\n        return x + 1\n"
    (tmp_path / "model.py").write_text(code)
    mended = NET.replace('        print("cell")\n', "")
    checked = "result = graphdoctor.check(Net(), torch.rand(3))\nresult"
    done = run(
        tmp_path, IMPORTS, HELPER, NET, checked, TELL, mended, checked, TELL, "from model import Net", checked, TELL
    )
    assert sorted(findings_of(done.cells[4])) == [["GD101", "In [3]", 4, True], ["GD201", "In [3]", 5, True]]
    shown = next(output for output in done.cells[3].outputs if "data" in output)
    assert "In [3]:5" in shown["data"]["text/html"]
    assert shown["data"]["text/plain"].startswith("Not ready: 2 graph breaks in your code")
    # The cell with the class was run again with other code, and then one of a file took its name.
    assert findings_of(done.cells[7]) == [["GD201", "In [6]", 4, True]]
    assert findings_of(done.cells[10]) == [["GD101", "model.py", 5, True]]


def test_the_magics(tmp_path: Path) -> None:
    loud = "%%graphdoctor\ndef loud(x):\n    x = x.sin()\n    print('loud')\n    return x + 1\n"
    done = run(
        tmp_path,
        IMPORTS + "\n%load_ext graphdoctor",
        HELPER,
        NET,
        "%graphdoctor Net()(torch.rand(3))",
        "result = _\n" + TELL,
        loud + "torch.compile(loud, backend='eager')(torch.rand(3))",
        "result = _\n" + TELL,
        "%graphdoctor Net",
        loud + "torch.compile(loud, backend='eager', fullgraph=True)(torch.rand(3))",
        "result = _\n" + TELL,
        allow_errors=True,
    )
    assert sorted(findings_of(done.cells[4])) == [["GD101", "In [3]", 4, True], ["GD201", "In [3]", 5, True]]
    assert findings_of(done.cells[6]) == [["GD101", "In [6]", 4, True]]
    assert "give a call to check" in outputs(done.cells[7])
    # The compiler raised, and the cell had a report all the same.
    assert findings_of(done.cells[9]) == [["GD101", "In [9]", 4, True]]
