"""Files that are no Python program, although Python's parser may accept them: JSON, stubs, text."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from graphdoctor.source.errors import SourceError

#: The suffixes of Python files. Scripts often have no suffix, and neither has the standard input.
_PYTHON = (".py", ".pyw", "")
_SHEBANG = re.compile(r"#!.*\bpython")
_NOTEBOOK = "is a notebook by what it holds; give it the suffix .ipynb"
_JSON = "holds JSON and no Python program"


def check(name: str, text: str) -> None:
    """Raises SourceError where the file ``name``, which holds ``text``, is not a Python program."""
    path = PurePath(name)
    suffix = path.suffix.lower()
    if suffix == ".ipynb":
        # ``text`` is the module that the cells make.
        return
    if suffix == ".pyi":
        raise SourceError("is a stub, which holds no code that runs; give the .py file")
    if suffix not in _PYTHON and not _SHEBANG.match(text):
        raise SourceError(
            "is not a Python file by its name; if it holds Python, give its text: graphdoctor scan - < FILE"
        )
    # Dict and list displays of Python are valid too, so the parser does not recognise JSON.
    if text.lstrip()[:1] in ("{", "["):
        _check_json(text)


def _check_json(text: str) -> None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(data, dict) and "cells" in data and "nbformat" in data:
        raise SourceError(_NOTEBOOK)
    if data:
        raise SourceError(_JSON)
