"""The file of a call that ``graphdoctor run --save-sample`` saved, read as text: which script it was a call of."""

from __future__ import annotations

import ast
from pathlib import Path

#: The module that such a file imports ``load`` from.
_LOADER = "graphdoctor.recorder.saved_call"


def is_saved_call(text: str) -> bool:
    """Whether ``text`` is that of such a file."""
    return _LOADER in text


def script_of(file: Path, text: str) -> Path | None:
    """The script whose call ``file``, with this ``text``, has saved; None for other files."""
    if not is_saved_call(text):
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "load")
    given = (word.value for call in calls for word in call.keywords if word.arg == "script")
    # As it is written: HERE / 'train.py'.
    names = (value.right for value in given if isinstance(value, ast.BinOp))
    texts = (name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str))
    return next((Path(file.parent, text).resolve() for text in texts), None)
