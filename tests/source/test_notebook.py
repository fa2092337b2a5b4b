"""Notebooks are read as the module that their cells make, and changed in their cells' source alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphdoctor.source.errors import SourceError
from graphdoctor.source.magics import plain
from graphdoctor.source.notebook import Notebook


def notebook(*sources: str | list[str], **more: Any) -> dict[str, Any]:
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]}]
    for number, source in enumerate(sources, 1):
        output = {"output_type": "stream", "name": "stdout", "text": ["é \u2028 1.50\n"]}
        cells.append(
            {
                "cell_type": "code",
                "execution_count": number,
                "metadata": {"x": 1e3},
                "outputs": [output],
                "source": source,
            }
        )
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


STYLES = {
    "nbformat": {"indent": 1, "ensure_ascii": False},
    "compact": {"separators": (",", ":")},
    "one line": {},
    "tabs": {"indent": "\t"},
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("as_list", [True, False])
def test_only_the_changed_line_changes(style: str, as_list: bool) -> None:
    text = 'import torch\nname = "é\\n"  # \\u00e9\n'
    source: str | list[str] = text.splitlines(keepends=True) if as_list else text
    raw = json.dumps(notebook("a = 1", source), **STYLES[style]) + "\n\n"
    read = Notebook(raw)
    changed = read.changed(read.text.replace("import torch\n", "import torch\nimport math\n"))
    assert read.changed(read.text) == raw
    data = json.loads(raw)
    new = text.replace("import torch\n", "import torch\nimport math\n")
    data["cells"][2]["source"] = new.splitlines(keepends=True) if as_list else new
    assert json.loads(changed) == data
    # All bytes around the changed source are those of the file.
    position = raw.index('"source"', raw.index("import torch") - 40)
    assert changed[:position] == raw[:position]
    assert changed.endswith(raw[raw.index("# \\\\u00e9") + 20 :])


def test_cells_are_named_and_placed() -> None:
    cells = Notebook(json.dumps(notebook("import torch\n", "x = 1\ny = 2"))).cells("a.ipynb")
    assert [cell.name for cell in cells.cells] == ["a.ipynb:cell 2", "a.ipynb:cell 3"]
    line = cells.text.split("\n").index("y = 2") + 1
    cell, number = cells.at(line)
    assert (cell.name, number) == ("a.ipynb:cell 3", 2)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("{", "does not hold JSON"),
        ("[]", "no notebook of format 4"),
        (json.dumps({"nbformat": 3, "worksheets": []}), "no notebook of format 4"),
        (json.dumps(notebook(metadata={"kernelspec": {"language": "julia"}})), "in julia"),
    ],
)
def test_what_is_no_notebook_in_python(raw: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        _ = Notebook(raw).text


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("%matplotlib inline\nimport torch", ["import torch"]),
        ("!pip install \\\n    torch\nx = 1", ["x = 1"]),
        ("files = !ls *.py\nx = 1", ["x = 1"]),
        ("if True:\n    %time y = 1\n    z = 2", ["if True:", "    z = 2"]),
        ("torch.nn?\r\nx = 1\r\n", ["x = 1\r", ""]),
        ("?torch\nx = 1", ["x = 1"]),
        ("%%time\nx = 1", ["x = 1"]),
        ("\n%%timeit -n 3\nx = 1", ["", "x = 1"]),
        ('text = """\n%not a magic\n"""\n%magic\n', ['text = """', "%not a magic", '"""', ""]),
        ("x = (8\n  % 3)\n%magic", ["x = (8", "  % 3)"]),
    ],
)
def test_magics_become_python_and_come_back(text: str, python: list[str]) -> None:
    made = plain(text)
    compile(made.text, "cell", "exec")
    lines = made.text.split("\n")
    assert len(lines) == len(text.split("\n"))
    assert [line for line in lines if "# ipython: " not in line] == python
    assert made.restored(made.text) == text


@pytest.mark.parametrize(
    "text", ["%%bash\nls", "%%writefile model.py\nimport torch\nx = 1", "def f(:\n  x", "%%html\n<b>"]
)
def test_cells_that_are_no_python(text: str) -> None:
    made = plain(text)
    assert all(line.startswith("#") for line in made.text.split("\n"))
    assert made.restored(made.text) == text
