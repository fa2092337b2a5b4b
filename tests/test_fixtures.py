"""The fixtures are what their docstrings say, measured with torch alone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Captures = dict[tuple[str, str], dict[str, Any]]

MODELS = (
    "clean/model.py",
    "nothing_compiled/model.py",
    "captioner/model.py",
    "captioner/language_model.py",
    "captioner/language_model_fixed.py",
)


@pytest.fixture(scope="module")
def captures(root: Path) -> Captures:
    """By fixture and mode."""
    files = [str(root / "fixtures" / name) for name in MODELS]
    script = [sys.executable, "-B", str(root / "tests" / "capture_breaks.py"), *files]
    result = subprocess.run(script, capture_output=True, text=True, check=True)
    fixtures = root / "fixtures"
    return {(str(Path(c["file"]).relative_to(fixtures)), c["mode"]): c for c in json.loads(result.stdout)}


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("name", ["clean/model.py", "captioner/model.py", "captioner/language_model_fixed.py"])
def test_clean_models_are_one_graph(captures: Captures, name: str, mode: str) -> None:
    capture = captures[name, mode]
    assert (capture["events"], capture["graphs"], capture["fullgraph"]) == ([], 1, True)


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_of_the_loop_nothing_is_compiled(captures: Captures, mode: str) -> None:
    capture = captures["nothing_compiled/model.py", mode]
    assert (capture["graphs"], capture["fullgraph"], capture["ids"]) == (0, False, ["GB0170", "GB7000"])


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_an_unset_loss_function_breaks_inside_transformers(captures: Captures, mode: str) -> None:
    capture = captures["captioner/language_model.py", mode]
    assert capture["ids"] == ["GB0291"]
    assert {Path(path).name for path, _ in capture["events"]} == {"modeling_utils.py"}


@pytest.mark.parametrize(
    "name", ["syntax_error", "bad_encoding", "unknown_encoding", "null_bytes", "unterminated_string"]
)
def test_broken_files_do_not_parse(root: Path, name: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        ast.parse((root / "fixtures" / "broken" / f"{name}.py").read_bytes())


def test_the_empty_file_is_empty(root: Path) -> None:
    assert (root / "fixtures" / "broken" / "empty.py").read_bytes() == b""
