"""Files that are no Python program are refused, whatever Python's parser says of them."""

from __future__ import annotations

import pytest

from graphdoctor.source import language
from graphdoctor.source.errors import SourceError

NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["import torch"]}], "metadata": {}, "nbformat": 4}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "x = 1\n"),
        ("a.PY", ""),
        ("a.pyw", "x = 1\n"),
        ("script", "import torch\n"),
        ("tool.cgi", "#!/usr/bin/env python3\nimport torch\n"),
        ("<stdin>", "[print(x) for x in y]\n"),
        ("/dev/fd/63", "x = 1\n"),
        # What a program may be, and JSON is not.
        ("__manifest__.py", "{'name': 'module', 'depends': []}\n"),
        ("a.ipynb", "import torch\n"),
        ("a.py", "{}\n"),
        ("a.py", '["doc"]\nimport torch\n'),
    ],
)
def test_python(name: str, text: str) -> None:
    language.check(name, text)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("demo.py", NOTEBOOK, "is a notebook by what it holds; give it the suffix .ipynb"),
        ("demo", NOTEBOOK, "is a notebook"),
        ("<stdin>", f"\n{NOTEBOOK}\n", "is a notebook"),
        ("config.json", "{}", "not a Python file by its name"),
        ("config.py", '{"a": true, "b": [null]}', "holds JSON"),
        ("config.py", "[1, 2]", "holds JSON"),
        ("notes.txt", "hello\n", "graphdoctor scan - < FILE"),
        ("net.pyi", "def f() -> int: ...\n", "is a stub"),
    ],
)
def test_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        language.check(name, text)
